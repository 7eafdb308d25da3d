"""The batched, typed, intent-weighted beam of MAGMA (arXiv 2601.03236, section 3).

From the anchors outwards, step by step: every edge i -> j of the frontier scores

    S(j|i)   = weight * gain[relation] * exp(l2 * (sim(j, q) - 1)) * degree(i)^-hub * tag_gain
    score(j) = max over the frontier's i of gamma * score(i) + S(j|i)

where gain[relation] = exp(l1 * (phi(relation) - max phi)). Both exponents are shifted by their
maximum against the paper's exp(l1 phi + l2 sim), which keeps the order within a step and every
factor within (0, 1]. The best `width` new nodes of a step are kept and are the next frontier.

An anchor starts at its fused score, and so would never show that the walk confirms it: what the
edges from other nodes would give it is its `support`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .intrinsics import dot_blocks, float_bits, half_to_float, prefetch
from .types import (
    F32,
    F32_1,
    F32_2,
    F64,
    I32_1,
    I32_2,
    I64,
    I64_1,
    RF32_1,
    RF32_2,
    RI32_1,
    RI64_1,
    RI64_2,
    RU8_1,
    RU16_2,
    U8_1,
    U8_2,
    VOID,
    F32Array,
    Float,
    I32Array,
    I64Array,
    Int,
    U8Array,
    U16Array,
    kernel,
    named_tuple,
    tuple_of,
)

EPISODE = 0
TIME_NONE = -(2**63)
ANCHOR = 255
"""The relation of an anchor, which no edge led to."""

OVER_LIMIT = 1
"""Bit of `BeamResult.truncated`: a node of more edges than the limit was not expanded."""

OVER_BUDGET = 2
"""Bit of `BeamResult.truncated`: the budget was reached while candidates were left."""

NO_LIMIT = 2**31
RELATIONS = 16
AHEAD = 4
"""Vectors fetched before they are read."""

EDGES_AHEAD = 8
"""Edges whose node columns are fetched before they are read."""

LOW_BITS = 0xFFFFFFFF
ROOM = 1024
"""Nodes and edges that a query may meet before its pool grows."""

EMPTY = -1
NO_STEP = -1
KEPT_BEFORE = -2
KEPT_ANCHOR = -3
PASSED = -1


class Adjacency(NamedTuple):
    """Typed edges by source row: an immutable base, and chains of newer edges.

    A reader sees the nodes < n and the delta edges < m_delta; the chains may already hold more.

    indptr   int64 (n_base+1,)        row starts of the base; nodes >= n_base have delta edges only
    dst, relation, weight, payload    int32, uint8 < 16, float32, int32: the base's edges; the
                                      payload is the row of a triple, or -1
    head     int32 (>= n,)            newest delta edge of a node, or -1
    next     int32 (>= m_delta,)      the next older edge, or -1; long enough for every edge that
                                      `head` leads to, unseen ones too
    d_dst, d_relation, d_weight, d_payload   the delta's edges, dtypes as in the base
    """

    indptr: I64Array
    dst: I32Array
    relation: U8Array
    weight: F32Array
    payload: I32Array
    head: I32Array
    next: I32Array
    d_dst: I32Array
    d_relation: U8Array
    d_weight: F32Array
    d_payload: I32Array
    m_delta: int
    n: int


class Nodes(NamedTuple):
    """Columns of the nodes, each (>= n,).

    vectors     uint16 (n_vec, d)   float16 bits, normalised
    vector_row  int32   row of `vectors`; where there is none (-1, or not stored yet) sim is 0
    status      uint8   0 = live; others are never visited
    kind        uint8   0 = episode: the only kind that a time window applies to
    time        int64   us UTC, or TIME_NONE
    """

    vectors: U16Array
    vector_row: I32Array
    status: U8Array
    kind: U8Array
    time: I64Array


class Queries(NamedTuple):
    """A batch of B queries.

    vectors        float32 (B, d)
    anchor_ptr     int64 (B+1,)    starts of each query's anchors
    anchors        int32           node rows; of a row given twice the better score counts
    anchor_scores  float32         in (0, 1]
    gain           float32 (B, 16) factor of each relation, 0 switches it off
    tag_gain       float32 (B, t)  factor of an edge by its payload; none where payload >= t
    window         int64 (B, 2)    [start, end) in us; start >= end is no window. Within one,
                                   episodes outside it or without a time are never visited
    """

    vectors: F32Array
    anchor_ptr: I64Array
    anchors: I32Array
    anchor_scores: F32Array
    gain: F32Array
    tag_gain: F32Array
    window: I64Array


class BeamResult(NamedTuple):
    """What was kept, by query; what stands beyond `count` is undefined.

    count      int32 (B,)
    rows       int32 (B, budget)    in the order kept: by step, then score descending, row ascending
    scores     float32
    support    float32  best score by which an edge led here: `scores`, but for anchors the best
                        over the edges of all expanded nodes, other than the anchor and those that
                        came from it (a longer way round counts); 0 where there are none
    parent     int32    place, within the query's result, of the node that gave the support; -1 for
                        anchors without. A path ends where `depth` is 0: anchors may support each
                        other
    relation   uint8    of the edge behind the support, 255 where there is none
    payload    int32    of that edge, or -1
    depth      uint8    0 for anchors
    truncated  uint8 (B,)   bits OVER_LIMIT and OVER_BUDGET; 0 where nothing was passed over
    """

    count: I32Array  # type: ignore[assignment]  # hides tuple.count on purpose
    rows: I32Array
    scores: F32Array
    parent: I32Array
    relation: U8Array
    payload: I32Array
    depth: U8Array
    support: F32Array
    truncated: U8Array


# Bundles that the kernels hand on. The entry takes arrays flat, because numba does not convert a
# tuple of writable arrays to a tuple of read-only ones.
class _Query(NamedTuple):
    vector: F32Array
    gain: F32Array
    tag_gain: F32Array
    start: Int
    stop: Int


class _Model(NamedTuple):
    similarity: Float
    gamma: Float
    hub: Float
    limit: Int


class _Edges(NamedTuple):
    """The edges of one step; `slot` is the pool's slot of `dst`.

    It is PASSED where the node is passed over, and PASSED - 1 - place for the anchor kept there.
    """

    dst: I32Array
    slot: I32Array
    gain: F32Array
    parent: I32Array
    relation: U8Array
    payload: I32Array


class _Pool(NamedTuple):
    """The nodes one query has met: an open-addressing table of row << 32 | slot, columns by slot.

    `step` is the last step that a node was a candidate in, `score` and `best` (an edge) belong to
    it. `factor` is the node's likeness to the query, computed once. `best` of a kept anchor is its
    place in the result.
    """

    table: I64Array
    cell: I32Array
    row: I32Array
    factor: F32Array
    score: F32Array
    best: I32Array
    step: I32Array
    candidates: I32Array


class _Kept(NamedTuple):
    rows: I32Array
    scores: F32Array
    parent: I32Array
    relation: U8Array
    payload: I32Array
    depth: U8Array
    support: F32Array


_EDGE_ARRAYS = (RI32_1, RU8_1, RF32_1, RI32_1)
ADJACENCY = named_tuple(Adjacency, RI64_1, *_EDGE_ARRAYS, RI32_1, RI32_1, *_EDGE_ARRAYS, I64, I64)
NODES = named_tuple(Nodes, RU16_2, RI32_1, RU8_1, RU8_1, RI64_1)
QUERY = named_tuple(_Query, RF32_1, RF32_1, RF32_1, I64, I64)
MODEL = named_tuple(_Model, F32, F32, F32, I64)
EDGES = named_tuple(_Edges, I32_1, I32_1, F32_1, I32_1, U8_1, I32_1)
POOL = named_tuple(_Pool, I64_1, I32_1, I32_1, F32_1, F32_1, I32_1, I32_1, I32_1)
KEPT = named_tuple(_Kept, I32_1, F32_1, I32_1, U8_1, I32_1, U8_1, F32_1)


@kernel(F32(RU16_2, I64, RF32_1))
def _dot(vectors: U16Array, row: Int, query: F32Array) -> Float:
    """The bits of `similarity.dots`."""
    total = dot_blocks(vectors, row, query)
    for i in range(query.size // 32 * 32, query.size):
        total += half_to_float(vectors[row, i]) * query[i]
    return total


@kernel(VOID(RU16_2, I64))
def _fetch(vectors: U16Array, row: Int) -> None:
    width = vectors.shape[1]
    for i in range(0, width, 32):
        prefetch(vectors, row * width + i)


@kernel(I64(F32, I64))
def _pack(score: Float, row: Int) -> Int:
    """An integer that compares like (score, -row); -0.0 equals 0.0."""
    bits = np.int64(float_bits(score + np.float32(0)))
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)
    return (bits << np.int64(32)) | (np.int64(LOW_BITS) - np.int64(row))


@kernel(I64(I64_1, I64))
def _find(table: I64Array, row: Int) -> Int:
    """The cell that holds `row`, or is free for it."""
    mask = table.size - 1
    cell = ((row * np.int64(0x9E3779B1)) >> np.int64(12)) & mask
    while table[cell] != EMPTY and (table[cell] >> np.int64(32)) != row:
        cell = (cell + 1) & mask
    return cell


@kernel(EDGES(I64))
def _new_edges(size: Int) -> _Edges:
    dst, slot = np.empty(size, np.int32), np.empty(size, np.int32)
    gain, parent = np.empty(size, np.float32), np.empty(size, np.int32)
    return _Edges(dst, slot, gain, parent, np.empty(size, np.uint8), np.empty(size, np.int32))


@kernel(EDGES(EDGES, I64, I64))
def _room_for_edges(edges: _Edges, used: Int, more: Int) -> _Edges:
    size = edges.dst.size
    if used + more <= size:
        return edges
    wider = _new_edges(max(2 * size, used + more))
    wider.dst[:used] = edges.dst[:used]
    wider.gain[:used] = edges.gain[:used]
    wider.parent[:used] = edges.parent[:used]
    wider.relation[:used] = edges.relation[:used]
    wider.payload[:used] = edges.payload[:used]
    return wider


@kernel(POOL(I64))
def _new_pool(size: Int) -> _Pool:
    cells = 2
    while cells < 2 * size:
        cells *= 2
    cell, row, best = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    factor, score = np.empty(size, np.float32), np.empty(size, np.float32)
    step, candidates = np.empty(size, np.int32), np.empty(size, np.int32)
    table = np.full(cells, EMPTY, np.int64)
    return _Pool(table, cell, row, factor, score, best, step, candidates)


@kernel(POOL(POOL, I64, I64))
def _room_for_nodes(pool: _Pool, used: Int, more: Int) -> _Pool:
    size = pool.row.size
    if used + more <= size:
        return pool
    wider = _new_pool(max(2 * size, used + more))
    wider.row[:used] = pool.row[:used]
    wider.factor[:used] = pool.factor[:used]
    wider.step[:used] = pool.step[:used]
    wider.best[:used] = pool.best[:used]
    for slot in range(used):
        cell = _find(wider.table, np.int64(pool.row[slot]))
        wider.table[cell] = (np.int64(pool.row[slot]) << np.int64(32)) | np.int64(slot)
        wider.cell[slot] = cell
    return wider


@kernel(VOID(POOL, I64))
def _clear(pool: _Pool, used: Int) -> None:
    for slot in range(used):
        pool.table[pool.cell[slot]] = EMPTY


@kernel(I64(ADJACENCY, I64, I64))
def _degree(graph: Adjacency, node: Int, limit: Int) -> Int:
    """Edges of a node, counted no further than just over the limit."""
    degree: Int = 0
    if node + 1 < graph.indptr.size:
        degree = graph.indptr[node + 1] - graph.indptr[node]
    e = np.int64(graph.head[node])
    while e >= 0 and degree <= limit:
        degree += e < graph.m_delta
        e = np.int64(graph.next[e])
    return degree


@kernel(I64(ADJACENCY, QUERY, I64, EDGES, I64))
def _copy_edges(graph: Adjacency, query: _Query, node: Int, edges: _Edges, m: Int) -> Int:
    """Append the node's edges of the relations that are switched on; `gain` is the bare weight."""
    if node + 1 < graph.indptr.size:
        for e in range(graph.indptr[node], graph.indptr[node + 1]):
            if query.gain[graph.relation[e]] != 0 and graph.dst[e] < graph.n:
                edges.dst[m], edges.gain[m] = graph.dst[e], graph.weight[e]
                edges.relation[m], edges.payload[m] = graph.relation[e], graph.payload[e]
                m += 1
    link = np.int64(graph.head[node])
    while link >= 0:
        seen = link < graph.m_delta and graph.d_dst[link] < graph.n
        if seen and query.gain[graph.d_relation[link]] != 0:
            edges.dst[m], edges.gain[m] = graph.d_dst[link], graph.d_weight[link]
            edges.relation[m], edges.payload[m] = graph.d_relation[link], graph.d_payload[link]
            m += 1
        link = np.int64(graph.next[link])
    return m


@kernel(VOID(QUERY, F32, I64, EDGES, I64, I64))
def _weigh_edges(
    query: _Query, damping: Float, parent: Int, edges: _Edges, start: Int, stop: Int
) -> None:
    """Turn the bare weights of one parent's edges into all of S but the node's own factor."""
    for e in range(start, stop):
        edges.parent[e] = parent
        edges.gain[e] = edges.gain[e] * query.gain[edges.relation[e]] * damping
        if 0 <= edges.payload[e] < query.tag_gain.size:
            edges.gain[e] *= query.tag_gain[edges.payload[e]]


@kernel(VOID(ADJACENCY, KEPT, I64, I64))
def _fetch_frontier(graph: Adjacency, kept: _Kept, begin: Int, end: Int) -> None:
    for place in range(begin, end):
        prefetch(graph.indptr, np.int64(kept.rows[place]))
        prefetch(graph.head, np.int64(kept.rows[place]))
    for place in range(begin, end):
        node = kept.rows[place]
        if node + 1 < graph.indptr.size:
            start = graph.indptr[node]
            prefetch(graph.dst, start)
            prefetch(graph.relation, start)
            prefetch(graph.weight, start)
            prefetch(graph.payload, start)


@kernel(I64(NODES, QUERY, POOL, I64, EDGES, I64))
def _meet(nodes: Nodes, query: _Query, pool: _Pool, used: Int, edges: _Edges, m: Int) -> Int:
    """Find or make the slot of every edge's node; the number of slots used."""
    windowed = query.start < query.stop
    for e in range(m):
        if e + EDGES_AHEAD < m:
            ahead = np.int64(edges.dst[e + EDGES_AHEAD])
            prefetch(nodes.status, ahead)
            prefetch(nodes.vector_row, ahead)
        row = np.int64(edges.dst[e])
        cell = _find(pool.table, row)
        if pool.table[cell] != EMPTY:
            slot = pool.table[cell] & LOW_BITS
            edges.slot[e] = slot
            if pool.step[slot] == KEPT_BEFORE:
                edges.slot[e] = PASSED
            elif pool.step[slot] == KEPT_ANCHOR:
                edges.slot[e] = PASSED - 1 - pool.best[slot]
            continue
        edges.slot[e] = PASSED
        if nodes.status[row] != 0:
            continue
        if windowed and nodes.kind[row] == EPISODE:
            time = nodes.time[row]
            if time == TIME_NONE or not query.start <= time < query.stop:
                continue
        pool.table[cell] = (row << np.int64(32)) | np.int64(used)
        pool.cell[used], pool.row[used], pool.step[used] = cell, row, NO_STEP
        edges.slot[e] = used
        used += 1
    return used


@kernel(VOID(NODES, QUERY, MODEL, POOL, I64, I64))
def _compare(nodes: Nodes, query: _Query, model: _Model, pool: _Pool, begin: Int, end: Int) -> None:
    """Fill `factor` of the new slots: exp(l2 * (sim - 1))."""
    for slot in range(begin - AHEAD, end):
        if slot + AHEAD < end:
            ahead = np.int64(nodes.vector_row[pool.row[slot + AHEAD]])
            if 0 <= ahead < nodes.vectors.shape[0]:
                _fetch(nodes.vectors, ahead)
        if slot >= begin:
            vector = np.int64(nodes.vector_row[pool.row[slot]])
            sim = np.float32(0)
            if 0 <= vector < nodes.vectors.shape[0]:
                sim = _dot(nodes.vectors, vector, query.vector)
            # In float64, where the C library and Python agree to the last bit of a float32.
            exponent = np.float64(model.similarity) * (np.float64(sim) - 1.0)
            pool.factor[slot] = math.exp(exponent)


@kernel(I64(KEPT, EDGES, I64, I64))
def _precedes(kept: _Kept, edges: _Edges, e: Int, other: Int) -> Int:
    """Whether edge `e` wins a tie of scores: by its parent's row, relation, then payload."""
    if edges.parent[e] != edges.parent[other]:
        return kept.rows[edges.parent[e]] < kept.rows[edges.parent[other]]
    if edges.relation[e] != edges.relation[other]:
        return edges.relation[e] < edges.relation[other]
    return edges.payload[e] < edges.payload[other]


@kernel(I64(KEPT, EDGES, I64))
def _loses(kept: _Kept, edges: _Edges, e: Int) -> Int:
    """Whether edge `e` loses a tie with what supports its anchor so far."""
    place = PASSED - 1 - edges.slot[e]
    if kept.parent[place] < 0:
        return 0
    row, best = kept.rows[edges.parent[e]], kept.rows[kept.parent[place]]
    if row != best:
        return row > best
    if edges.relation[e] != kept.relation[place]:
        return edges.relation[e] > kept.relation[place]
    return edges.payload[e] >= kept.payload[place]


@kernel(VOID(MODEL, KEPT, POOL, EDGES, I64))
def _support(model: _Model, kept: _Kept, pool: _Pool, edges: _Edges, e: Int) -> None:
    """Give an anchor what edge `e` offers it, unless that only walks back to where it came from."""
    place = PASSED - 1 - edges.slot[e]
    parent = edges.parent[e]
    if parent == place or (kept.depth[parent] > 0 and kept.parent[parent] == place):
        return
    factor = pool.factor[pool.table[_find(pool.table, np.int64(edges.dst[e]))] & LOW_BITS]
    score = model.gamma * kept.scores[parent] + edges.gain[e] * factor
    if score < kept.support[place] or (score == kept.support[place] and _loses(kept, edges, e)):
        return
    kept.support[place], kept.parent[place] = score, parent
    kept.relation[place], kept.payload[place] = edges.relation[e], edges.payload[e]


@kernel(I64(MODEL, KEPT, POOL, EDGES, I64, I64))
def _fold(model: _Model, kept: _Kept, pool: _Pool, edges: _Edges, m: Int, step: Int) -> Int:
    """Give every node that an edge reaches its best score; the number of candidates."""
    count = 0
    for e in range(m):
        slot = edges.slot[e]
        if slot < PASSED:
            _support(model, kept, pool, edges, e)
        if slot < 0:
            continue
        score = edges.gain[e]
        if step > 0:
            score = model.gamma * kept.scores[edges.parent[e]] + score * pool.factor[slot]
        if pool.step[slot] != step:
            pool.step[slot] = step
            pool.candidates[count] = slot
            count += 1
        else:
            best = pool.score[slot]
            tied = score == best and _precedes(kept, edges, e, pool.best[slot])
            if not (score > best or tied):
                continue
        pool.score[slot], pool.best[slot] = score, e
    return count


@kernel(VOID(POOL, I64, I64_1))
def _select(pool: _Pool, count: Int, keys: I64Array) -> None:
    """Write the keys of the best candidates in order; `keys` is not longer than `count`."""
    size = 0
    for i in range(count if keys.size else 0):
        slot = pool.candidates[i]
        key = _pack(pool.score[slot], pool.row[slot])
        if size < keys.size:
            size += 1
        elif key <= keys[size - 1]:
            continue
        place = size - 1
        while place > 0 and keys[place - 1] < key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@kernel(VOID(POOL, EDGES, I64_1, I64, KEPT, I64))
def _keep(pool: _Pool, edges: _Edges, keys: I64Array, step: Int, kept: _Kept, place: Int) -> None:
    """Move the selected candidates to the result, from `place` on."""
    for i in range(keys.size):
        row = LOW_BITS - (keys[i] & LOW_BITS)
        slot = pool.table[_find(pool.table, row)] & LOW_BITS
        e = pool.best[slot]
        kept.rows[place + i], kept.scores[place + i] = row, pool.score[slot]
        kept.parent[place + i], kept.relation[place + i] = edges.parent[e], edges.relation[e]
        kept.payload[place + i], kept.depth[place + i] = edges.payload[e], step
        kept.support[place + i] = pool.score[slot] if step > 0 else np.float32(0)
        pool.step[slot] = KEPT_BEFORE
        if step == 0:
            pool.step[slot], pool.best[slot] = KEPT_ANCHOR, place + i


@kernel(I64(RI32_1, RF32_1, I64, I64, I64, EDGES))
def _list_anchors(
    anchors: I32Array, scores: F32Array, start: Int, stop: Int, n: Int, edges: _Edges
) -> Int:
    """The anchors as edges without a parent; how many."""
    m = 0
    for i in range(start, stop):
        if 0 <= anchors[i] < n:
            edges.dst[m], edges.gain[m], edges.parent[m] = anchors[i], scores[i], -1
            edges.relation[m], edges.payload[m] = ANCHOR, -1
            m += 1
    return m


@kernel(tuple_of(EDGES, I64, I64)(ADJACENCY, QUERY, MODEL, KEPT, I64, I64, EDGES))
def _list_frontier(
    graph: Adjacency,
    query: _Query,
    model: _Model,
    kept: _Kept,
    begin: Int,
    end: Int,
    edges: _Edges,
) -> tuple[_Edges, Int, Int]:
    """The edges of the kept nodes [begin, end), weighed, in arrays that had to grow or not.

    And how many nodes were not expanded, for having too many edges.
    """
    _fetch_frontier(graph, kept, begin, end)
    m, hubs = 0, 0
    for place in range(begin, end):
        node = np.int64(kept.rows[place])
        degree = _degree(graph, node, model.limit)
        hubs += degree > model.limit
        if degree == 0 or degree > model.limit:
            continue
        edges = _room_for_edges(edges, m, degree)
        damping = np.float32(np.float64(degree) ** -np.float64(model.hub))
        start, m = m, _copy_edges(graph, query, node, edges, m)
        _weigh_edges(query, damping, place, edges, start, m)
    return edges, m, hubs


@kernel(tuple_of(I64, I64)(POOL, EDGES, KEPT, I64, I64, I64, I64, I64_1))
def _keep_best(
    pool: _Pool,
    edges: _Edges,
    kept: _Kept,
    count: Int,
    width: Int,
    step: Int,
    end: Int,
    keys: I64Array,
) -> tuple[Int, Int]:
    """Keep the best `width` of the candidates behind `end`: the new end, and whether all fitted."""
    wanted = min(count, width)
    fitting = min(wanted, kept.rows.size - end)
    _select(pool, count, keys[:fitting])
    _keep(pool, edges, keys[:fitting], step, kept, end)
    return end + fitting, fitting == wanted


@kernel(
    tuple_of(POOL, EDGES, I64, I64, I64, I64)(
        ADJACENCY, NODES, QUERY, MODEL, KEPT, I64, I64, POOL, EDGES, I64, I64_1
    )
)
def _search(
    graph: Adjacency,
    nodes: Nodes,
    query: _Query,
    model: _Model,
    kept: _Kept,
    width: Int,
    depth: Int,
    pool: _Pool,
    edges: _Edges,
    anchors: Int,
    keys: I64Array,
) -> tuple[_Pool, _Edges, Int, Int, Int, Int]:
    """One query, its anchors listed in `edges`.

    Pool and edges, slots used, nodes kept, whether all fitted, and hubs that were passed over.
    """
    pool = _room_for_nodes(pool, 0, anchors)
    used = _meet(nodes, query, pool, 0, edges, anchors)
    count = _fold(model, kept, pool, edges, anchors, 0)
    end, fitted = _keep_best(pool, edges, kept, count, count, 0, 0, keys)
    _compare(nodes, query, model, pool, 0, used)
    begin, stop, hubs = 0, min(end, width), 0
    for step in range(1, depth + 1):
        if begin == stop or not fitted:
            break
        edges, m, passed = _list_frontier(graph, query, model, kept, begin, stop, edges)
        hubs += passed
        pool = _room_for_nodes(pool, used, m)
        met, used = used, _meet(nodes, query, pool, used, edges, m)
        _compare(nodes, query, model, pool, met, used)
        count = _fold(model, kept, pool, edges, m, step)
        begin = end
        end, fitted = _keep_best(pool, edges, kept, count, width, step, end, keys)
        stop = end
    return pool, edges, used, end, fitted, hubs


@kernel(
    VOID(
        *(RI64_1, *_EDGE_ARRAYS, RI32_1, RI32_1, *_EDGE_ARRAYS, I64, I64),
        *(RU16_2, RI32_1, RU8_1, RU8_1, RI64_1),
        *(RF32_2, RI64_1, RI32_1, RF32_1, RF32_2, RF32_2, RI64_2),
        *(I64, I64, F64, F64, F64, I64),
        *(I32_1, I32_2, F32_2, I32_2, U8_2, I32_2, U8_2, F32_2, U8_1),
    )
)
def _beam(
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
    n: Int,
    vectors: U16Array,
    vector_row: I32Array,
    status: U8Array,
    kind: U8Array,
    time: I64Array,
    query_vectors: F32Array,
    anchor_ptr: I64Array,
    anchors: I32Array,
    anchor_scores: F32Array,
    gain: F32Array,
    tag_gain: F32Array,
    window: I64Array,
    width: Int,
    depth: Int,
    similarity: Float,
    gamma: Float,
    hub: Float,
    limit: Int,
    count: I32Array,
    rows: I32Array,
    scores: F32Array,
    parent: I32Array,
    out_relation: U8Array,
    out_payload: I32Array,
    depths: U8Array,
    support: F32Array,
    truncated: U8Array,
) -> None:
    graph = Adjacency(
        indptr,
        dst,
        relation,
        weight,
        payload,
        head,
        next,
        d_dst,
        d_relation,
        d_weight,
        d_payload,
        m_delta,
        n,
    )
    nodes = Nodes(vectors, vector_row, status, kind, time)
    model = _Model(np.float32(similarity), np.float32(gamma), np.float32(hub), np.int64(limit))
    edges, pool, keys = _new_edges(ROOM), _new_pool(ROOM), np.empty(rows.shape[1], np.int64)
    for b in range(count.size):
        query = _Query(query_vectors[b], gain[b], tag_gain[b], window[b, 0], window[b, 1])
        kept = _Kept(
            rows[b],
            scores[b],
            parent[b],
            out_relation[b],
            out_payload[b],
            depths[b],
            support[b],
        )
        first, last = anchor_ptr[b], anchor_ptr[b + 1]
        edges = _room_for_edges(edges, 0, last - first)
        m = _list_anchors(anchors, anchor_scores, first, last, n, edges)
        pool, edges, used, count[b], fitted, hubs = _search(
            graph, nodes, query, model, kept, width, depth, pool, edges, m, keys
        )
        truncated[b] = (0 if fitted else OVER_BUDGET) + (OVER_LIMIT if hubs else 0)
        _clear(pool, used)


def beam(
    adjacency: Adjacency,
    nodes: Nodes,
    queries: Queries,
    *,
    width: int = 40,
    depth: int = 5,
    budget: int = 200,
    similarity: float = 0.5,
    gamma: float = 0.9,
    hub: float = 0.0,
    limit: int = NO_LIMIT,
) -> BeamResult:
    """What a beam from each query's anchors keeps, with the path that led there.

    width       nodes kept per step, at least 1; also how many anchors are expanded
    depth       steps from the anchors, 0 to 254
    budget      nodes kept in all, anchors included, at least 1
    similarity  the l2 of the score
    gamma       decay of a parent's score
    hub         damping of an expanded node's edges by degree^-hub, degree = all edges it has
    limit       a node of more edges is kept, but not expanded; `truncated` says so

    Anchors are kept first, without repeats, at most `budget`, whatever `width` says. A node is kept
    once; one that was passed over may come back in a later step. Ties: of nodes, the lower row; of
    edges to one node, the lower parent row, then relation, then payload. Rows that are not live,
    out of range or outside the window are passed over, anchors too.

    A query's result depends on that query alone: not on the batch, the thread, or whether an edge
    stands in the base or in the delta. The arrays are read; their dtypes are checked by the
    compiled kernel (TypeError), their lengths here (ValueError). Rows stored in the arrays
    themselves (`dst`, `relation`, `head`, ...) are trusted: who writes them keeps them in range.
    """
    _check(adjacency, nodes, queries)
    if width < 1 or budget < 1 or not 0 <= depth < ANCHOR:
        raise ValueError(
            "expected width >= 1, budget >= 1 and 0 <= depth <= 254, "
            f"got width {width}, budget {budget}, depth {depth}"
        )
    b = len(queries.vectors)
    result = BeamResult(
        count=np.empty(b, np.int32),
        rows=np.empty((b, budget), np.int32),
        scores=np.empty((b, budget), np.float32),
        parent=np.empty((b, budget), np.int32),
        relation=np.empty((b, budget), np.uint8),
        payload=np.empty((b, budget), np.int32),
        depth=np.empty((b, budget), np.uint8),
        support=np.empty((b, budget), np.float32),
        truncated=np.empty(b, np.uint8),
    )
    weights = (width, depth, similarity, gamma, hub, limit)
    arguments: tuple[Any, ...] = (*adjacency, *nodes, *queries, *weights, *result)
    _beam(*arguments)
    return result


def _check_edges(adjacency: Adjacency) -> None:
    base = min(column.size for column in adjacency[1:5])
    delta = min(column.size for column in adjacency[6:11])
    if base < adjacency.indptr[-1] or delta < adjacency.m_delta:
        raise ValueError(
            f"adjacency: expected {adjacency.indptr[-1]} edges in the base, got {base}, "
            f"and {adjacency.m_delta} in the delta, got {delta}"
        )


def _check(adjacency: Adjacency, nodes: Nodes, queries: Queries) -> None:
    n, b = adjacency.n, len(queries.vectors)
    shortest = min(adjacency.head.size, *(column.size for column in nodes[1:]))
    if shortest < n:
        raise ValueError(f"adjacency, nodes: expected at least {n} rows, got {shortest}")
    _check_edges(adjacency)
    if queries.vectors.shape[1:] != nodes.vectors.shape[1:]:
        raise ValueError(
            f"queries.vectors: expected rows of {nodes.vectors.shape[1]} elements, "
            f"got shape {queries.vectors.shape}"
        )
    if queries.gain.shape != (b, RELATIONS) or queries.window.shape != (b, 2):
        raise ValueError(
            f"queries: expected gain ({b}, {RELATIONS}) and window ({b}, 2), "
            f"got {queries.gain.shape} and {queries.window.shape}"
        )
    if len(queries.tag_gain) != b or queries.anchor_ptr.size != b + 1:
        raise ValueError(
            f"queries: expected tag_gain of {b} rows and anchor_ptr of {b + 1}, "
            f"got {len(queries.tag_gain)} and {queries.anchor_ptr.size}"
        )
    starts, anchors = queries.anchor_ptr, min(queries.anchors.size, queries.anchor_scores.size)
    if starts[0] < 0 or starts[-1] > anchors or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"queries.anchor_ptr: expected starts that rise up to at most {anchors}")
