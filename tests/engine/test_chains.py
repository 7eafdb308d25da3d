"""Rows that grow, against plain lists."""

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.engine.chains import Chains
from cuegraph.engine.columns import below

DTYPES = {"dst": np.int32, "weight": np.float32}


def filled(seed: int, rows: int, entries: int, merge_every: int) -> tuple[Chains, list[list[int]]]:
    """Chains and the same entries as lists, appended in random portions, merged now and then."""
    rng = np.random.default_rng(seed)
    chains = Chains(DTYPES)
    chains.grow(rows)
    expected: list[list[int]] = [[] for _ in range(rows)]
    done = step = 0
    while done < entries:
        size = int(rng.integers(0, 5))
        src = rng.integers(0, rows, size).astype(np.int32)
        dst = np.arange(done, done + size, dtype=np.int32)
        chains.extend(src, dst=dst, weight=0.5)
        for row, value in zip(src, dst, strict=True):
            expected[row].append(int(value))
        done, step = done + size, step + 1
        if merge_every and step % merge_every == 0:
            chains.merge()
    return chains, expected


def rows_of(chains: Chains) -> list[list[int]]:
    return [chains.row(i)["dst"].tolist() for i in range(len(chains))]


@pytest.mark.parametrize("merge_every", [0, 1, 7])
def test_rows_are_read_oldest_first(merge_every: int) -> None:
    chains, expected = filled(1, 9, 200, merge_every)
    assert rows_of(chains) == expected
    assert [chains.degree(i) for i in range(9)] == [len(row) for row in expected]
    assert int(chains.merged()["indptr"][-1]) == sum(map(len, expected))
    merged = chains.merged()
    assert merged["dst"].tolist() == [value for row in expected for value in row]
    assert np.diff(merged["indptr"]).tolist() == [len(row) for row in expected]


def test_the_merged_arrays_do_not_depend_on_when_it_was_merged() -> None:
    never, often = filled(2, 9, 200, 0)[0].merged(), filled(2, 9, 200, 3)[0].merged()
    for name in never:
        assert never[name].tobytes() == often[name].tobytes()
        assert never[name].dtype == often[name].dtype


def test_a_merge_changes_no_row_and_no_view_of_a_reader() -> None:
    chains, expected = filled(3, 6, 80, 5)
    chains.extend(np.array([2], np.int32), dst=[99], weight=0.0)
    expected[2].append(99)
    base, delta, head = dict(chains.base), chains.delta.arrays(), chains.heads["head"]
    kept = {"base": base["dst"].copy(), "delta": delta["dst"].copy(), "head": head.copy()}
    chains.merge()
    chains.extend(np.array([0], np.int32), dst=[-1], weight=0.0)
    assert rows_of(chains) == [[*expected[0], -1], *expected[1:]]
    for name, array in (("base", base["dst"]), ("delta", delta["dst"]), ("head", head)):
        np.testing.assert_array_equal(array, kept[name])


def test_rows_that_have_no_entry() -> None:
    chains = Chains(DTYPES)
    chains.grow(3)
    chains.grow(1)
    assert len(chains) == 3
    chains.merge()
    chains.grow(5)
    assert rows_of(chains) == [[]] * 5
    assert chains.degree(4) == 0
    assert chains.merged()["indptr"].tolist() == [0] * 6


def test_a_row_out_of_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="src"):
        Chains(DTYPES).extend(np.array([0], np.int32), dst=[1], weight=1.0)


def test_they_come_back_from_the_arrays_of_a_snapshot() -> None:
    chains, expected = filled(4, 9, 100, 6)
    arrays = chains.arrays("edges")
    for array in arrays.values():
        array.flags.writeable = False
    again = Chains(DTYPES, below("edges", arrays))
    assert rows_of(again) == expected
    again.extend(np.array([8, 0], np.int32), dst=[500, 501], weight=[1.0, 2.0])
    assert again.row(8)["dst"].tolist() == [*expected[8], 500]
    assert again.row(0)["weight"].tolist()[-1] == 2.0
    assert again.degree(0) == len(expected[0]) + 1


def read_below(chains: Chains, row: int, head: npt.NDArray[np.int32], watermark: int) -> list[int]:
    """What a reader sees: the base of `row`, then its chain without entries from the watermark."""
    found, at = [], int(head[row])
    while at >= 0:
        if at < watermark:
            found.append(int(chains.delta["dst"][at]))
        at = int(chains.delta["next"][at])
    return found[::-1]


def test_a_watermark_hides_what_was_appended_later() -> None:
    chains, expected = filled(5, 4, 60, 0)
    watermark, head = len(chains.delta), chains.heads["head"]
    chains.extend(np.array([0, 1, 1, 3], np.int32), dst=[70, 71, 72, 73], weight=1.0)
    assert [read_below(chains, row, head, watermark) for row in range(4)] == expected
    assert chains.row(1)["dst"].tolist() == [*expected[1], 71, 72]


def test_the_heads_that_a_reader_keeps_name_no_entry_beyond_its_chains() -> None:
    chains, _ = filled(6, 5, 40, 0)
    for i in range(200):
        head, chain, watermark = chains.heads["head"], chains.delta.whole("next"), len(chains.delta)
        rows = [read_below(chains, row, head, watermark) for row in range(5)]
        chains.extend(np.array([i % 5, 0], np.int32), dst=[1000 + i, 2000 + i], weight=0.0)
        assert head.max() < len(chain)
        assert [read_below(chains, row, head, watermark) for row in range(5)] == rows
