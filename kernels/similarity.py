"""Dot products of float16 rows with a float32 query: the same bits however they are asked for.

Vectors are uint16 (n_vec, d), C-contiguous, holding float16. The order of the summation is fixed
(`intrinsics.LANES`), so a row's value depends on the row and the query alone.
"""

import numpy as np

from .intrinsics import dot_blocks, half_to_float, prefetch
from .types import (
    F32,
    F32_1,
    I64,
    RF32_1,
    RI32_1,
    RI64_1,
    RU16_2,
    VOID,
    F32Array,
    Float,
    I32Array,
    I64Array,
    Int,
    U16Array,
    check_array,
    deferred,
    kernel,
)

AHEAD = 4
"""Rows fetched before they are read: 4 rows of 768 bytes cover a miss without flushing L1."""


@deferred(F32(RU16_2, I64, RF32_1))
def _dot(vectors: U16Array, row: Int, query: F32Array) -> Float:
    total = dot_blocks(vectors, row, query)
    for i in range(query.size // 32 * 32, query.size):
        total += half_to_float(vectors[row, i]) * query[i]
    return total


@deferred(VOID(RU16_2, I64))
def _fetch(vectors: U16Array, row: Int) -> None:
    width = vectors.shape[1]
    for i in range(0, width, 32):
        prefetch(vectors, row * width + i)


@kernel(VOID(RU16_2, RF32_1, F32_1))
def _dots(vectors: U16Array, query: F32Array, out: F32Array) -> None:
    for row in range(out.size):
        out[row] = _dot(vectors, row, query)


@kernel([VOID(RU16_2, RI32_1, RF32_1, F32_1), VOID(RU16_2, RI64_1, RF32_1, F32_1)])
def _dots_at(vectors: U16Array, rows: I32Array | I64Array, query: F32Array, out: F32Array) -> None:
    for i in range(rows.size):
        if i + AHEAD < rows.size and rows[i + AHEAD] >= 0:
            _fetch(vectors, rows[i + AHEAD])
        out[i] = _dot(vectors, rows[i], query) if rows[i] >= 0 else np.float32(0)


def dots(vectors: U16Array, query: F32Array) -> F32Array:
    """Dot product of every row of `vectors` with `query`.

    vectors  uint16 (n, d)   float16 bits
    query    float32 (d,)
    returns  float32 (n,)    summed in a fixed order; a row's value does not depend on n

    Raises ValueError where dtypes or shapes differ.

    >>> dots(np.float16([[1, 2], [0, 4]]).view(np.uint16), np.float32([1, 0.5]))
    array([2., 2.], dtype=float32)
    """
    _check(vectors, query)
    out = np.empty(len(vectors), np.float32)
    _dots(vectors, query, out)
    return out


def dots_at(vectors: U16Array, rows: I32Array | I64Array, query: F32Array) -> F32Array:
    """Dot product of the chosen rows with `query`: the bits that `dots` gives for them.

    rows     int32 or int64 (k,)  rows of `vectors`, in any order; negative = none, gives 0.0
    returns  float32 (k,)

    Raises ValueError where dtypes or shapes differ or a row is beyond the last.

    >>> dots_at(np.float16([[1, 2], [0, 4]]).view(np.uint16), np.int32([1, -1]), np.float32([1, 1]))
    array([4., 0.], dtype=float32)
    """
    _check(vectors, query)
    check_array("rows", rows, np.int64 if rows.dtype == np.int64 else np.int32)
    if rows.size and rows.max() >= len(vectors):
        raise ValueError(f"rows: expected rows below {len(vectors)}, got {rows.max()}")
    out = np.empty(rows.size, np.float32)
    _dots_at(vectors, rows, query, out)
    return out


def _check(vectors: U16Array, query: F32Array) -> None:
    check_array("vectors", vectors, np.uint16, 2)
    check_array("query", query, np.float32)
    if vectors.shape[1] != query.size:
        raise ValueError(f"query: expected {vectors.shape[1]} elements, got {query.size}")
