"""Rows that grow, in the order of their entries: chained one by one, merged into compressed rows.

Nothing here knows the columns of an entry: callers index each of them by `order`.
"""

import numpy as np

from .types import (
    I32_1,
    I64,
    I64_1,
    RI32_1,
    RI64_1,
    VOID,
    I32Array,
    I64Array,
    Int,
    check_array,
    kernel,
)


@kernel(VOID(I32_1, I32_1, I32_1, I32_1, RI32_1, I64))
def _link(
    head: I32Array, count: I32Array, next_: I32Array, places: I32Array, src: I32Array, start: int
) -> None:
    for i in range(src.size):
        row = src[i]
        count[row] += 1
        next_[start + i], places[start + i] = head[row], count[row]
        head[row] = start + i


@kernel(I64(RI32_1, I64, I64_1))
def _chain(next_: I32Array, entry: Int, out: I64Array) -> Int:
    """Fill `out` from its end with the entries from `entry` back; how many there are."""
    length = 0
    while entry >= 0:
        length += 1
        if length <= out.size:
            out[out.size - length] = entry
        entry = np.int64(next_[entry])
    return length


@kernel(VOID(RI64_1, RI32_1, I64_1, I64_1))
def _merge(indptr: I64Array, src: I32Array, merged: I64Array, order: I64Array) -> None:
    base_rows = indptr.size - 1
    # merged[row + 2] counts first, then runs along as the place of the row's next entry.
    for row in range(base_rows):
        merged[row + 2] += indptr[row + 1] - indptr[row]
    for row in src:
        merged[row + 2] += 1
    for row in range(2, merged.size):
        merged[row] += merged[row - 1]
    for row in range(base_rows):
        for entry in range(indptr[row], indptr[row + 1]):
            order[merged[row + 1]] = entry
            merged[row + 1] += 1
    for i in range(src.size):
        row = src[i]
        order[merged[row + 1]] = indptr[base_rows] + i
        merged[row + 1] += 1


def link(
    head: I32Array, count: I32Array, next_: I32Array, places: I32Array, src: I32Array, start: int
) -> None:
    """None; the entries start, start + 1, ... are chained to the rows `src`, in order.

    head   int32 (rows,)          newest entry of a row, or -1; written
    count  int32 (>= rows,)       entries of a row; written
    next_  int32 (>= start + m,)  the entry before an entry in its row, or -1; written
    places int32 (>= start + m,)  entries of its row up to an entry, itself included; written
    src    int32 (m,)             rows, each below `head.size`

    Raises ValueError where an array has another dtype, rank or length, or a row is out of range.

    >>> head, count = np.int32([-1, -1]), np.int32([0, 0])
    >>> next_, places = np.int32([9, 9, 9]), np.int32([9, 9, 9])
    >>> link(head, count, next_, places, np.int32([1, 0, 1]), 0)
    >>> head.tolist(), count.tolist(), next_.tolist(), places.tolist()
    ([1, 2], [1, 2], [-1, -1, 0], [1, 1, 2])
    """
    _check_rows(src, head.size)
    written = {"head": head, "count": count, "next_": next_, "places": places}
    for name, array in written.items():
        check_array(name, array, np.int32)
    room = min(next_.size, places.size)
    if start < 0 or count.size < head.size or room < start + src.size:
        raise ValueError(
            f"expected start >= 0, count of {head.size} and next_ and places of "
            f"{start + src.size} elements or more, got start {start}, {count.size} and {room}"
        )
    _link(head, count, next_, places, src, start)


def chain(next_: I32Array, entry: int) -> I64Array:
    """The entries of one row's chain, oldest first, int64.

    next_  int32  the entry before an entry in its row, or -1
    entry  the newest of the row, or -1 for none; below `next_.size`

    >>> chain(np.int32([-1, -1, 0]), 2)
    array([0, 2])
    """
    check_array("next_", next_, np.int32)
    if entry >= next_.size:
        raise ValueError(f"entry: expected one below {next_.size}, got {entry}")
    entries = np.empty(_chain(next_, entry, np.empty(0, np.int64)), np.int64)
    _chain(next_, entry, entries)
    return entries


def build(n: int, src: I32Array) -> tuple[I64Array, I64Array]:
    """Row starts of the entries as CSR, and the order that puts them there.

    n        rows
    src      int32 (m,)  row of each entry, 0 <= row < n
    returns  indptr int64 (n+1,), order int64 (m,): entry i of the result is entry order[i] of those
             given; within a row they keep their order

    A stable counting sort, O(n + m). Raises ValueError where `src` is no such array.

    >>> indptr, order = build(2, np.int32([1, 0, 1]))
    >>> indptr.tolist(), order.tolist()
    ([0, 1, 3], [1, 0, 2])
    """
    return merge(np.zeros(1, np.int64), src, n)


def merge(indptr: I64Array, src: I32Array, n: int) -> tuple[I64Array, I64Array]:
    """Row starts of a CSR with further entries merged in, and where each of its entries came from.

    indptr   int64 (n_base+1,)  row starts of the base, from 0, non-decreasing
    src      int32 (m,)         rows of the further entries, oldest first
    n        rows of the result, n_base at least
    returns  indptr int64 (n+1,), order int64: entry i of the result is entry order[i] of the base
             and the further ones put behind it; each row keeps the base's order, then the oldest
             first

    A stable counting sort, O(n + entries). Raises ValueError where an array has another dtype or
    rank, or a value is out of range.

    >>> indptr, order = merge(np.int64([0, 1]), np.int32([1, 0]), 2)
    >>> indptr.tolist(), order.tolist()
    ([0, 2, 3], [0, 2, 1])
    """
    check_array("indptr", indptr, np.int64)
    if not indptr.size or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"indptr: expected starts that rise from 0, got {indptr}")
    if n < indptr.size - 1:
        raise ValueError(f"n: expected at least the base's {indptr.size - 1} rows, got {n}")
    _check_rows(src, n)
    merged = np.zeros(n + 2, np.int64)
    order = np.empty(indptr[-1] + src.size, np.int64)
    _merge(indptr, src, merged, order)
    return merged[:-1], order


def _check_rows(src: I32Array, n: int) -> None:
    check_array("src", src, np.int32)
    if src.size and not 0 <= src.min() <= src.max() < n:
        raise ValueError(f"src: expected rows of [0, {n}), got {src.min()} to {src.max()}")
