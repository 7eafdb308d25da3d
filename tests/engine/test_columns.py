"""Tables, strings and names that grow, in memory and on top of mapped arrays."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.engine import columns
from cuegraph.engine.columns import Array, Names, Strings, Table, below, prefixed

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)


def read_only(arrays: dict[str, Array]) -> dict[str, Array]:
    """As they would come from a mapped file."""
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def test_a_table_grows_and_views_stay_valid() -> None:
    table = Table({"a": np.int32, "b": np.uint8})
    views = []
    for i in range(100):
        assert table.append(a=i * i, b=i) == i
        views.append(table["a"])
    assert len(table) == 100
    assert table["a"].dtype == np.int32
    assert table["b"].dtype == np.uint8
    for i, view in enumerate(views):
        assert view.tolist() == [j * j for j in range(i + 1)]


def test_extend_takes_columns_and_scalars() -> None:
    table = Table({"a": np.int32, "b": np.float32})
    table.extend(a=[1, 2, 3], b=0.5)
    table.extend(a=np.array([], np.int32), b=0.0)
    table.extend(a=[4], b=[1.5])
    assert table["a"].tolist() == [1, 2, 3, 4]
    assert table["b"].tolist() == [0.5, 0.5, 0.5, 1.5]


def test_a_column_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        Table({"a": np.int32, "b": np.int32}).append(a=1)


def test_mapped_columns_are_copied_when_they_are_first_written() -> None:
    mapped = read_only({"a": np.arange(3, dtype=np.int32), "b": np.arange(3, dtype=np.int64)})
    table = Table({"a": np.int32, "b": np.int64}, mapped)
    assert np.shares_memory(table["a"], mapped["a"])
    table.put("a", 1, 7)
    assert table["a"].tolist() == [0, 7, 2]
    assert np.shares_memory(table["b"], mapped["b"])
    assert table.append(a=9, b=9) == 3
    assert table["b"].tolist() == [0, 1, 2, 9]
    assert mapped["a"].tolist() == mapped["b"].tolist() == [0, 1, 2]


def test_what_is_put_is_seen_by_those_who_hold_a_view() -> None:
    table = Table({"a": np.int32})
    table.append(a=1)
    view = table["a"]
    table.put("a", 0, 5)
    assert view.tolist() == [5]


def test_arrays_are_all_columns_in_use() -> None:
    table = Table({"a": np.int32, "b": np.int32})
    table.extend(a=[1, 2], b=3)
    assert {name: a.tolist() for name, a in table.arrays().items()} == {"a": [1, 2], "b": [3, 3]}


@given(st.lists(st.binary(max_size=5)), st.integers(0, 10))
def test_strings_come_back_whatever_part_was_mapped(values: list[bytes], cut: int) -> None:
    first = Strings()
    for value in values[:cut]:
        first.append(value)
    strings = Strings(**read_only(first.arrays()))
    rows = [strings.append(value) for value in values[cut:]]
    assert rows == list(range(min(cut, len(values)), len(values)))
    assert [strings[i] for i in range(len(strings))] == values
    arrays = strings.arrays()
    assert arrays["data"].tobytes() == b"".join(values)
    assert [int(b - a) for a, b in pairwise(arrays["indptr"])] == [len(v) for v in values]


@given(st.lists(TEXT), st.integers(0, 10))
def test_names_are_numbered_as_they_come(said: list[str], cut: int) -> None:
    expected = {name: i for i, name in enumerate(dict.fromkeys(said))}
    first = Names()
    for name in said[:cut]:
        first.add(name)
    names = Names(read_only(first.arrays()))
    assert [names.add(name) for name in said] == [expected[name] for name in said]
    assert len(names) == len(expected)
    again = Names(names.arrays())
    for known in (names, again):
        assert {name: known.find(name) for name in expected} == expected
        assert [known[i] for i in range(len(known))] == list(expected)
        assert known.find("never said") == -1


def test_an_unknown_name_with_a_lone_surrogate_is_not_found() -> None:
    names = Names()
    names.add("a")
    assert names.find("\ud800") == -1
    assert Names(names.arrays()).find("\ud800") == -1


def test_names_whose_hashes_are_equal_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_hash", len)
    names = Names()
    said = ["aa", "bb", "c", "cc", "ddd"]
    for name in said[:3]:
        names.add(name)
    names = Names(names.arrays())
    assert [names.find(name) for name in said] == [0, 1, 2, -1, -1]
    assert [names.add(name) for name in said] == [0, 1, 2, 3, 4]
    names = Names(names.arrays())
    assert [names.find(name) for name in said] == [0, 1, 2, 3, 4]
    assert names.find("zz") == -1


def test_the_same_names_give_the_same_arrays_however_often_they_were_mapped() -> None:
    said = [f"name {i}" for i in range(50)]
    at_once, by_turns = Names(), Names()
    for name in said:
        at_once.add(name)
        by_turns.add(name)
        by_turns = Names(by_turns.arrays())
    for name, array in at_once.arrays().items():
        np.testing.assert_array_equal(array, by_turns.arrays()[name])
        assert array.dtype == by_turns.arrays()[name].dtype


def test_prefixed_and_below_undo_each_other() -> None:
    arrays = {"a": np.zeros(1), "b.c": np.ones(1)}
    together = prefixed("x", arrays) | prefixed("xy", {"d": np.zeros(1)})
    assert set(together) == {"x.a", "x.b.c", "xy.d"}
    assert below("x", together) == arrays
    assert below("z", together) == {}


def test_names_are_found_together_as_they_are_alone() -> None:
    names = Names()
    for name in ("ada", "teo", "猫"):
        names.add(name)
    reopened = Names(names.arrays())
    reopened.add("noor")
    asked = ["noor", "nobody", "teo", "\ud800", "猫", "teo"]
    for held in (names, reopened, Names()):
        assert held.find_all(asked) == [held.find(name) for name in asked]
        assert held.find_all([]) == []
