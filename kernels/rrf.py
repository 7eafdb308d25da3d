"""Reciprocal rank fusion: one ranking out of several (Cormack, Clarke and Buettcher, SIGIR 2009).

An id scores the sum over the lists that hold it of weight / (k + rank), rank from 1. All kernels
take a batch: query b owns the lists list_ptr[b] to list_ptr[b + 1], list l the ids indptr[l] to
indptr[l + 1].
"""

from collections.abc import Sequence

import numpy as np

from .intrinsics import float_bits
from .types import (
    F32,
    F32_1,
    F64,
    F64_1,
    I32_1,
    I64,
    I64_1,
    RF32_1,
    RI32_1,
    RI64_1,
    VOID,
    F32Array,
    F64Array,
    Float,
    I32Array,
    I64Array,
    Int,
    check_array,
    deferred,
    kernel,
)

TOP = 20
"""How deep two lists are compared to tell how much they say the same."""

LOW_BITS = 0xFFFFFFFF
EMPTY = -1


@deferred(I64(F32, I64))
def _pack(score: Float, row: Int) -> Int:
    """An integer that sorts like (score descending, row ascending)."""
    bits = np.int64(float_bits(score + np.float32(0)))
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)
    return (-bits << np.int64(32)) + np.int64(row)


@deferred(I64(I32_1, I32_1, I64))
def _find(table: I32Array, ids: I32Array, wanted: Int) -> Int:
    """The cell of an open-addressing table that holds the slot of `wanted`, or is free for it."""
    mask = table.size - 1
    cell = ((np.int64(wanted) * np.int64(0x9E3779B1)) >> np.int64(12)) & mask
    while table[cell] != EMPTY and ids[table[cell]] != wanted:
        cell = (cell + 1) & mask
    return cell


@deferred(I64(RI64_1, RI32_1, RF32_1, F64, I64, I64, I32_1, I32_1, F64_1))
def _accumulate(
    indptr: I64Array,
    ids: I32Array,
    weights: F32Array,
    k: Float,
    first: Int,
    last: Int,
    table: I32Array,
    found: I32Array,
    sums: F64Array,
) -> Int:
    """Sum one query's lists into `sums` by slot, the ids by slot into `found`; the slots used."""
    used = 0
    for ranking in range(first, last):
        start, weight = indptr[ranking], np.float64(weights[ranking])
        for i in range(start, indptr[ranking + 1]):
            cell = _find(table, found, ids[i])
            if table[cell] == EMPTY:
                table[cell], found[used], sums[used] = used, ids[i], 0.0
                used += 1
            sums[table[cell]] += weight / (k + (i - start + 1))
    return used


@deferred(VOID(I32_1, I32_1, F64_1, I64_1, I32_1, F32_1))
def _rank(
    table: I32Array,
    found: I32Array,
    sums: F64Array,
    keys: I64Array,
    rows: I32Array,
    scores: F32Array,
) -> None:
    """Write the slots ordered by score and row. Equal means equal as float32."""
    for slot in range(keys.size):
        keys[slot] = _pack(np.float32(sums[slot]), found[slot])
    keys.sort()
    for i in range(keys.size):
        rows[i] = keys[i] & LOW_BITS
        scores[i] = sums[table[_find(table, found, rows[i])]]


@deferred(I64(I64))
def _table_size(ids: Int) -> Int:
    """The least power of two that leaves half of a table of `ids` entries free."""
    size = 2
    while size < 2 * ids:
        size *= 2
    return size


@kernel(VOID(RI64_1, RI64_1, RI32_1, RF32_1, F64, I64_1, I32_1, F32_1))
def _rrf(
    list_ptr: I64Array,
    indptr: I64Array,
    ids: I32Array,
    weights: F32Array,
    k: Float,
    out_ptr: I64Array,
    rows: I32Array,
    scores: F32Array,
) -> None:
    most = 0
    for b in range(list_ptr.size - 1):
        most = max(most, indptr[list_ptr[b + 1]] - indptr[list_ptr[b]])
    table = np.empty(_table_size(most), np.int32)
    found, sums, keys = np.empty(most, np.int32), np.empty(most), np.empty(most, np.int64)
    for b in range(list_ptr.size - 1):
        first, last, start = list_ptr[b], list_ptr[b + 1], out_ptr[b]
        cells = table[: _table_size(indptr[last] - indptr[first])]
        cells[:] = EMPTY
        used = _accumulate(indptr, ids, weights, k, first, last, cells, found, sums)
        stop = start + used
        _rank(cells, found, sums, keys[:used], rows[start:stop], scores[start:stop])
        out_ptr[b + 1] = stop


@deferred(F64(RI64_1, RI32_1, I64, I64))
def _overlap(indptr: I64Array, ids: I32Array, one: Int, other: Int) -> Float:
    """Share of the top ids that two lists have in common."""
    start, start_other = indptr[one], indptr[other]
    depth = min(TOP, indptr[one + 1] - start, indptr[other + 1] - start_other)
    common = 0
    for i in range(start, start + depth):
        for j in range(start_other, start_other + depth):
            common += ids[i] == ids[j]
    return common / max(depth, 1)


@kernel(VOID(RI64_1, RI64_1, RI32_1, RF32_1, F32_1))
def _discount(
    list_ptr: I64Array, indptr: I64Array, ids: I32Array, weights: F32Array, out: F32Array
) -> None:
    for b in range(list_ptr.size - 1):
        for one in range(list_ptr[b], list_ptr[b + 1]):
            said = 1.0
            for other in range(list_ptr[b], list_ptr[b + 1]):
                if other != one:
                    said += _overlap(indptr, ids, one, other)
            out[one] = weights[one] / said


def rrf(lists: Sequence[I32Array], weights: F32Array, k: float = 60.0) -> tuple[I32Array, F32Array]:
    """Ids of all lists and their fused scores, best first: (rows, scores).

    lists    int32 arrays     each ranked best first, an id at most once in a list
    weights  float32 (L,)     of each list
    returns  rows int32 (m,)  by score descending, then row ascending
             scores float32 (m,)   summed in float64

    Raises ValueError where dtypes or lengths differ or k <= -1.

    >>> rrf([np.int32([7, 3]), np.int32([3])], np.float32([1, 1]))[0]
    array([3, 7], dtype=int32)
    """
    list_ptr, indptr, ids = _join(lists)
    return rrf_batch(list_ptr, indptr, ids, weights, k)[1:]


def rrf_discounted(
    lists: Sequence[I32Array], weights: F32Array, k: float = 60.0
) -> tuple[I32Array, F32Array]:
    """`rrf` in which lists that say the same share one voice; a variant for comparison.

    Each weight is divided by 1 + the sum of the list's overlaps with every other list. The overlap
    of two lists is the share of common ids in their top d, d = min(20, the shorter length).

    >>> rrf_discounted([np.int32([7]), np.int32([7]), np.int32([3])], np.float32([1, 1, 1.5]))[0]
    array([3, 7], dtype=int32)
    """
    list_ptr, indptr, ids = _join(lists)
    weights = discount(list_ptr, indptr, ids, weights)
    return rrf_batch(list_ptr, indptr, ids, weights, k)[1:]


def rrf_batch(
    list_ptr: I64Array, indptr: I64Array, ids: I32Array, weights: F32Array, k: float = 60.0
) -> tuple[I64Array, I32Array, F32Array]:
    """The fused rankings of a batch: (out_ptr, rows, scores), the same bits as `rrf` one by one.

    list_ptr  int64 (B+1,)   first list of each query
    indptr    int64 (L+1,)   first id of each list
    ids       int32 (m,)     weights float32 (L,)
    returns   out_ptr int64 (B+1,), rows int32 and scores float32 (out_ptr[B],)

    Raises ValueError where dtypes or lengths differ or k <= -1.
    """
    _check(list_ptr, indptr, ids, weights)
    if not k > -1:
        raise ValueError(f"k: expected more than -1, got {k}")
    out_ptr = np.zeros(list_ptr.size, np.int64)
    rows, scores = np.empty(ids.size, np.int32), np.empty(ids.size, np.float32)
    _rrf(list_ptr, indptr, ids, weights, k, out_ptr, rows, scores)
    return out_ptr, rows[: out_ptr[-1]], scores[: out_ptr[-1]]


def discount(list_ptr: I64Array, indptr: I64Array, ids: I32Array, weights: F32Array) -> F32Array:
    """The weights of `rrf_discounted` for a batch, float32 (L,); arguments as in `rrf_batch`."""
    _check(list_ptr, indptr, ids, weights)
    out = np.empty(weights.size, np.float32)
    _discount(list_ptr, indptr, ids, weights, out)
    return out


def _join(lists: Sequence[I32Array]) -> tuple[I64Array, I64Array, I32Array]:
    for number, ranked in enumerate(lists):
        check_array(f"lists[{number}]", ranked, np.int32)
    indptr = np.zeros(len(lists) + 1, np.int64)
    for number, ranked in enumerate(lists):
        indptr[number + 1] = indptr[number] + ranked.size
    ids: I32Array = np.concatenate(lists) if lists else np.empty(0, np.int32)
    return np.array([0, len(lists)], np.int64), indptr, ids


def _check(list_ptr: I64Array, indptr: I64Array, ids: I32Array, weights: F32Array) -> None:
    check_array("list_ptr", list_ptr, np.int64)
    check_array("indptr", indptr, np.int64)
    check_array("ids", ids, np.int32)
    check_array("weights", weights, np.float32)
    if weights.size != indptr.size - 1:
        raise ValueError(f"weights: expected {indptr.size - 1} elements, got {weights.size}")
    if not (_rises(list_ptr, weights.size) and _rises(indptr, ids.size)):
        raise ValueError("list_ptr, indptr: expected starts that rise from 0 to lists and ids")


def _rises(starts: I64Array, end: int) -> bool:
    return bool(starts[0] == 0 and starts[-1] == end and (starts[1:] >= starts[:-1]).all())
