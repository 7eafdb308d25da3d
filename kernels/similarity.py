"""Dot products of float16 rows with a float32 query: the same bits however they are asked for.

Vectors are uint16 (n_vec, d), C-contiguous, holding float16. The order of the summation is fixed
(`intrinsics.LANES`), so a row's value depends on the row and the query alone.
"""

import numpy as np

from .intrinsics import dot_blocks, half_to_float, prefetch
from .types import (
    F32,
    F32_1,
    F32_2,
    I32_2,
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
    kernel,
)

AHEAD = 4
"""Rows fetched before they are read: 4 rows of 768 bytes cover a miss without flushing L1."""


@kernel(F32(RU16_2, I64, RF32_1))
def _dot(vectors: U16Array, row: Int, query: F32Array) -> Float:
    total = dot_blocks(vectors, row, query)
    for i in range(query.size // 32 * 32, query.size):
        total += half_to_float(vectors[row, i]) * query[i]
    return total


@kernel(VOID(RU16_2, I64))
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


@kernel(VOID(RU16_2, I64, F32, I32_2, F32_2))
def _neighbours(
    vectors: U16Array, start: Int, floor: Float, rows: I32Array, sims: F32Array
) -> None:
    width = rows.shape[1]
    query = np.empty(vectors.shape[1], np.float32)
    for i in range(rows.shape[0]):
        for t in range(query.size):
            query[t] = half_to_float(vectors[start + i, t])
        kept = 0
        for j in range(start + i):
            sim = _dot(vectors, j, query)
            # An earlier row wins a tie, so a later one has to be strictly better.
            if not sim >= floor or (kept == width and not sim > sims[i, kept - 1]):
                continue
            place = kept if kept < width else kept - 1
            while place > 0 and sims[i, place - 1] < sim:
                sims[i, place], rows[i, place] = sims[i, place - 1], rows[i, place - 1]
                place -= 1
            sims[i, place], rows[i, place] = sim, j
            kept = min(kept + 1, width)


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


def neighbours(
    vectors: U16Array, start: int, stop: int, k: int, floor: float = -np.inf
) -> tuple[I32Array, F32Array]:
    """The `k` most similar earlier rows of each row in [start, stop), exactly: (rows, sims).

    floor    least similarity that counts
    returns  rows int32 (stop - start, k)  rows j < i, best first, ties by row; padded with -1
             sims float32, same shape      `dots` of the two rows; padded with 0.0

    The work is (stop - start) * stop dot products. Raises ValueError where start, stop or k is out
    of range.

    >>> neighbours(np.float16([[1, 0], [0, 1], [1, 0]]).view(np.uint16), 2, 3, 2)[0]
    array([[0, 1]], dtype=int32)
    """
    check_array("vectors", vectors, np.uint16, 2)
    if not 0 <= start <= stop <= len(vectors) or k < 1:
        raise ValueError(
            f"expected 0 <= start <= stop <= {len(vectors)} and k >= 1, "
            f"got start {start}, stop {stop}, k {k}"
        )
    rows = np.full((stop - start, k), -1, np.int32)
    sims = np.zeros((stop - start, k), np.float32)
    _neighbours(vectors, start, np.float32(floor), rows, sims)
    return rows, sims


def _check(vectors: U16Array, query: F32Array) -> None:
    check_array("vectors", vectors, np.uint16, 2)
    check_array("query", query, np.float32)
    if vectors.shape[1] != query.size:
        raise ValueError(f"query: expected {vectors.shape[1]} elements, got {query.size}")
