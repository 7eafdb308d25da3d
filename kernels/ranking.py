"""What candidates have in common with a question, and the one weighted sum that orders them.

`measure` reads on scales of their own what the nodes tell, `scales` says what is least and best
there, and `score` brings each measure to a part between 0 and 1 and adds the parts up. What they
mean stands in `engine.ranking`. `join` and `places` tell which candidates are known already.
"""

from typing import NamedTuple

import numpy as np

from .intrinsics import dot_blocks, float_bits, half_to_float, prefetch
from .types import (
    F32,
    F32_1,
    F32_2,
    I32_1,
    I64,
    I64_1,
    RF32_1,
    RF32_2,
    RI32_1,
    RU8_1,
    RU16_2,
    VOID,
    F32Array,
    Float,
    I32Array,
    I64Array,
    Int,
    U8Array,
    U16Array,
    check_array,
    deferred,
    kernel,
)

FUSED, KEYWORD, SESSION, VECTOR, GRAPH, SPEAKER, PRESENT, TIME, ASKS, SHORT = range(10)
PARTS = 10
"""Columns of a matrix of measures or of parts; in this order they are added up."""

LIVE = 0
"""`status` of a node that counts."""
ONLY_ASKS = 1
"""Bit of `flags` of a turn that only asks."""
NEIGHBOUR = np.float32(0.3)
"""Weight of the likeness of the turn before and of the turn after."""
LONG = 10
"""Index terms from which a turn is not short."""
SIDES = 3
"""A turn, the one before it and the one after it: their vectors mostly lie side by side."""
AHEAD = 2 * SIDES
"""Vectors fetched before they are read."""
EMPTY = -1
NO_VECTOR, NO_NEIGHBOUR = -1, -2


class Columns(NamedTuple):
    """What is known of the nodes, all arrays (>= n,) by row.

    vector_row  int32  row of its vector, or -1
    status      uint8  LIVE, or deleted
    flags       uint8  bit ONLY_ASKS
    session     int32  row of an episode's session
    previous    int32  the episode before it in its session; -1 or >= n = none
    following   int32  the episode after it, likewise
    speaker     int32  row of who said it, or -1
    length      int32  index terms
    """

    vector_row: I32Array
    status: U8Array
    flags: U8Array
    session: I32Array
    previous: I32Array
    following: I32Array
    speaker: I32Array
    length: I32Array
    n: int


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


@deferred(VOID(RU16_2, RI32_1, RF32_1, F32_1))
def _dots_at(vectors: U16Array, rows: I32Array, query: F32Array, out: F32Array) -> None:
    for i in range(rows.size):
        if i + AHEAD < rows.size and rows[i + AHEAD] >= 0:
            _fetch(vectors, rows[i + AHEAD])
        out[i] = _dot(vectors, rows[i], query) if rows[i] >= 0 else np.float32(0)


@deferred(I64(RI32_1, RU8_1, I64, I64))
def _beside(vector_row: I32Array, status: U8Array, n: Int, node: Int) -> Int:
    """Row of a neighbour's vector; NO_VECTOR, or NO_NEIGHBOUR where there is none that counts."""
    if not 0 <= node < n or status[node] != LIVE:
        return NO_NEIGHBOUR
    return max(vector_row[node], NO_VECTOR)


@deferred(F32(RI32_1, RF32_1, F32))
def _mean(rows: I32Array, likeness: F32Array, middling: Float) -> Float:
    """The likeness of a middling candidate: as given, or their mean where that is NaN."""
    if not np.isnan(middling) or not rows.size:
        return middling
    total = 0.0
    for i in range(0, rows.size, SIDES):
        total += np.float64(likeness[i])
    return np.float32(total / (rows.size // SIDES))


@deferred(F32(RI32_1, RU16_2, RF32_1, F32, F32_2))
def _liken(
    rows: I32Array, vectors: U16Array, query: F32Array, middling: Float, out: F32Array
) -> Float:
    """Fill VECTOR, by the rows of the vectors of each candidate's SIDES; what was middling."""
    likeness = np.empty(rows.size, np.float32)
    _dots_at(vectors, rows, query, likeness)
    middling = _mean(rows, likeness, middling)
    for i in range(out.shape[0]):
        total = likeness[SIDES * i]
        for side in range(SIDES * i + 1, SIDES * i + SIDES):
            beside = middling if rows[side] == NO_NEIGHBOUR else likeness[side]
            total += NEIGHBOUR * beside
        out[i, VECTOR] = total
    return middling


@kernel(
    F32(
        *(RI32_1, F32),
        *(RI32_1, RU8_1, RU8_1, RI32_1, RI32_1, RI32_1, RI32_1, RI32_1, I64),
        *(RF32_1, RF32_1, RU16_2, RF32_1, RI32_1, F32_2),
    )
)
def _measure(
    nodes: I32Array,
    middling: Float,
    vector_row: I32Array,
    status: U8Array,
    flags: U8Array,
    session: I32Array,
    previous: I32Array,
    following: I32Array,
    speaker: I32Array,
    length: I32Array,
    n: Int,
    keyword: F32Array,
    session_keyword: F32Array,
    vectors: U16Array,
    query: F32Array,
    speakers: I32Array,
    out: F32Array,
) -> Float:
    rows = np.empty(SIDES * nodes.size, np.int32)
    for i in range(nodes.size):
        node = nodes[i]
        if not 0 <= node < n or not 0 <= session[node] < n:
            raise ValueError("nodes: expected rows of nodes with a session")
        out[i, KEYWORD] = keyword[node]
        out[i, SESSION] = session_keyword[session[node]]
        for named in speakers:
            if named == speaker[node]:
                out[i, SPEAKER] = 1
        out[i, ASKS] = flags[node] & ONLY_ASKS
        out[i, SHORT] = max(1 - length[node] / LONG, 0.0)
        rows[SIDES * i] = max(vector_row[node], NO_VECTOR)
        rows[SIDES * i + 1] = _beside(vector_row, status, n, previous[node])
        rows[SIDES * i + 2] = _beside(vector_row, status, n, following[node])
    return _liken(rows, vectors, query, middling, out)


@kernel(VOID(RF32_2, F32_1, F32_1))
def _scales(measures: F32Array, least: F32Array, spread: F32Array) -> None:
    least[:], spread[:] = 0, 1
    keyword = session = np.float32(0)
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for i in range(measures.shape[0]):
        keyword = max(keyword, measures[i, KEYWORD])
        session = max(session, measures[i, SESSION])
        low, high = min(low, measures[i, VECTOR]), max(high, measures[i, VECTOR])
    spread[KEYWORD] = keyword if keyword > 0 else np.float32(np.inf)
    spread[SESSION] = session if session > 0 else np.float32(np.inf)
    if high >= low:
        least[VECTOR] = low
    if high > low:
        spread[VECTOR] = high - low


@deferred(I64(F32, I64))
def _pack(score: Float, row: Int) -> Int:
    """An integer that sorts like (score descending, row ascending)."""
    bits = np.int64(float_bits(score + np.float32(0)))
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)
    return (-bits << np.int64(32)) + np.int64(row)


@kernel(VOID(RI32_1, RF32_2, RF32_1, RF32_1, RF32_1, F32_2, F32_1, I64_1))
def _score(
    nodes: I32Array,
    measures: F32Array,
    least: F32Array,
    spread: F32Array,
    weights: F32Array,
    parts: F32Array,
    scores: F32Array,
    keys: I64Array,
) -> None:
    for i in range(nodes.size):
        total = np.float32(0)
        for part in range(PARTS):
            share = (measures[i, part] - least[part]) / spread[part]
            share = min(max(share, np.float32(0)), np.float32(1))
            parts[i, part] = weights[part] * share
            total += parts[i, part]
        scores[i], keys[i] = total, _pack(total, nodes[i])


@deferred(I64(I32_1, RI32_1, I64))
def _find(table: I32Array, ids: I32Array, wanted: Int) -> Int:
    """The cell of an open-addressing table that holds the place of `wanted`, or is free for it."""
    mask = table.size - 1
    cell = ((np.int64(wanted) * np.int64(0x9E3779B1)) >> np.int64(12)) & mask
    while table[cell] != EMPTY and ids[table[cell]] != wanted:
        cell = (cell + 1) & mask
    return cell


@deferred(I32_1(RI32_1))
def _table(ids: I32Array) -> I32Array:
    """Places of the ids, at least half of it free."""
    size = 2
    while size < 2 * ids.size:
        size *= 2
    table = np.full(size, EMPTY, np.int32)
    for place in range(ids.size):
        table[_find(table, ids, ids[place])] = place
    return table


@kernel(VOID(RI32_1, RI32_1, I32_1))
def _places(known: I32Array, wanted: I32Array, out: I32Array) -> None:
    # The table is made of the fewer: a few of the best are looked for in whole rankings.
    table = _table(wanted)
    out[:] = -1
    for place in range(known.size):
        cell = _find(table, wanted, known[place])
        if table[cell] != EMPTY:
            out[table[cell]] = place


@kernel(I64(RI32_1, RI32_1, RF32_1, I32_1, F32_1))
def _join(
    known: I32Array, met: I32Array, support: F32Array, nodes: I32Array, values: F32Array
) -> Int:
    """Number of nodes that were written."""
    table, count = _table(known), known.size
    nodes[:count], values[:count] = known, 0
    for i in range(met.size):
        place: Int = np.int64(table[_find(table, known, met[i])])
        if place == EMPTY:
            place, count = count, count + 1
        nodes[place], values[place] = met[i], support[i]
    return count


def measure(
    nodes: I32Array,
    columns: Columns,
    scores: tuple[F32Array, F32Array],
    vectors: U16Array,
    query: F32Array,
    speakers: I32Array,
    middling: float = np.nan,
) -> tuple[F32Array, float]:
    """What the nodes' columns tell, float32 (m, PARTS), and the likeness of a middling node.

    nodes     int32 (m,)      rows below `columns.n`, each with a session
    scores    float32 (>= n,) by episode and by session
    vectors   uint16 (v, d)   float16 bits
    query     float32 (d,)
    speakers  int32 (s,)      rows of those that the question names
    middling  the likeness of a neighbour that there is not; NaN = the mean of the nodes' own,
              summed in float64 in their order

    VECTOR is likeness + NEIGHBOUR * that of the turn before + NEIGHBOUR * that of the turn after,
    each 0 for a turn without a vector; KEYWORD and SESSION come from `scores`; SPEAKER and ASKS are
    1 or 0; SHORT falls from 1 for a turn of no terms to 0 at LONG. The other columns are 0.

    Raises ValueError where lengths differ or a node is out of range.
    """
    if vectors.shape[1] != query.size:
        raise ValueError(f"query: expected {vectors.shape[1]} elements, got {query.size}")
    shortest = min(array.size for array in (*columns[:-1], *scores))
    if shortest < columns.n:
        raise ValueError(f"columns, scores: expected at least {columns.n} rows, got {shortest}")
    out = np.zeros((nodes.size, PARTS), np.float32)
    of_question = (*scores, vectors, query, speakers)
    return out, _measure(nodes, np.float32(middling), *columns, *of_question, out)


def scales(measures: F32Array) -> tuple[F32Array, F32Array]:
    """What `score` subtracts from each measure and divides it by, each float32 (PARTS,).

    KEYWORD and SESSION are shares of the best among `measures`, float32 (m, PARTS); without a best
    above 0 they count nothing (as shares of infinity). VECTOR runs from the least to the best. The
    others are between 0 and 1 already.
    """
    check_array("measures", measures, np.float32, 2)
    least, spread = np.empty(PARTS, np.float32), np.empty(PARTS, np.float32)
    _scales(measures, least, spread)
    return least, spread


def score(
    nodes: I32Array, measures: F32Array, least: F32Array, spread: F32Array, weights: F32Array
) -> tuple[F32Array, F32Array, I64Array]:
    """What each part adds, float32 (m, PARTS), the sums, float32 (m,), and their order.

    nodes     int32 (m,)         measures  float32 (m, PARTS)
    least, spread, weights       float32 (PARTS,)
    order     int64 (m,)         places by sum descending, then node ascending

    part = weight * clip((measure - least) / spread, 0, 1), added up in the order of the columns.
    ValueError where shapes differ.
    """
    if measures.shape != (nodes.size, PARTS):
        raise ValueError(f"measures: expected shape {nodes.size, PARTS}, got {measures.shape}")
    if not least.size == spread.size == weights.size == PARTS:
        raise ValueError(f"least, spread, weights: expected {PARTS} elements each")
    parts, sums = np.empty_like(measures), np.empty(nodes.size, np.float32)
    keys = np.empty(nodes.size, np.int64)
    _score(nodes, measures, least, spread, weights, parts, sums, keys)
    return parts, sums, np.argsort(keys)


def places(known: I32Array, wanted: I32Array) -> I32Array:
    """Where each of the `wanted` stands in `known`, int32; -1 for one that does not.

    Both int32, in any order, each element once.

    >>> places(np.int32([7, 3, 9]), np.int32([9, 4, 7])).tolist()
    [2, -1, 0]
    """
    out = np.empty(wanted.size, np.int32)
    _places(known, wanted, out)
    return out


def join(known: I32Array, met: I32Array, support: F32Array) -> tuple[I32Array, F32Array]:
    """The `known` nodes with those of the `met` that are new behind them, and the support of each.

    known, met  int32       each node once in either
    support     float32     of each that was met; the others have 0

    >>> join(np.int32([7, 3]), np.int32([5, 3]), np.float32([0.5, 2]))
    (array([7, 3, 5], dtype=int32), array([0. , 2. , 0.5], dtype=float32))
    """
    if met.size != support.size:
        raise ValueError(f"support: expected {met.size} elements, got {support.size}")
    most = known.size + met.size
    nodes, values = np.empty(most, np.int32), np.empty(most, np.float32)
    count = _join(known, met, support, nodes, values)
    return nodes[:count], values[:count]
