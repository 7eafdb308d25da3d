"""What the beam reads and returns: columns of edges, nodes and queries, and how an edge is packed.

The structs hold arrays as they are: a snapshot's, a mapped file's. Kernels of other files may read
them too (numba's disk cache does not see an edit here: see `intrinsics`).
"""

from typing import NamedTuple

import numpy as np

from .types import F32Array, F64Array, I32Array, I64Array, U8Array, U16Array

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
RELATION = RELATIONS - 1
"""The bits of a link that hold its relation."""

WEIGHTS = 4096
"""Weights that a link can hold: 1/4096, 2/4096, ... 1."""


class Adjacency(NamedTuple):
    """Typed edges by source row: an immutable base, and chains of newer edges.

    A reader sees the nodes < n and the delta edges < m_delta; the chains may already hold more.

    indptr   int64 (n_base+1,)     row starts of the base; nodes >= n_base have delta edges only
    dst      int32 (m,)            where an edge of the base leads
    link     uint16 (m,)           its relation and weight, see `pack`
    tag      int32 (m,) or (0,)    number of its tag, or -1; empty where no edge of the base has one
    head     int32 (>= n,)         newest delta edge of a node, or -1
    next     int32 (>= m_delta,)   the next older edge, or -1; long enough for every edge that
                                   `head` leads to, unseen ones too
    d_dst, d_link, d_tag           the delta's edges, (>= m_delta,), dtypes as in the base

    An edge without a tag takes 6 bytes. Edges are most of what a store without vectors holds, on
    disk and in memory, and the beam reads them in runs of a dozen that start anywhere: at 13 bytes
    in four arrays (a float32 weight, the tag always there) a run touches four cache lines or more,
    at 6 bytes in two arrays two. A weight needs no more than three digits: the rules that give
    weights are rougher than that.
    """

    indptr: I64Array
    dst: I32Array
    link: U16Array
    tag: I32Array
    head: I32Array
    next: I32Array
    d_dst: I32Array
    d_link: U16Array
    d_tag: I32Array
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
    tag_gain       float32 (B, t)  factor of an edge by the number of its tag; 1 beyond the last
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
    parent     int32    place, within the query's result, of the node that gave the support; -1 for
                        anchors without. A path ends where `depth` is 0: anchors may support each
                        other
    relation   uint8    of the edge behind the support, 255 where there is none
    tag        int32    of that edge, or -1
    depth      uint8    0 for anchors
    support    float32  best score by which an edge led here: `scores`, but for anchors the best
                        over the edges of all expanded nodes, other than the anchor and those that
                        came from it (a longer way round counts); 0 where there are none
    truncated  uint8 (B,)   bits OVER_LIMIT and OVER_BUDGET; 0 where nothing was passed over
    """

    count: I32Array  # type: ignore[assignment]  # hides tuple.count on purpose
    rows: I32Array
    scores: F32Array
    parent: I32Array
    relation: U8Array
    tag: I32Array
    depth: U8Array
    support: F32Array
    truncated: U8Array


def pack(relation: U8Array | int, weight: F32Array | F64Array | float) -> U16Array:
    """Links of edges, uint16: the relation in the low 4 bits, the weight in the high 12.

    relation  uint8 (m,) or one number, each < 16
    weight    float32 (m,) or one number, each from 0 to 1 up to half a step of 1/4096. The nearest
              of 1/4096, 2/4096, ... 1 is held, of two the even multiple; so 0 becomes 1/4096

    The shapes are broadcast. ValueError for anything else, NaN too.

    >>> pack(3, 0.5).tolist() == 3 | 2047 << 4
    True
    """
    relations, steps = np.asarray(relation), np.rint(np.asarray(weight, np.float64) * WEIGHTS)
    if not ((relations >= 0) & (relations < RELATIONS)).all():
        wrong = relations[(relations < 0) | (relations >= RELATIONS)]
        raise ValueError(f"relation: expected 0 to {RELATIONS - 1}, got {wrong[0]}")
    if not ((steps >= 0) & (steps <= WEIGHTS)).all():
        wrong = np.asarray(weight)[~((steps >= 0) & (steps <= WEIGHTS))]
        raise ValueError(f"weight: expected 0 to 1, got {wrong[0]}")
    held = np.maximum(steps, 1).astype(np.uint16) - np.uint16(1)
    return (held << np.uint16(4)) | relations.astype(np.uint16)


def unpack(link: U16Array) -> tuple[U8Array, F32Array]:
    """Relation, uint8, and weight, float32, of each link.

    >>> relation, weight = unpack(pack(3, np.array([0, 0.5, 1], np.float32)))
    >>> relation.tolist(), (weight * 4096).tolist()
    ([3, 3, 3], [1.0, 2048.0, 4096.0])
    """
    relation = (link & np.uint16(RELATION)).astype(np.uint8)
    weight = ((link >> np.uint16(4)) + np.float32(1)) / np.float32(WEIGHTS)
    return relation, weight.astype(np.float32)


def new_result(b: int, budget: int) -> BeamResult:
    """Room for what a beam keeps of `b` queries."""
    return BeamResult(
        count=np.empty(b, np.int32),
        rows=np.empty((b, budget), np.int32),
        scores=np.empty((b, budget), np.float32),
        parent=np.empty((b, budget), np.int32),
        relation=np.empty((b, budget), np.uint8),
        tag=np.empty((b, budget), np.int32),
        depth=np.empty((b, budget), np.uint8),
        support=np.empty((b, budget), np.float32),
        truncated=np.empty(b, np.uint8),
    )


def check(adjacency: Adjacency, nodes: Nodes, queries: Queries) -> None:
    """Raise ValueError unless the lengths of the arrays fit each other."""
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


def _check_edges(adjacency: Adjacency) -> None:
    tags = adjacency.tag.size or adjacency.dst.size
    base = min(adjacency.dst.size, adjacency.link.size, tags)
    columns = (adjacency.next, adjacency.d_dst, adjacency.d_link, adjacency.d_tag)
    delta = min(column.size for column in columns)
    if base < adjacency.indptr[-1] or delta < adjacency.m_delta:
        raise ValueError(
            f"adjacency: expected {adjacency.indptr[-1]} edges in the base, got {base}, "
            f"and {adjacency.m_delta} in the delta, got {delta}"
        )
