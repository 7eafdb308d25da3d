"""Compressed sparse rows of typed edges: built from a list, and merged with a delta of chains."""

from typing import Any, NamedTuple

import numpy as np

from .types import (
    F32_1,
    I32_1,
    I64,
    I64_1,
    RF32_1,
    RI32_1,
    RI64_1,
    RU8_1,
    U8_1,
    VOID,
    F32Array,
    I32Array,
    I64Array,
    Int,
    U8Array,
    check_array,
    kernel,
)

RELATIONS = 16


class Csr(NamedTuple):
    """indptr int64 (n+1,), dst int32, relation uint8, weight float32, payload int32, each (m,)."""

    indptr: I64Array
    dst: I32Array
    relation: U8Array
    weight: F32Array
    payload: I32Array


@kernel(VOID(I64_1, RI32_1, I32_1))
def _sort(indptr: I64Array, src: I32Array, order: I32Array) -> None:
    """Stable counting sort by source; `indptr` comes in as zeros and leaves as row starts."""
    for row in src:
        indptr[row + 1] += 1
    for row in range(indptr.size - 1):
        indptr[row + 1] += indptr[row]
    fill = indptr[:-1].copy()
    for e in range(src.size):
        order[fill[src[e]]] = e
        fill[src[e]] += 1


@kernel(I64(RI64_1, RI32_1, RI32_1, I64, I64_1))
def _count(indptr: I64Array, head: I32Array, next: I32Array, m_delta: Int, out: I64Array) -> Int:
    """Fill the row starts of base and delta together; the number of edges."""
    out[0] = 0
    for row in range(out.size - 1):
        count = indptr[row + 1] - indptr[row] if row + 1 < indptr.size else 0
        e = np.int64(head[row])
        while e >= 0:
            count += e < m_delta
            e = np.int64(next[e])
        out[row + 1] = out[row] + count
    return out[-1]


@kernel(
    VOID(
        *(RI64_1, RI32_1, RU8_1, RF32_1, RI32_1),
        *(RI32_1, RI32_1, RI32_1, RU8_1, RF32_1, RI32_1, I64),
        *(RI64_1, I32_1, U8_1, F32_1, I32_1),
    )
)
def _merge(
    indptr: I64Array,
    dst: I32Array,
    relation: U8Array,
    weight: F32Array,
    payload: I32Array,
    head: I32Array,
    next: I32Array,
    d_dst: I32Array,
    d_relation: U8Array,
    d_weight: F32Array,
    d_payload: I32Array,
    m_delta: Int,
    out_indptr: I64Array,
    out_dst: I32Array,
    out_relation: U8Array,
    out_weight: F32Array,
    out_payload: I32Array,
) -> None:
    for row in range(out_indptr.size - 1):
        place = out_indptr[row]
        if row + 1 < indptr.size:
            for e in range(indptr[row], indptr[row + 1]):
                out_dst[place], out_relation[place] = dst[e], relation[e]
                out_weight[place], out_payload[place] = weight[e], payload[e]
                place += 1
        # A chain runs newest to oldest, so it is written from the end of the row backwards.
        place = out_indptr[row + 1]
        chained = np.int64(head[row])
        while chained >= 0:
            if chained < m_delta:
                place -= 1
                out_dst[place], out_relation[place] = d_dst[chained], d_relation[chained]
                out_weight[place], out_payload[place] = d_weight[chained], d_payload[chained]
            chained = np.int64(next[chained])


def build(
    n: int,
    src: I32Array,
    dst: I32Array,
    relation: U8Array,
    weight: F32Array,
    payload: I32Array,
) -> Csr:
    """The edges as CSR over `n` nodes; within a row they keep the order given.

    src, dst  int32 (m,)   0 <= row < n
    relation  uint8 (m,)   below 16
    weight    float32 (m,)
    payload   int32 (m,)   row of a triple, or -1

    Raises ValueError where dtypes or lengths differ or a value is out of range.

    >>> e = np.int32([1, 0, 1])
    >>> build(2, e, np.int32([0, 1, 1]), np.uint8([0, 1, 2]), np.float32([1, 1, 1]), e).dst
    array([1, 0, 1], dtype=int32)
    """
    check_array("src", src, np.int32)
    _check_edges("", n, src.size, dst, relation, weight, payload)
    _check_range("src", src, n)
    indptr, order = np.zeros(n + 1, np.int64), np.empty(src.size, np.int32)
    _sort(indptr, src, order)
    return Csr(indptr, dst[order], relation[order], weight[order], payload[order])


def merge(
    base: Csr,
    head: I32Array,
    next: I32Array,
    d_dst: I32Array,
    d_relation: U8Array,
    d_weight: F32Array,
    d_payload: I32Array,
    m_delta: int,
    n: int,
) -> Csr:
    """A new base over `n` nodes: each row's base edges, then its delta edges oldest first.

    base     over at most n nodes
    head     int32 (>= n,)         newest delta edge of a node, or -1
    next     int32 (>= m_delta,)   the next older edge, or -1
    m_delta  delta edges from here on are left out, wherever they stand in a chain

    Raises ValueError where dtypes or lengths differ or a value is out of range.
    """
    m_base = int(base.indptr[-1])
    check_array("indptr", base.indptr, np.int64)
    if base.indptr.size > n + 1 or base.indptr[0] != 0 or (np.diff(base.indptr) < 0).any():
        raise ValueError(f"indptr: expected at most {n + 1} starts that rise from 0")
    _check_edges("base ", n, m_base, *base[1:])
    for name, chain in (("head", head), ("next", next)):
        check_array(name, chain, np.int32)
        _check_range(name, chain, next.size, least=-1)
    if head.size < n or not 0 <= m_delta <= next.size:
        raise ValueError(f"expected head of {n} rows and m_delta up to {next.size}, got {m_delta}")
    delta: tuple[Any, ...] = tuple(
        column[:m_delta] for column in (d_dst, d_relation, d_weight, d_payload)
    )
    _check_edges("delta ", n, m_delta, *delta)
    indptr = np.empty(n + 1, np.int64)
    m = _count(base.indptr, head, next, m_delta, indptr)
    out = Csr(
        indptr,
        np.empty(m, np.int32),
        np.empty(m, np.uint8),
        np.empty(m, np.float32),
        np.empty(m, np.int32),
    )
    arguments: tuple[Any, ...] = (*base, head, next, *delta, m_delta, *out)
    _merge(*arguments)
    return out


def _check_edges(
    which: str,
    n: int,
    m: int,
    dst: I32Array,
    relation: U8Array,
    weight: F32Array,
    payload: I32Array,
) -> None:
    check_array(which + "dst", dst, np.int32)
    check_array(which + "relation", relation, np.uint8)
    check_array(which + "weight", weight, np.float32)
    check_array(which + "payload", payload, np.int32)
    lengths = (dst.size, relation.size, weight.size, payload.size)
    if lengths != (m, m, m, m):
        raise ValueError(f"{which}edges: expected {m} in every array, got {lengths}")
    _check_range(which + "dst", dst, n)
    _check_range(which + "relation", relation, RELATIONS)
    _check_range(which + "payload", payload, 2**31, least=-1)


def _check_range(name: str, values: I32Array | U8Array, stop: int, least: int = 0) -> None:
    if values.size and not (least <= values.min() and values.max() < stop):
        raise ValueError(
            f"{name}: expected {least} <= value < {stop}, got {values.min()} to {values.max()}"
        )
