"""Single edges of the graph: where those of one relation lead, and whether there is a certain one.

Every edge is kept in both directions, as relation and relation ^ 1 (see `beam.Adjacency`).
"""

import numpy as np
import numpy.typing as npt

from .beam import RELATION, Adjacency
from .types import (
    I32_1,
    I64,
    RI32_1,
    RI64_1,
    RU16_1,
    U8_1,
    VOID,
    I32Array,
    I64Array,
    Int,
    U8Array,
    U16Array,
    check_array,
    kernel,
)

REMEMBERED = 256
"""Rows whose answer is remembered."""

_EDGES = (RI64_1, RI32_1, RU16_1, RI32_1, RI32_1, RI32_1, RI32_1, RU16_1, RI32_1, I64, I64)


@kernel(I64(*_EDGES, I64, I64, I64, I32_1))
def _neighbours(
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
    node: Int,
    relation: Int,
    limit: Int,
    out: I32Array,
) -> Int:
    """Fill `out` as far as it goes; the number of neighbours, or -1 for too many edges."""
    edges: Int = 0
    count = 0
    if node + 1 < indptr.size:
        edges = indptr[node + 1] - indptr[node]
        if edges > limit:
            return -1
        for e in range(indptr[node], indptr[node + 1]):
            if link[e] & RELATION == relation:
                if count < out.size:
                    out[count] = dst[e]
                count += 1
    newer = np.int64(head[node])
    while newer >= 0:
        if newer < m_delta:
            edges += 1
            if edges > limit:
                return -1
            if d_link[newer] & RELATION == relation:
                if count < out.size:
                    out[count] = d_dst[newer]
                count += 1
        newer = np.int64(next[newer])
    return count


@kernel(VOID(*_EDGES, RI32_1, I64, RI32_1, U8_1))
def _linked(
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
    rows: I32Array,
    relation: Int,
    targets: I32Array,
    out: U8Array,
) -> None:
    base = indptr.size - 1
    # Where each row was met last, by its low bits: many episodes have one session.
    met = np.full(REMEMBERED, -1, np.int64)
    for i in range(rows.size):
        row, found = np.int64(rows[i]), False
        last = met[row % REMEMBERED]
        if last >= 0 and rows[last] == row:
            out[i] = out[last]
            continue
        met[row % REMEMBERED] = i
        for target in targets:
            if found or not 0 <= row < n:
                break
            # From the end that has fewer edges: the other one may be a hub.
            node, kind, other = row, relation, np.int64(target)
            here: Int = indptr[row + 1] - indptr[row] if row < base else np.int64(0)
            there: Int = indptr[target + 1] - indptr[target] if target < base else np.int64(0)
            if there < here:
                node, kind, other = np.int64(target), relation ^ 1, row
            if node < base:
                for e in range(indptr[node], indptr[node + 1]):
                    if dst[e] == other and link[e] & RELATION == kind:
                        found = True
                        break
            newer = np.int64(head[node]) if not found else np.int64(-1)
            while newer >= 0 and not found:
                seen = newer < m_delta and d_dst[newer] == other
                found = seen and d_link[newer] & RELATION == kind
                newer = np.int64(next[newer])
        out[i] = found


def neighbours(adjacency: Adjacency, node: int, relation: int, limit: int) -> I32Array | None:
    """Nodes that a node's edges of one relation lead to; None where it has more than `limit` edges.

    limit    edges of the node, of whatever relation
    returns  int32 (m,)  base in order, then the delta's, newest first; parallel edges repeat

    Raises ValueError where the node is out of range.
    """
    if not 0 <= node < adjacency.n:
        raise ValueError(f"node: expected one of [0, {adjacency.n}), got {node}")
    asked = (node, int(relation), limit)  # numba looks up the type of an enum at each call
    count = _neighbours(*adjacency, *asked, np.empty(0, np.int32))
    if count < 0:
        return None
    out = np.empty(count, np.int32)
    _neighbours(*adjacency, *asked, out)
    return out


def linked(
    adjacency: Adjacency, rows: I32Array, relation: int, targets: I32Array
) -> npt.NDArray[np.bool_]:
    """Whether an edge of a relation leads from each row to one of the targets.

    rows     int32 (m,)   those out of range, such as -1, have no edges
    targets  int32 (t,)   below `adjacency.n`
    returns  bool (m,)

    The cost of a pair is the number of edges of the end that has fewer.

    Raises ValueError where an array has another dtype or rank, or a target is out of range.
    """
    check_array("rows", rows, np.int32)
    check_array("targets", targets, np.int32)
    if targets.size and not 0 <= targets.min() <= targets.max() < adjacency.n:
        raise ValueError(f"targets: expected nodes of [0, {adjacency.n}), got {targets}")
    out = np.empty(rows.size, np.uint8)
    _linked(*adjacency, rows, int(relation), targets, out)
    return out.view(np.bool_)
