"""The batched, typed, intent-weighted beam of MAGMA (arXiv 2601.03236, section 3).

From the anchors outwards, step by step: every edge i -> j of the frontier scores

    S(j|i)   = weight * gain[relation] * exp(l2 * (sim(j, q) - 1)) * degree(i)^-hub * tag_gain
    score(j) = max over the frontier's i of gamma * score(i) + S(j|i)

where gain[relation] = exp(l1 * (phi(relation) - max phi)). Both exponents are shifted by their
maximum against the paper's exp(l1 phi + l2 sim), which keeps the order within a step and every
factor within (0, 1]. The best `width` new nodes of a step are kept and are the next frontier.

An anchor starts at its fused score, and so would never show that the walk confirms it: what the
edges from other nodes would give it is its `support`.

A step is five passes over short arrays: `_list` the frontier's edges, `_meet` the nodes that they
lead to, `_compare` the new ones with the query, `_fold` the edges into scores, `_keep_best`. Cache
misses and mispredicted branches are what they cost: memory is asked for before it is read, and what
is as likely as not (is this node new? does this edge count?) is selected, not branched on.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .beam_types import (
    ANCHOR,
    EPISODE,
    NO_LIMIT,
    OVER_BUDGET,
    OVER_LIMIT,
    RELATION,
    RELATIONS,
    TIME_NONE,
    WEIGHTS,
    Adjacency,
    BeamResult,
    Nodes,
    Queries,
    check,
    new_result,
    pack,
    unpack,
)
from .beam_work import (
    ADJACENCY,
    ADJACENCY_COLUMNS,
    EDGE,
    MET,
    MODEL,
    NODES,
    NODES_COLUMNS,
    PLACE,
    QUERIES,
    QUERIES_COLUMNS,
    QUERY,
    RESULT,
    SOURCE,
    WORK,
    Model,
    Query,
    Source,
    Work,
)
from .intrinsics import dot_blocks, float_bits, half_to_float, prefetch, prefetch_far
from .types import (
    F32,
    F32_1,
    F64,
    I64,
    I64_1,
    RF32_1,
    RI32_1,
    RU16_2,
    VOID,
    F32Array,
    Float,
    Function,
    I32Array,
    I64Array,
    Int,
    U8Array,
    U16Array,
    deferred,
    kernel,
    tuple_of,
)

__all__ = [
    "ANCHOR",
    "EPISODE",
    "NO_LIMIT",
    "OVER_BUDGET",
    "OVER_LIMIT",
    "RELATION",
    "RELATIONS",
    "TIME_NONE",
    "WEIGHTS",
    "Adjacency",
    "BeamResult",
    "Nodes",
    "Queries",
    "beam",
    "pack",
    "unpack",
]

ROOM = 2048
"""Nodes that a query may meet, with the edges of a step, before it begins anew with more room."""

AHEAD, FAR = 4, 32
"""Vectors fetched before they are read: 4 into the first level of the cache, where no more fit, 32
into the second, which has room for as many requests as memory takes to answer the first."""

EDGES_AHEAD = 8
"""Edges whose nodes' columns and cells are fetched before they are read."""

DEGREES = 256
"""Degrees whose damping is remembered."""

LOW_BITS = 0xFFFFFFFF
EMPTY = -1
KEPT = 2**30
"""Bit of a cell of the table: its node was kept after step 0, and is met no more."""

NO_STEP = -1
NO_EDGE = ANCHOR << 32
"""The `order` of no edge, see `EDGE`."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""ln 2 in two parts, of which multiples of the first are exact (Cody and Waite)."""

TO_INTEGER = 1.5 * 2.0**52
"""Added and taken away again, it rounds a float64 to an integer."""

TAYLOR = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
LARGEST = 150.0
"""Its exponential is infinite as a float32, and that of its negative 0."""

ONE = 220
POWERS = 2.0 ** np.arange(-ONE, ONE + 1)
"""Powers of two; number `ONE` is 1."""


def _inner(signature: Any, **options: Any) -> Callable[[Function], Function]:
    """`deferred`, for a kernel that allocates nothing and so need not count references.

    Counting takes two atomic instructions for each array of each call. Around the short kernels
    that the passes call for every edge, that would be three quarters of what the beam costs.
    """

    def decorate(function: Function) -> Function:
        dispatcher: Any = deferred(signature)(function)
        if dispatcher is not function:  # else NUMBA_DISABLE_JIT
            dispatcher.targetoptions.update(options, _nrt=False)
        declared: Function = dispatcher
        return declared

    return decorate


@_inner(F32(RU16_2, I64, RF32_1), inline="always")  # called, 5 to 9 % of the beam
def _dot(vectors: U16Array, row: Int, query: F32Array) -> Float:
    """The bits of `similarity.dots`."""
    total = dot_blocks(vectors, row, query)
    for i in range(query.size // 32 * 32, query.size):
        total += half_to_float(vectors[row, i]) * query[i]
    return total


@_inner(VOID(RU16_2, I64))
def _fetch(vectors: U16Array, row: Int) -> None:
    width = vectors.shape[1]
    for i in range(0, width if row >= 0 else 0, 32):
        prefetch(vectors, row * width + i)


@_inner(VOID(RU16_2, I64))
def _fetch_far(vectors: U16Array, row: Int) -> None:
    width = vectors.shape[1]
    for i in range(0, width if row >= 0 else 0, 32):
        prefetch_far(vectors, row * width + i)


@_inner(I64(F32, I64))
def _key(score: Float, row: Int) -> Int:
    """An integer that compares like (score, -row); -0.0 equals 0.0."""
    bits = np.int64(float_bits(score + np.float32(0)))
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)
    return (bits << np.int64(32)) | (np.int64(LOW_BITS) - np.int64(row))


@_inner(I64(I64, I64))
def _home(row: Int, cells: Int) -> Int:
    """The cell where the search for a row begins."""
    return ((row * np.int64(0x9E3779B1)) >> np.int64(12)) & (cells - 1)


@_inner(I64(I64_1, I64))
def _find(table: I64Array, row: Int) -> Int:
    """The cell that holds `row`, or is free for it."""
    cell = _home(row, table.size)
    held = table[cell] >> np.int64(32)
    while (held != row) & (held != EMPTY):
        cell = (cell + 1) & (table.size - 1)
        held = table[cell] >> np.int64(32)
    return cell


@_inner(I64(NODES, QUERY, I64))
def _is_visible(nodes: Nodes, query: Query, row: Int) -> Int:
    if nodes.status[row] != 0:
        return False
    if query.start >= query.stop or nodes.kind[row] != EPISODE:
        return True
    return nodes.time[row] != TIME_NONE and query.start <= nodes.time[row] < query.stop


@_inner(F32(F32_1, I64, F64))
def _damping(known: F32Array, degree: Int, hub: Float) -> Float:
    if hub == 0 or degree == 0:
        return np.float32(1)
    if degree >= known.size:
        return np.float32(np.float64(degree) ** -hub)
    if known[degree] < 0:
        known[degree] = np.float64(degree) ** -hub
    return known[degree]


@_inner(tuple_of(I64, I64)(ADJACENCY, MODEL, WORK, I64, I64))
def _measure(graph: Adjacency, model: Model, work: Work, begin: Int, end: Int) -> tuple[Int, Int]:
    """Note the degrees of the kept nodes [begin, end): the sum, and how many are over the limit."""
    kept, total, hubs = work.kept, 0, 0
    for place in range(begin, end):
        degree = kept[place]["own"]
        e = np.int64(graph.head[kept[place]["row"]]) if graph.m_delta else np.int64(-1)
        while e >= 0 and degree <= model.limit:
            degree += e < graph.m_delta
            e = np.int64(graph.next[e])
        if degree > model.limit:
            degree = 0
            hubs += 1
        total += degree
        kept[place]["degree"] = degree
        kept[place]["damping"] = _damping(work.damping, degree, model.hub)
    return total, hubs


@_inner(SOURCE(WORK, I64))
def _source(work: Work, place: Int) -> Source:
    kept = work.kept
    origin = np.int64(-1)
    if kept[place]["depth"] > 0:
        origin = np.int64(kept[work.met[kept[place]["slot"]]["parent"]]["row"])
    return Source(place, np.int64(kept[place]["row"]), origin, kept[place]["damping"])


@_inner(I64(QUERY, WORK, I64, SOURCE, I64, I64, I64, I64))
def _add_edge(
    query: Query, work: Work, m: Int, source: Source, n: Int, to: Int, link: Int, tag: Int
) -> Int:
    """Write edge number `m`: `m`, or one more where the edge counts.

    One that leads back to where the walk came from does not: it confirms nothing.
    """
    relation = link & RELATION
    gain = query.gain[relation]
    counts = (gain != 0) & (to < n) & (to != source.row) & (to != source.origin)
    gain = np.float32((link >> np.int64(4)) + 1) * np.float32(1 / WEIGHTS) * gain * source.damping
    if 0 <= tag < query.tag_gain.size:
        gain *= query.tag_gain[tag]
    edges = work.edges
    edges[m]["order"] = (relation << np.int64(32)) | (tag + 1)
    edges[m]["to"] = to
    edges[m]["parent"] = source.place
    edges[m]["gain"] = gain
    return m + counts


@_inner(I64(ADJACENCY, QUERY, WORK, I64, I64))
def _list(graph: Adjacency, query: Query, work: Work, begin: Int, end: Int) -> Int:
    """List the edges that the kept nodes [begin, end) have; how many count."""
    kept, m, n = work.kept, 0, graph.n
    for place in range(begin, end):
        if kept[place]["degree"] == 0:
            continue
        source = _source(work, place)
        for e in range(kept[place]["first"], kept[place]["first"] + kept[place]["own"]):
            tag = np.int64(graph.tag[e]) if graph.tag.size else np.int64(-1)
            to, link = np.int64(graph.dst[e]), np.int64(graph.link[e])
            m = _add_edge(query, work, m, source, n, to, link, tag)
        newer = np.int64(graph.head[source.row]) if graph.m_delta else np.int64(-1)
        while newer >= 0:
            if newer < graph.m_delta:
                to, link = np.int64(graph.d_dst[newer]), np.int64(graph.d_link[newer])
                m = _add_edge(query, work, m, source, n, to, link, np.int64(graph.d_tag[newer]))
            newer = np.int64(graph.next[newer])
    return m


@_inner(I64(NODES, WORK, I64, I64))
def _slot_of(nodes: Nodes, work: Work, row: Int, new: Int) -> Int:
    """What the cell of a row says of it, but the row: a slot, which is `new` where it had none."""
    cell = _find(work.table, row)
    held = work.table[cell]
    held = (row << np.int64(32)) | new if held == EMPTY else held
    work.table[cell] = held
    vector = np.int64(nodes.vector_row[row])
    work.met[new]["row"] = row
    work.met[new]["cell"] = cell
    work.met[new]["step"] = NO_STEP
    work.met[new]["vector"] = vector if vector < nodes.vectors.shape[0] else -1
    return held & LOW_BITS


@_inner(tuple_of(I64, I64)(NODES, QUERY, WORK, I64, I64))
def _meet(nodes: Nodes, query: Query, work: Work, used: Int, listed: Int) -> tuple[Int, Int]:
    """Find or make the slots of the nodes that edges lead to, and drop the edges to kept ones.

    The number of slots used, and of edges left.
    """
    edges, m = work.edges, 0
    for e in range(listed):
        if e + EDGES_AHEAD < listed:
            ahead = np.int64(edges[e + EDGES_AHEAD]["to"])
            prefetch(nodes.status, ahead)
            prefetch(nodes.vector_row, ahead)
            prefetch(work.table, _home(ahead, work.table.size))
        row = np.int64(edges[e]["to"])
        if not _is_visible(nodes, query, row):
            continue
        slot = _slot_of(nodes, work, row, used)
        used += slot == used
        edges[m]["order"] = edges[e]["order"]
        edges[m]["to"] = slot
        edges[m]["parent"] = edges[e]["parent"]
        edges[m]["gain"] = edges[e]["gain"]
        m += slot < KEPT
    return used, m


@_inner(I64(I64, NODES, QUERY, RI32_1, RF32_1, WORK))
def _meet_anchors(
    n: Int, nodes: Nodes, query: Query, anchors: I32Array, scores: F32Array, work: Work
) -> Int:
    """Make slots of the anchors, which are all candidates; how many."""
    met, used = work.met, 0
    for i in range(anchors.size):
        row = np.int64(anchors[i])
        if not 0 <= row < n or not _is_visible(nodes, query, row):
            continue
        slot = _slot_of(nodes, work, row, used)
        if slot == used or scores[i] > met[slot]["score"]:
            met[slot]["score"] = scores[i]
        work.candidates[used] = used
        used += slot == used
    return used


@_inner(VOID(F32_1, F64))
def _to_likeness(sims: F32Array, l2: Float) -> None:
    """Turn similarities into exp(l2 * (sim - 1)): as good as exact in float64, then rounded.

    Sums and products in a fixed order: eight at once, and the same bits on any machine, which the
    C library's `exp` does not promise.
    """
    for i in range(sims.size):
        exponent = min(max(l2 * (np.float64(sims[i]) - 1.0), -LARGEST), LARGEST)
        power = (exponent * LOG2_E + TO_INTEGER) - TO_INTEGER
        rest = (exponent - power * LN2_HIGH) - power * LN2_LOW
        total = 0.0
        for coefficient in TAYLOR:
            total = total * rest + coefficient
        sims[i] = total * POWERS[np.int64(power) + ONE]


@_inner(VOID(ADJACENCY, NODES, QUERY, F64, WORK, I64, I64))
def _compare(
    graph: Adjacency,
    nodes: Nodes,
    query: Query,
    l2: Float,
    work: Work,
    begin: Int,
    end: Int,
) -> None:
    """Fill `likeness` of the slots [begin, end), which are new."""
    met, vectors = work.met, nodes.vectors
    for slot in range(begin - FAR, end):
        if slot + FAR < end:
            _fetch_far(vectors, np.int64(met[slot + FAR]["vector"]))
        if begin <= slot + AHEAD < end:
            _fetch(vectors, np.int64(met[slot + AHEAD]["vector"]))
            prefetch(graph.indptr, np.int64(met[slot + AHEAD]["row"]))
        if slot >= begin:
            vector = np.int64(met[slot]["vector"])
            work.likeness[slot] = np.float32(0)
            if vector >= 0:
                work.likeness[slot] = _dot(vectors, vector, query.vector)
    _to_likeness(work.likeness[begin:end], l2)


@_inner(I64(WORK, I64, I64, I64))
def _wins_tie(work: Work, slot: Int, parent: Int, order: Int) -> Int:
    """Whether an edge is preferred to the one that gave `slot` the same score."""
    other = np.int64(work.met[slot]["parent"])
    if other < 0:
        return True
    row, than = work.kept[parent]["row"], work.kept[other]["row"]
    return row < than or (row == than and order < work.met[slot]["order"])


@_inner(I64(F32, WORK, I64, I64, I64))
def _fold(gamma: Float, work: Work, m: Int, anchors: Int, step: Int) -> Int:
    """Give every node that an edge reaches its best score; the number of candidates.

    The slots < `anchors` are no candidates: the edges support them, over all steps.
    """
    met, edges, count = work.met, work.edges, 0
    for e in range(m):
        slot, parent, order = edges[e]["to"], edges[e]["parent"], edges[e]["order"]
        score = gamma * work.kept[parent]["score"] + edges[e]["gain"] * work.likeness[slot]
        fresh = (slot >= anchors) & (met[slot]["step"] != step)
        work.candidates[count] = slot
        count += fresh
        wins = fresh | (score > met[slot]["score"])
        if score == met[slot]["score"] and not fresh:
            wins = _wins_tie(work, slot, parent, order) != 0
        met[slot]["step"] = step
        met[slot]["score"] = score if wins else met[slot]["score"]
        met[slot]["parent"] = parent if wins else met[slot]["parent"]
        met[slot]["order"] = order if wins else met[slot]["order"]
    return count


@_inner(VOID(WORK, I64, I64))
def _select(work: Work, count: Int, most: Int) -> None:
    """Write the keys of the best `most` candidates in order; there are as many, or more."""
    met, keys, best = work.met, work.keys, work.best
    for i in range(count):
        slot = work.candidates[i]
        keys[i] = _key(met[slot]["score"], met[slot]["row"])
    size = 0
    for i in range(count if most else 0):
        key = keys[i]
        if size < most:
            size += 1
        elif key <= best[size - 1]:
            continue
        at = size - 1
        while at > 0 and best[at - 1] < key:
            best[at] = best[at - 1]
            at -= 1
        best[at] = key


@_inner(VOID(ADJACENCY, WORK, I64, I64, I64))
def _keep(graph: Adjacency, work: Work, place: Int, cell: Int, step: Int) -> None:
    """Keep the node of a cell at a place, and ask for the memory of its edges."""
    kept, slot = work.kept, work.table[cell] & LOW_BITS
    row = np.int64(work.met[slot]["row"])
    first, stop = np.int64(0), np.int64(0)
    if row + 1 < graph.indptr.size:
        first, stop = graph.indptr[row], graph.indptr[row + 1]
    prefetch(graph.dst, first)
    prefetch(graph.link, first)
    prefetch(graph.tag, first)
    prefetch(graph.head, row)
    kept[place]["first"] = first
    kept[place]["own"] = stop - first
    kept[place]["row"] = row
    kept[place]["slot"] = slot
    kept[place]["depth"] = step
    kept[place]["score"] = work.met[slot]["score"]


@_inner(VOID(WORK, I64))
def _await_support(work: Work, slot: Int) -> None:
    work.met[slot]["score"] = 0
    work.met[slot]["parent"] = -1
    work.met[slot]["order"] = NO_EDGE


@_inner(I64(ADJACENCY, WORK, I64, I64, I64, I64))
def _keep_best(graph: Adjacency, work: Work, count: Int, wanted: Int, step: Int, end: Int) -> Int:
    """Keep the best candidates behind `end`, as many as are wanted and fit: the new end."""
    fitting = min(wanted, work.kept.size - end)
    _select(work, count, fitting)
    for i in range(fitting):
        cell = _find(work.table, LOW_BITS - (work.best[i] & LOW_BITS))
        _keep(graph, work, end + i, cell, step)
        if step > 0:
            work.table[cell] |= np.int64(KEPT)
        else:
            _await_support(work, work.table[cell] & LOW_BITS)
    return end + fitting


@_inner(VOID(WORK, I64, RESULT, I64))
def _write(work: Work, end: Int, result: BeamResult, b: Int) -> None:
    result.count[b] = end
    for place in range(end):
        slot = work.kept[place]["slot"]
        order = work.met[slot]["order"]
        result.rows[b, place] = work.kept[place]["row"]
        result.scores[b, place] = work.kept[place]["score"]
        result.parent[b, place] = work.met[slot]["parent"]
        result.relation[b, place] = order >> np.int64(32)
        result.tag[b, place] = (order & LOW_BITS) - 1
        result.depth[b, place] = work.kept[place]["depth"]
        result.support[b, place] = work.met[slot]["score"]


@_inner(VOID(WORK, I64))
def _clear(work: Work, used: Int) -> None:
    for slot in range(used):
        work.table[work.met[slot]["cell"]] = EMPTY


@_inner(I64(ADJACENCY, NODES, QUERIES, MODEL, WORK, RESULT, I64))
def _search(
    graph: Adjacency,
    nodes: Nodes,
    queries: Queries,
    model: Model,
    work: Work,
    result: BeamResult,
    b: Int,
) -> Int:
    """Answer query `b`: 0, or the room that must be there for it, where there is less."""
    window = queries.window[b]
    query = Query(queries.vectors[b], queries.gain[b], queries.tag_gain[b], window[0], window[1])
    first, last = queries.anchor_ptr[b], queries.anchor_ptr[b + 1]
    if last - first >= work.met.size:
        return last - first + 1
    rows, scores = queries.anchors[first:last], queries.anchor_scores[first:last]
    used = _meet_anchors(graph.n, nodes, query, rows, scores, work)
    _compare(graph, nodes, query, model.l2, work, 0, used)
    anchors = _keep_best(graph, work, used, used, 0, 0)
    begin, stop, end, fitted, hubs = 0, min(anchors, model.width), anchors, anchors == used, 0
    for step in range(1, model.depth + 1):
        if begin == stop or not fitted:
            break
        edges, passed = _measure(graph, model, work, begin, stop)
        hubs += passed
        if used + edges >= work.met.size:
            return used + edges + 1
        m = _list(graph, query, work, begin, stop)
        met, (used, m) = used, _meet(nodes, query, work, used, m)
        _compare(graph, nodes, query, model.l2, work, met, used)
        count = _fold(model.gamma, work, m, anchors, step)
        wanted, begin = min(count, model.width), end
        end = _keep_best(graph, work, count, wanted, step, begin)
        stop, fitted = end, end - begin == wanted
    result.truncated[b] = (0 if fitted else OVER_BUDGET) + (OVER_LIMIT if hubs else 0)
    _write(work, end, result, b)
    _clear(work, used)
    return 0


@deferred(WORK(I64, I64))
def _new_work(size: Int, budget: Int) -> Work:
    """Memory for less than `size` nodes and edges. Half of the table, or more, is free."""
    cells = 2
    while cells < 2 * size:
        cells *= 2
    return Work(
        np.full(cells, EMPTY, np.int64),
        np.empty(size, MET),
        np.empty(size, np.float32),
        np.empty(size, EDGE),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.empty(budget, np.int64),
        np.empty(budget, PLACE),
        np.full(DEGREES, -1, np.float32),
    )


# The arrays that are read are taken one by one: numba does not convert a tuple of writable arrays
# to a tuple of read-only ones.
@kernel(VOID(*ADJACENCY_COLUMNS, *NODES_COLUMNS, *QUERIES_COLUMNS, MODEL, RESULT))
def _beam(
    indptr: I64Array,
    dst: I32Array,
    link: U16Array,
    tag: I32Array,
    head: I32Array,
    next: I32Array,
    d_dst: I32Array,
    d_link: U16Array,
    d_tag: I32Array,
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
    model: Model,
    result: BeamResult,
) -> None:
    graph = Adjacency(indptr, dst, link, tag, head, next, d_dst, d_link, d_tag, m_delta, n)
    nodes = Nodes(vectors, vector_row, status, kind, time)
    queries = Queries(query_vectors, anchor_ptr, anchors, anchor_scores, gain, tag_gain, window)
    budget = result.rows.shape[1]
    work = _new_work(ROOM, budget)
    for b in range(result.count.size):
        lacking = _search(graph, nodes, queries, model, work, result, b)
        while lacking:
            work = _new_work(max(2 * work.met.size, lacking), budget)
            lacking = _search(graph, nodes, queries, model, work, result, b)


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
    edges to one node, the lower parent row, then relation, then tag. Rows that are not live,
    out of range or outside the window are passed over, anchors too.

    A query's result depends on that query alone: not on the batch, the thread, or whether an edge
    stands in the base or in the delta. The arrays are read; their dtypes are checked by the
    compiled kernel (TypeError), their lengths here (ValueError). Rows stored in the arrays
    themselves (`dst`, `head`, ...) are trusted: who writes them keeps them in range.
    """
    check(adjacency, nodes, queries)
    if width < 1 or budget < 1 or not 0 <= depth < ANCHOR:
        raise ValueError(
            "expected width >= 1, budget >= 1 and 0 <= depth <= 254, "
            f"got width {width}, budget {budget}, depth {depth}"
        )
    result = new_result(len(queries.vectors), budget)
    # The reference takes these as float32, too; powers and exponentials are taken in float64.
    l2, exponent = float(np.float32(similarity)), float(np.float32(hub))
    model = Model(width, depth, l2, np.float32(gamma), exponent, limit)
    arguments: tuple[Any, ...] = (*adjacency, *nodes, *queries, model, result)
    _beam(*arguments)
    return result
