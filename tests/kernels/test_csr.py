from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.kernels import csr, reference

Rows = npt.NDArray[np.int32]
Order = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
ROWS = st.integers(1, 9).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n - 1), max_size=40))
)


def equal(got: Order, want: Order) -> None:
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.flags.c_contiguous) == (np.int64, True)
        np.testing.assert_array_equal(a, b)


def sources(case: Any) -> tuple[Rows, Rows]:
    """Rows of the base's entries and of the further ones, read-only."""
    src = np.array([row for row, _ in case.edges], np.int32)
    src.flags.writeable = False
    return src[: case.m_base], src[case.m_base :]


def chained(link: Callable[..., None], src: Rows, rows: int, start: int = 0) -> list[Rows]:
    """head, count, next_ and places after `link` in two calls; -7 is what it must not touch."""
    head, count = np.full(rows, -1, np.int32), np.zeros(rows, np.int32)
    next_, places = (np.full(start + src.size + 1, -7, np.int32) for _ in range(2))
    half = src.size // 2
    link(head, count, next_, places, src[:half], start)
    link(head, count, next_, places, src[half:], start + half)
    return [head, count, next_, places]


def test_build_is_the_reference(case: Any) -> None:
    src, _ = sources(case)
    equal(csr.build(case.n_base, src), reference.build(case.n_base, src))


def test_merge_is_the_reference(case: Any) -> None:
    src, further = sources(case)
    indptr, _ = csr.build(case.n_base, src)
    indptr.flags.writeable = False
    for n in (case.n, case.n + 3):
        equal(csr.merge(indptr, further, n), reference.merge(indptr, further, n))


def test_merged_columns_are_those_built_at_once(case: Any) -> None:
    src, further = sources(case)
    column = np.arange(len(case.edges))
    indptr, order = csr.build(case.n_base, src)
    merged, behind = csr.merge(indptr, further, case.n)
    base = column[: case.m_base][order]
    starts, whole = csr.build(case.n, np.concatenate([src, further]))
    equal((merged, np.concatenate([base, column[case.m_base :]])[behind]), (starts, column[whole]))


@pytest.mark.parametrize("start", [0, 3])
def test_link_is_the_reference(case: Any, start: int) -> None:
    src = np.concatenate(sources(case))
    got, want = (chained(link, src, case.n, start) for link in (csr.link, reference.link))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert got[2][:start].tolist() == [-7] * start
    assert got[2][-1] == -7


@given(ROWS)
def test_a_chain_is_its_merged_row_backwards(rows: tuple[int, list[int]]) -> None:
    n, src = rows[0], np.array(rows[1], np.int32)
    head, count, next_, _ = chained(csr.link, src, n)
    indptr, order = csr.merge(np.zeros(1, np.int64), src, n)
    assert count.tolist() == np.diff(indptr).tolist()
    for row, (start, stop) in enumerate(pairwise(indptr.tolist())):
        chain, entry = [], int(head[row])
        while entry >= 0:
            chain.append(entry)
            entry = int(next_[entry])
        assert chain == order[start:stop].tolist()[::-1]


@given(ROWS)
def test_build_sorts_stably(rows: tuple[int, list[int]]) -> None:
    n, src = rows[0], np.array(rows[1], np.int32)
    indptr, order = csr.build(n, src)
    assert order.tolist() == np.argsort(src, kind="stable").tolist()
    assert indptr.tolist() == np.searchsorted(np.sort(src), np.arange(n + 1)).tolist()


@given(ROWS, st.integers(0, 40), st.integers(0, 9))
def test_merge_of_any_split(rows: tuple[int, list[int]], split: int, n_base: int) -> None:
    n, src = rows[0], np.array(rows[1], np.int32)
    n_base = min(n, n_base)
    base = src[:split][src[:split] < n_base]
    indptr, order = csr.build(n_base, base)
    got = csr.merge(indptr, src[split:], n)
    equal(got, reference.merge(indptr, src[split:], n))
    behind = np.concatenate([base[order], src[split:]])[got[1]]
    assert behind.tolist() == sorted(behind.tolist())


def test_by_hand() -> None:
    indptr, order = csr.build(3, np.array([1, 0, 1, 1], np.int32))
    assert (indptr.tolist(), order.tolist()) == ([0, 1, 4, 4], [1, 0, 2, 3])
    indptr, order = csr.merge(indptr, np.array([3, 0, 3, 1], np.int32), 4)
    assert (indptr.tolist(), order.tolist()) == ([0, 2, 6, 6, 8], [0, 5, 1, 2, 3, 7, 4, 6])


def test_nothing_is_no_entries() -> None:
    none = np.zeros(0, np.int32)
    for n in (0, 2):
        for indptr, order in (csr.build(n, none), csr.merge(np.zeros(1, np.int64), none, n)):
            assert (indptr.tolist(), order.tolist()) == ([0] * (n + 1), [])
    csr.link(none, none, none, none, none, 0)


@pytest.mark.parametrize(
    ("n", "src", "message"),
    [
        (7, np.int32([0, 7]), r"src: expected rows of \[0, 7\), got 0 to 7"),
        (7, np.int32([-1, 2]), r"src: expected rows of \[0, 7\), got -1 to 2"),
        (0, np.int32([0]), r"src: expected rows of \[0, 0\), got 0 to 0"),
        (7, np.int64([1]), r"src: expected a C-contiguous int32 array of rank 1, got int64"),
        (7, np.zeros((2, 2), np.int32), r"src: expected .* rank 1, got int32 of shape \(2, 2\)"),
        (7, np.zeros(8, np.int32)[::2], r"src: expected a C-contiguous int32"),
        (-1, np.zeros(0, np.int32), r"n: expected at least the base's 0 rows, got -1"),
    ],
)
def test_build_names_what_does_not_fit(n: int, src: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        csr.build(n, src)


@pytest.mark.parametrize(
    ("indptr", "n", "message"),
    [
        ([0, 1, 2], 1, r"n: expected at least the base's 2 rows, got 1"),
        ([1, 2], 3, r"indptr: expected starts that rise from 0, got \[1 2\]"),
        ([0, 2, 1], 3, r"indptr: expected starts that rise from 0, got \[0 2 1\]"),
        ([], 3, r"indptr: expected starts that rise from 0, got \[\]"),
    ],
)
def test_merge_names_what_does_not_fit(indptr: list[int], n: int, message: str) -> None:
    src = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match=message):
        csr.merge(np.array(indptr, np.int64), src, n)
    with pytest.raises(ValueError, match=r"indptr: expected a C-contiguous int64 .* got int32"):
        csr.merge(np.array(indptr, np.int32), src, n)


def test_link_names_what_does_not_fit() -> None:
    rows, src = np.zeros(2, np.int32), np.zeros(3, np.int32)
    with pytest.raises(ValueError, match=r"src: expected rows of \[0, 2\), got 2 to 2"):
        csr.link(rows, rows, src, src, np.array([2], np.int32), 0)
    with pytest.raises(ValueError, match=r"count: expected a C-contiguous int32"):
        csr.link(rows, np.zeros(2), src, src, src, 0)
    with pytest.raises(ValueError, match=r"places of 4 elements or more, got start 1, 2 and 3"):
        csr.link(rows, rows, src, src, src, 1)
    with pytest.raises(ValueError, match=r"expected start >= 0, .* got start -1"):
        csr.link(rows, rows, src, src, src, -1)
    with pytest.raises(ValueError, match=r"count of 2 .* 1 and 3"):
        csr.link(rows, rows[:1], src, src, src, 0)


@given(ROWS)
def test_a_chain_is_read_oldest_first(case: tuple[int, list[int]]) -> None:
    n, rows = case
    src = np.array(rows, np.int32)
    head, _, next_, _ = chained(csr.link, src, n)
    for row in range(n):
        entries = csr.chain(next_, int(head[row]))
        assert entries.tolist() == [i for i, other in enumerate(rows) if other == row]
        np.testing.assert_array_equal(entries, reference.chain(next_, int(head[row])))


def test_a_chain_starts_within_its_array() -> None:
    with pytest.raises(ValueError, match="expected one below 2, got 2"):
        csr.chain(np.array([-1, 0], np.int32), 2)
