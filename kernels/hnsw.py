"""Hierarchical navigable small worlds (arXiv 1603.09320) over float16 rows, as plain arrays.

The graph depends on the rows and their order alone: the level of a row is a hash of its number, all
ties go to the lower row, and rows are inserted block by block. A block's rows are searched for in
the graph as it stood before the block, and compared with each other exactly; then they are linked
one by one. So a block needs no graph that changes while it is searched.

A row that repeats an earlier one bit by bit is that row's twin: it is chained to it, not linked,
and found where that is found. Hundreds of equal short texts would otherwise fill each other's lists
and cut themselves off from the rest.
"""

from typing import NamedTuple

import numpy as np

from .intrinsics import dot_blocks, float_bits, half_to_float, prefetch, will_need
from .types import (
    F32,
    F32_1,
    I32_1,
    I32_2,
    I64,
    I64_1,
    RF32_1,
    RF32_2,
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
    named_tuple,
    tuple_of,
)

LEVELS = 8
"""Levels that a row can have: 16^7 rows would have one row on the last."""

WIDE = 32
"""Rows that a search keeps on the levels above the one it is after, where the paper keeps one: far
clusters hardly link to each other, and a search that starts in a wrong one stays there. Of 1e6
rows in 2,000 clusters the ten nearest are found to 1.00 instead of 0.94, for a sixth more time."""

AHEAD = 4
"""Vectors fetched before they are read."""

ROOM = 2048
"""Rows that a search may meet before its table grows."""

NONE = -(2**63)
"""The key of no row: below all others."""

NO_TWIN = -1
LOW_BITS = 0xFFFFFFFF
LAST = 0x7FFFFFFF


class Index(NamedTuple):
    """The graph of the first n rows.

    links    int32 (n, 2M)     neighbours of a row on level 0, padded with -1
    upper    int32 (u, M)      neighbours on the levels above: row i has the rows
                               `start[i] : start[i + 1]`, level 1 first
    start    int32 (n+1,)      sums of the levels of the rows before; follows from n
    twins    int32 (n,)        -1 for a row without twins; -2 - t for one whose newest twin is t;
                               for a twin the next newer one, and from the newest to the oldest
    entries  int32 (LEVELS,)   first linked row of each level or more; -1 for none
    """

    links: I32Array
    upper: I32Array
    start: I32Array
    twins: I32Array
    entries: I32Array


class _Seen(NamedTuple):
    """The rows that a search has met: an open-addressing table, and the cells in use."""

    table: I32Array
    cells: I32Array


class _Lists(NamedTuple):
    """Where links are written; `start` and `level` say which list of `rows` a row has."""

    rows: I32Array
    start: I32Array
    level: Int


RI32_2, I64_2 = I32_2.copy(readonly=True), I64_1.copy(ndim=2)
INDEX = named_tuple(Index, RI32_2, RI32_2, RI32_1, RI32_1, RI32_1)
SEEN = named_tuple(_Seen, I32_1, I32_1)
LISTS = named_tuple(_Lists, I32_2, RI32_1, I64)


@deferred(F32(RU16_2, I64, RF32_1))
def _dot(vectors: U16Array, row: Int, query: F32Array) -> Float:
    """The bits of `similarity.dots`."""
    total = dot_blocks(vectors, row, query)
    for i in range(query.size // 32 * 32, query.size):
        total += half_to_float(vectors[row, i]) * query[i]
    return total


@deferred(VOID(RU16_2, I64))
def _fetch(vectors: U16Array, row: Int) -> None:
    width = vectors.shape[1]
    for i in range(0, width, 32):
        prefetch(vectors, row * width + i)


@deferred(VOID(RU16_2, I64, F32_1))
def _read(vectors: U16Array, row: Int, out: F32Array) -> None:
    for i in range(out.size):
        out[i] = half_to_float(vectors[row, i])


@deferred(I64(F32))
def _order(sim: Float) -> Int:
    """A 32-bit integer that compares like `sim`; -0.0 equals 0.0."""
    bits = np.int64(float_bits(sim + np.float32(0)))
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)
    return bits


@deferred(I64(I64, I64))
def _key(order: Int, row: Int) -> Int:
    """An integer that compares like (order, -row); its last bit says that the row is open."""
    return (np.int64(order) << np.int64(32)) | ((np.int64(LAST) - np.int64(row)) << np.int64(1)) | 1


@deferred(I64(I64))
def _row(key: Int) -> Int:
    return np.int64(LAST) - ((key & np.int64(LOW_BITS)) >> np.int64(1))


@deferred(I64(I64))
def _level(row: Int) -> Int:
    """Zero nibbles at the end of a hash of the row: one row in 16^l has level l or more."""
    bits = (row + 1) & np.int64(LOW_BITS)
    bits ^= bits >> np.int64(16)
    bits = (bits * np.int64(0x21F0AAAD)) & np.int64(LOW_BITS)
    bits ^= bits >> np.int64(15)
    bits = (bits * np.int64(0x735A2D97)) & np.int64(LOW_BITS)
    bits ^= bits >> np.int64(15)
    level: Int = 0
    while level < LEVELS - 1 and bits & 15 == 0:
        bits >>= np.int64(4)
        level += 1
    return level


@kernel(VOID(I32_1, I64))
def _count_levels(start: I32Array, known: Int) -> None:
    """Sum up the levels of the rows from `known` on."""
    for row in range(known, start.size - 1):
        start[row + 1] = start[row] + _level(np.int64(row))


@deferred(I64(I64_1, I64, I64))
def _offer(pool: I64Array, size: Int, key: Int) -> Int:
    """Put a key into the first `size` sorted ones: its place, or the pool's size if it is worse.

    In a full pool the last key drops out.
    """
    if size == pool.size:
        if size == 0 or key <= pool[size - 1]:
            return pool.size
        size -= 1
    place = size
    while place > 0 and pool[place - 1] < key:
        pool[place] = pool[place - 1]
        place -= 1
    pool[place] = key
    return place


@deferred(I64(I32_1, I64))
def _cell(table: I32Array, row: Int) -> Int:
    """The cell that holds `row`, or is free for it."""
    mask = table.size - 1
    cell = ((row * np.int64(0x9E3779B1)) >> np.int64(12)) & mask
    while table[cell] >= 0 and table[cell] != row:
        cell = (cell + 1) & mask
    return cell


@deferred(SEEN(I64))
def _new_seen(size: Int) -> _Seen:
    return _Seen(np.full(2 * size, -1, np.int32), np.empty(size, np.int32))


@deferred(SEEN(SEEN, I64, I64))
def _room(seen: _Seen, used: Int, more: Int) -> _Seen:
    size = seen.cells.size
    if used + more <= size:
        return seen
    while used + more > size:
        size *= 2
    wider = _new_seen(size)
    for i in range(used):
        row = seen.table[seen.cells[i]]
        cell = _cell(wider.table, np.int64(row))
        wider.table[cell], wider.cells[i] = row, cell
    return wider


@deferred(I64(INDEX, I64))
def _top(index: Index, bound: Int) -> Int:
    """The highest level that a row below `bound` has; -1 where there is no row."""
    top: Int = LEVELS - 1
    while top >= 0 and not 0 <= index.entries[top] < bound:
        top -= 1
    return top


@deferred(RI32_1(INDEX, I64, I64))
def _list(index: Index, row: Int, level: Int) -> I32Array:
    links: I32Array = index.links[row]
    if level > 0:
        links = index.upper[index.start[row] + level - 1]
    return links


@deferred(VOID(INDEX, I64, I64))
def _fetch_list(index: Index, row: Int, level: Int) -> None:
    if level == 0:
        width = index.links.shape[1]
        for i in range(0, width, 16):
            prefetch(index.links, row * width + i)


@deferred(tuple_of(I64, SEEN)(INDEX, RU16_2, RF32_1, I64, I64, I64_1, I64, SEEN, I64))
def _search_level(
    index: Index,
    vectors: U16Array,
    query: F32Array,
    level: Int,
    bound: Int,
    pool: I64Array,
    size: Int,
    seen: _Seen,
    ahead: Int,
) -> tuple[Int, _Seen]:
    """Algorithm 2: widen the open rows of the pool until all in it are closed; their number.

    Where `ahead` is set, the vectors of a list are asked from the disk together, not one by one.
    One sorted pool serves for both heaps: a candidate that has dropped out of the best would never
    be widened. Rows from `bound` on are passed over.
    """
    used: Int = 0
    seen = _room(seen, used, size)
    for i in range(size):
        pool[i] |= 1
        cell = _cell(seen.table, _row(pool[i]))
        seen.table[cell], seen.cells[used] = _row(pool[i]), cell
        used += 1
    place: Int = 0
    while place < size:
        if pool[place] & 1 == 0:
            place += 1
            continue
        pool[place] -= 1
        links = _list(index, _row(pool[place]), level)
        seen = _room(seen, used, links.size)
        met = used
        for j in range(links.size):
            row = np.int64(links[j])
            if row < 0:
                break
            if row >= bound:
                continue
            cell = _cell(seen.table, row)
            if seen.table[cell] < 0:
                seen.table[cell], seen.cells[used] = row, cell
                used += 1
                if ahead:
                    will_need(vectors, row * vectors.shape[1], vectors.shape[1])
                _fetch(vectors, row)
        for j in range(met, used):
            row = np.int64(seen.table[seen.cells[j]])
            at = _offer(pool, size, _key(_order(_dot(vectors, row, query)), row))
            if at < pool.size:
                _fetch_list(index, row, level)
                size = min(size + 1, pool.size)
                place = min(place, at)
    for j in range(used):
        seen.table[seen.cells[j]] = -1
    return size, seen


@deferred(tuple_of(I64, SEEN)(INDEX, RU16_2, RF32_1, I64, I64_1, SEEN, I64))
def _search_down(
    index: Index,
    vectors: U16Array,
    query: F32Array,
    bound: Int,
    pool: I64Array,
    seen: _Seen,
    ahead: Int,
) -> tuple[Int, _Seen]:
    """Algorithm 5: fill the pool with what is nearest on level 0; how many."""
    top = _top(index, bound)
    if top < 0:
        return 0, seen
    entry = np.int64(index.entries[top])
    pool[0] = _key(_order(_dot(vectors, entry, query)), entry)
    size: Int = 1
    for level in range(top, 0, -1):
        above = pool[: min(WIDE, pool.size)]
        size, seen = _search_level(index, vectors, query, level, bound, above, size, seen, ahead)
    return _search_level(index, vectors, query, 0, bound, pool, size, seen, ahead)


@deferred(I64(INDEX, I64, I64_1, I64, I64_1))
def _with_twins(index: Index, bound: Int, pool: I64Array, found: Int, best: I64Array) -> Int:
    """Fill `best` with the found rows and their twins; how many."""
    size: Int = 0
    for i in range(found):
        if _offer(best, size, pool[i]) == best.size:
            break
        size = min(size + 1, best.size)
        newest = -2 - np.int64(index.twins[_row(pool[i])])
        twin = np.int64(index.twins[newest]) if newest >= 0 else np.int64(bound)
        while twin < bound:
            key = _key(pool[i] >> np.int64(32), twin)
            if _offer(best, size, key) == best.size:
                break
            size = min(size + 1, best.size)
            twin = np.int64(index.twins[twin]) if twin != newest else np.int64(bound)
    return size


@deferred(I64(RU16_2, RF32_1, I64, I64, I64_1, I64))
def _scan(
    vectors: U16Array, query: F32Array, first: Int, stop: Int, pool: I64Array, size: Int
) -> Int:
    """Offer the rows [first, stop) to the pool; how many it holds then."""
    for row in range(first, stop):
        at = _offer(pool, size, _key(_order(_dot(vectors, row, query)), row))
        if at < pool.size:
            size = min(size + 1, pool.size)
    return size


@kernel(
    VOID(RI32_2, RI32_2, RI32_1, RI32_1, RI32_1, RU16_2, RF32_2, RI64_1, I64, I64, I32_2, I32_2),
)
def _nearest(
    links: I32Array,
    upper: I32Array,
    start: I32Array,
    twins: I32Array,
    entries: I32Array,
    vectors: U16Array,
    queries: F32Array,
    stops: I64Array,
    ef: Int,
    ahead: Int,
    rows: I32Array,
    bits: I32Array,
) -> None:
    index = Index(links, upper, start, twins, entries)
    pool, best, seen = np.empty(ef, np.int64), np.empty(rows.shape[1], np.int64), _new_seen(ROOM)
    for q in range(queries.shape[0]):
        stop = np.int64(stops[q])
        bound = min(stop, links.shape[0])
        found, seen = _search_down(index, vectors, queries[q], bound, pool, seen, ahead)
        size = _with_twins(index, bound, pool, found, best)
        size = _scan(vectors, queries[q], bound, stop, best, size)
        if size < min(best.size, stop):  # a graph in pieces: rare, but no reason to find less
            size = _scan(vectors, queries[q], 0, stop, best, 0)
        for i in range(size):
            order = best[i] >> np.int64(32)
            rows[q, i], bits[q, i] = _row(best[i]), order if order >= 0 else order ^ LAST
        rows[q, size:], bits[q, size:] = -1, 0


@deferred(VOID(RI32_2, RI32_2, RI32_1, RI32_1, RI32_1, RU16_2, I64_2, I64_2))
def _candidates(
    links: I32Array,
    upper: I32Array,
    start: I32Array,
    twins: I32Array,
    entries: I32Array,
    vectors: U16Array,
    near: I64Array,
    above: I64Array,
) -> None:
    """What is near the rows behind the index: on level 0, and on their levels above.

    near   int64 (m, ef)  keys for the m rows that follow those of `links`
    above  int64 (u, ef)  the same for their rows of `upper`; `start` knows the new rows
    """
    index = Index(links, upper, start, twins, entries)
    n = np.int64(links.shape[0])
    top = _top(index, n)
    near[:], above[:] = NONE, NONE
    pool, seen = np.empty(near.shape[1], np.int64), _new_seen(ROOM)
    query = np.empty(vectors.shape[1], np.float32)
    for i in range(near.shape[0] if top >= 0 else 0):
        row = n + i
        _read(vectors, row, query)
        first = np.int64(start[row]) - np.int64(start[n])
        levels = np.int64(start[row + 1]) - np.int64(start[row])
        entry = np.int64(entries[top])
        pool[0], size = _key(_order(_dot(vectors, entry, query)), entry), 1
        for level in range(top, -1, -1):
            width = pool.size if level <= levels else min(WIDE, pool.size)
            size, seen = _search_level(index, vectors, query, level, n, pool[:width], size, seen, 0)
            if level == 0:
                near[i, :size] = pool[:size]
            elif level <= levels:
                above[first + level - 1, :size] = pool[:size]


@deferred(I64(RU16_2, I64_1, I64, F32_1, I32_1))
def _select(vectors: U16Array, pool: I64Array, size: Int, other: F32Array, chosen: I32Array) -> Int:
    """Algorithm 4: candidates that are nearer to the row than to those chosen before; how many."""
    count: Int = 0
    for i in range(size):
        if count == chosen.size:
            break
        if i + AHEAD < size:
            _fetch(vectors, _row(pool[i + AHEAD]))
        row, order = _row(pool[i]), pool[i] >> np.int64(32)
        _read(vectors, row, other)
        t: Int = 0
        while t < count and _order(_dot(vectors, np.int64(chosen[t]), other)) <= order:
            t += 1
        if t == count:
            chosen[count] = row
            count += 1
    return count


@deferred(I64(LISTS, I64))
def _place(lists: _Lists, row: Int) -> Int:
    if lists.level == 0:
        return row
    return np.int64(lists.start[row]) + lists.level - 1


@deferred(VOID(LISTS, RU16_2, I64, I64, I64_1, F32_1, F32_1, I32_1))
def _link_back(
    lists: _Lists,
    vectors: U16Array,
    row: Int,
    new: Int,
    pool: I64Array,
    query: F32Array,
    other: F32Array,
    chosen: I32Array,
) -> None:
    """Link `row` to a new one; from a full list the best are chosen."""
    links = lists.rows[_place(lists, row)]
    for t in range(links.size):
        if links[t] < 0:
            links[t] = new
            return
    for t in range(links.size):
        _fetch(vectors, np.int64(links[t]))
    _read(vectors, row, query)
    pool[0], size = _key(_order(_dot(vectors, new, query)), new), 1
    for t in range(links.size):
        kept = np.int64(links[t])
        _offer(pool, size, _key(_order(_dot(vectors, kept, query)), kept))
        size += 1
    count = _select(vectors, pool, size, other, chosen[: links.size])
    links[:count], links[count:] = chosen[:count], -1


@deferred(I64(RU16_2, RI32_1, I64, I64_1, I64, F32_1))
def _original(
    vectors: U16Array, twins: I32Array, row: Int, pool: I64Array, size: Int, query: F32Array
) -> Int:
    """The linked row that `row` repeats bit by bit, or -1."""
    order = _order(_dot(vectors, row, query))
    for i in range(size):
        if pool[i] >> np.int64(32) < order:
            break
        other, t = _row(pool[i]), 0
        while t < query.size and vectors[other, t] == vectors[row, t]:
            t += 1
        if t == query.size:
            return other
    return -1


@deferred(VOID(I32_1, I64, I64))
def _chain(twins: I32Array, row: Int, twin: Int) -> None:
    newest = -2 - np.int64(twins[row])
    twins[twin] = twin
    if newest >= 0:
        twins[twin], twins[newest] = twins[newest], twin
    twins[row] = -2 - twin


@deferred(VOID(I32_2, I32_2, RI32_1, I32_1, I32_1, RU16_2, I64, I64_2, I64_2))
def _link(
    links: I32Array,
    upper: I32Array,
    start: I32Array,
    twins: I32Array,
    entries: I32Array,
    vectors: U16Array,
    n: Int,
    near: I64Array,
    above: I64Array,
) -> None:
    """Algorithm 1 for the rows from n on, given what is near them among the rows before n."""
    ef, width = near.shape[1], links.shape[1]
    query, other = np.empty(vectors.shape[1], np.float32), np.empty(vectors.shape[1], np.float32)
    back, own = np.empty(vectors.shape[1], np.float32), np.empty(upper.shape[1], np.int32)
    chosen, longer = np.empty(width, np.int32), np.empty(width + 1, np.int64)
    for row in range(n, n + near.shape[0]):
        _read(vectors, row, query)
        levels = np.int64(start[row + 1]) - np.int64(start[row])
        for level in range(levels + 1):
            pool = near[row - n]
            if level > 0:
                pool = above[np.int64(start[row]) - np.int64(start[n]) + level - 1]
            size: Int = 0
            while size < ef and pool[size] != NONE:
                size += 1
            for earlier in range(n, row):
                if twins[earlier] < 0 and start[earlier + 1] - start[earlier] >= level:
                    key = _key(_order(_dot(vectors, earlier, query)), earlier)
                    if _offer(pool, size, key) < ef:
                        size = min(size + 1, ef)
            if level == 0:
                original = _original(vectors, twins, row, pool, size, query)
                if original >= 0:
                    _chain(twins, original, row)
                    break
            lists = _Lists(upper if level > 0 else links, start, np.int64(level))
            count = _select(vectors, pool, size, other, own)
            lists.rows[_place(lists, row), :count] = own[:count]
            for t in range(count):
                kept = np.int64(own[t])
                _link_back(lists, vectors, kept, row, longer, back, other, chosen)
            if entries[level] < 0:
                entries[level] = row


def empty(m: int) -> Index:
    """The index of no rows.

    m  links that a new row asks for on a level; a row keeps up to 2m on level 0, m above

    >>> [len(array) for array in empty(16)]
    [0, 0, 1, 0, 8]
    """
    return from_arrays(
        m,
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.full(LEVELS, -1, np.int32),
    )


def from_arrays(
    m: int, links: I32Array, upper: I32Array, twins: I32Array, entries: I32Array
) -> Index:
    """The index that flat arrays hold, without a copy: int32 (n * 2m,), (u * m,), (n,), (LEVELS,).

    Raises ValueError where their sizes do not fit each other. What they hold is trusted.
    """
    n = len(twins)
    start = np.zeros(n + 1, np.int32)
    _count_levels(start, 0)
    above = int(start[n])
    sizes, expected = (links.size, upper.size, entries.size), (2 * m * n, m * above, LEVELS)
    if m < 1 or sizes != expected:
        raise ValueError(f"index: expected arrays of {expected} elements, got {sizes}")
    return Index(links.reshape(n, 2 * m), upper.reshape(above, m), start, twins, entries)


def extend(index: Index, vectors: U16Array, stop: int, *, ef: int, block: int) -> Index:
    """A new index of the first `stop` rows; `index` stays as it is.

    vectors  uint16 (>= stop, d)   float16 bits
    ef       candidates that links are chosen from, at least 1
    block    rows inserted at a time; an index is the same however it came about, provided that
             all blocks but the last one were whole

    Raises ValueError where the sizes do not fit.
    """
    check_array("vectors", vectors, np.uint16, 2)
    n = len(index.links)
    if not n <= stop <= len(vectors) or ef < 1 or block < 1:
        raise ValueError(
            f"expected {n} <= stop <= {len(vectors)}, ef >= 1 and block >= 1, "
            f"got stop {stop}, ef {ef}, block {block}"
        )
    longer = _longer(index, stop)
    for first in range(n, stop, block):
        near, above = _near(longer, vectors, first, min(first + block, stop), ef)
        _link(*longer, vectors, first, near, above)
    return longer


def _longer(index: Index, n: int) -> Index:
    """A writable copy with room for n rows, their lists empty."""
    start = _grown(index.start, n + 1)
    _count_levels(start, len(index.twins))
    links, upper = _grown(index.links, n), _grown(index.upper, int(start[n]))
    return Index(links, upper, start, _grown(index.twins, n), index.entries.copy())


def _grown(array: I32Array, n: int) -> I32Array:
    """A copy of n rows, the new ones -1."""
    grown = np.empty((n, *array.shape[1:]), np.int32)
    grown[: len(array)], grown[len(array) :] = array, -1
    return grown


def _near(
    index: Index, vectors: U16Array, first: int, stop: int, ef: int
) -> tuple[I64Array, I64Array]:
    """Keys of what is near the rows [first, stop) before `first`."""
    near = np.empty((stop - first, ef), np.int64)
    above = np.empty((int(index.start[stop] - index.start[first]), ef), np.int64)
    _candidates(index.links[:first], *index[1:], vectors, near, above)
    return near, above


def nearest(
    index: Index,
    vectors: U16Array,
    queries: F32Array,
    stops: I64Array,
    k: int,
    ef: int,
    *,
    ahead: bool = False,
) -> tuple[I32Array, F32Array]:
    """The k rows most similar to each query among the first `stops[q]`: (rows, similarities).

    vectors  uint16 (n, d)    float16 bits
    queries  float32 (b, d)
    stops    int64 (b,)       at most n. Rows that the index holds are searched for in it, newer
                              ones scanned; fewer rows than it holds are searched for as well
    ef       rows that the search keeps, at least k: more find more
    ahead    whether most vectors are likely to be on the disk alone: they are asked for some at a
             time then, where else one is waited for before the next; for nothing it costs ms

    returns  rows int32 (b, k)   best first, ties by row; -1 beyond `stops[q]`
             similarities float32 (b, k)   the bits of `similarity.dots`; 0.0 beyond

    Raises ValueError where the sizes do not fit.

    >>> vectors = np.float16([[1, 0], [0, 1], [1, 0]]).view(np.uint16)
    >>> index = extend(empty(16), vectors, 2, ef=10, block=8)
    >>> nearest(index, vectors, np.float32([[1, 0]]), np.int64([3]), 2, 10)[0]
    array([[0, 2]], dtype=int32)
    """
    check_array("vectors", vectors, np.uint16, 2)
    check_array("queries", queries, np.float32, 2)
    check_array("stops", stops, np.int64)
    b, d = queries.shape
    if d != vectors.shape[1] or stops.size != b or not 0 <= k <= ef or ef < 1:
        raise ValueError(
            f"expected queries ({stops.size}, {vectors.shape[1]}) and 0 <= k <= ef, "
            f"got {queries.shape}, k {k}, ef {ef}"
        )
    if b and not 0 <= stops.min() <= stops.max() <= len(vectors):
        raise ValueError(f"stops: expected 0 to {len(vectors)}, got {stops.min()}, {stops.max()}")
    rows, bits = np.empty((b, k), np.int32), np.empty((b, k), np.int32)
    _nearest(*index, vectors, queries, stops, ef, int(ahead), rows, bits)
    return rows, bits.view(np.float32)
