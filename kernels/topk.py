"""The best k of many scores, ordered by score descending, then row ascending.

A score and its row are packed into one int64 that compares like (score, -row), so that the heap
compares one integer and ties need no branch of their own.
"""

import numpy as np

from .intrinsics import float_bits
from .types import (
    F32,
    I32_1,
    I64,
    I64_1,
    RF32_1,
    RI32_1,
    VOID,
    F32Array,
    Float,
    I32Array,
    I64Array,
    Int,
    check_array,
    deferred,
    kernel,
)

BLOCK = 64
"""Scores tested together against the threshold; the test vectorises and nearly always says no."""

LOW_BITS = 0xFFFFFFFF


@deferred(I64(F32, I64))
def _pack(score: Float, row: Int) -> Int:
    # Adding zero makes -0.0 equal to 0.0; flipping the low bits orders the negative numbers.
    bits = np.int64(float_bits(score + np.float32(0)))
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)
    return (bits << np.int64(32)) | (np.int64(LOW_BITS) - np.int64(row))


@deferred(VOID(I64_1, I64, I64))
def _sift_down(heap: I64Array, size: Int, key: Int) -> None:
    """Replace the root of a min-heap of `size` keys by `key`."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


@deferred(VOID(I64_1, I64, I64))
def _sift_up(heap: I64Array, place: Int, key: Int) -> None:
    """Put `key` at the free `place` behind a min-heap."""
    while place > 0 and heap[(place - 1) // 2] > key:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = key


@deferred(I64(I64_1, I64, F32, I64))
def _offer(heap: I64Array, size: Int, score: Float, row: Int) -> Int:
    """Keep (score, row) if it is among the best; the new size of the heap."""
    key = _pack(score, row)
    if size < heap.size:
        _sift_up(heap, size, key)
        return size + 1
    if key > heap[0]:
        _sift_down(heap, size, key)
    return size


@deferred(I64(I64_1, I64, I32_1))
def _drain(heap: I64Array, size: Int, out: I32Array) -> Int:
    """Write the rows of a heap of `size` keys to `out`, best first."""
    for last in range(size - 1, -1, -1):
        out[last] = LOW_BITS - (heap[0] & LOW_BITS)
        _sift_down(heap, last, heap[last])
    return size


@kernel(I64(RF32_1, RI32_1, F32, I32_1))
def _topk_at(scores: F32Array, rows: I32Array, floor: Float, out: I32Array) -> Int:
    heap = np.empty(out.size, np.int64)
    size = 0
    threshold = floor
    for row in rows:
        score = scores[row]
        # An equal score may still win by its row, since the rows come in any order.
        if score > floor and score >= threshold:
            size = _offer(heap, size, score, row)
            if size == heap.size:
                threshold = scores[LOW_BITS - (heap[0] & LOW_BITS)]
    return _drain(heap, size, out)


@deferred(I64(RF32_1, I64, I64, F32))
def _count_above(scores: F32Array, start: Int, stop: Int, threshold: Float) -> Int:
    count = 0
    for i in range(start, stop):
        count += scores[i] > threshold
    return count


@kernel(I64(RF32_1, F32, I32_1))
def _topk(scores: F32Array, floor: Float, out: I32Array) -> Int:
    heap = np.empty(out.size, np.int64)
    size = 0
    # The least score kept once the heap is full: rows ascend, so an equal one comes too late.
    threshold = floor
    for start in range(0, scores.size, BLOCK):
        stop = min(start + BLOCK, scores.size)
        if _count_above(scores, start, stop, threshold) == 0:
            continue
        for row in range(start, stop):
            if scores[row] > threshold:
                size = _offer(heap, size, scores[row], row)
                if size == heap.size:
                    threshold = scores[LOW_BITS - (heap[0] & LOW_BITS)]
    return _drain(heap, size, out)


def topk(scores: F32Array, k: int, floor: float = -np.inf) -> I32Array:
    """Rows of the `k` best scores above `floor`, by score descending, then row ascending.

    scores   float32 (n,)   a NaN is never returned
    floor    scores have to be greater than it
    returns  int32 (k',)    k' <= k

    Raises ValueError where `scores` has another dtype or shape.

    >>> topk(np.float32([0.5, 2.0, 0.5, 1.0]), 3)
    array([1, 3, 0], dtype=int32)
    """
    check_array("scores", scores, np.float32)
    out = np.empty(max(min(k, scores.size), 0), np.int32)
    return out[: _topk(scores, np.float32(floor), out)] if out.size else out


def topk_at(scores: F32Array, rows: I32Array, k: int, floor: float = -np.inf) -> I32Array:
    """The same among the chosen `rows` only, ties by row whatever order they come in.

    rows     int32 (m,)     rows of `scores`, each once
    returns  int32 (k',)    rows of `scores`, not positions in `rows`

    Raises ValueError where an array has another dtype or shape or a row is out of range.

    >>> topk_at(np.float32([0.5, 2.0, 0.5, 1.0]), np.int32([3, 2, 0]), 2)
    array([3, 0], dtype=int32)
    """
    check_array("scores", scores, np.float32)
    check_array("rows", rows, np.int32)
    out = np.empty(max(min(k, rows.size), 0), np.int32)
    if not out.size:
        return out
    if rows.min() < 0 or rows.max() >= scores.size:
        raise ValueError(f"rows: expected 0 <= row < {scores.size}")
    return out[: _topk_at(scores, rows, np.float32(floor), out)]
