"""The beam, the same search with graph libraries, and the floor below both: what benchmarks share.

Vectors are clustered and degrees have hubs: on uniform random data every method looks alike.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import rustworkx

from cuegraph.kernels import csr, reference, similarity
from cuegraph.kernels.beam import Adjacency, BeamResult, Nodes, Queries, beam, pack, unpack

DIMENSION = 384  # of the small sentence encoders
BATCH = 256  # queries; enough to hide the cost of a call
FEW = 16  # queries for the slow rivals
DEGREE = 8  # directed edges a node
CLUSTER = 50  # nodes
ANCHORS = 10
WIDTH, DEPTH, BUDGET = 10, 5, 60
GAMMA, SIMILARITY = 0.9, 0.5  # of the score
_ROWS_AT_ONCE = 1 << 16

Array = npt.NDArray[Any]
EdgesOf = Callable[[int], Iterable[tuple[int, int, float]]]
"""End, relation and weight of the edges of a node."""


@cache
def halves(n: int) -> npt.NDArray[np.uint16]:
    """Unit vectors in clusters of 50 around random centres, as the bits of their float16."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n // CLUSTER + 1, DIMENSION), np.float32)
    rows = np.empty((n, DIMENSION), np.float16)
    for start in range(0, n, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, n)
        block = centres[np.arange(start, stop) // CLUSTER]
        block += 0.7 * rng.standard_normal(block.shape, np.float32)
        rows[start:stop] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return rows.view(np.uint16)


@cache
def vectors(n: int) -> npt.NDArray[np.float32]:
    """The same vectors, float32."""
    return halves(n).view(np.float16).astype(np.float32)


@cache
def graph(n: int) -> tuple[Adjacency, Nodes]:
    """Mostly near neighbours; every twentieth edge to a hub, hubs by a log-uniform law (Zipf)."""
    rng = np.random.default_rng(1)
    m = n * DEGREE // 2
    src = np.repeat(np.arange(n), DEGREE // 2)
    near = (src + rng.integers(-50, 51, m)) % n
    dst = np.where(rng.random(m) < 0.05, n ** rng.random(m) - 1, near).astype(np.int32)
    relation = (2 * rng.integers(0, 4, m)).astype(np.uint8)
    weight = rng.random(m, np.float32)
    columns = (
        np.concatenate([dst, src]).astype(np.int32),
        np.concatenate([pack(relation, weight), pack(relation ^ np.uint8(1), weight)]),
    )
    indptr, order = csr.build(n, np.concatenate([src, dst]).astype(np.int32))
    none = [np.zeros(0, t) for t in (np.int32, np.int32, np.uint16, np.int32)]
    base = (indptr, *(column[order] for column in columns), np.zeros(0, np.int32))
    arguments: tuple[Any, ...] = (*base, np.full(n, -1, np.int32), *none, 0, n)
    bytes_, times = np.zeros(n, np.uint8), np.zeros(n, np.int64)
    nodes = Nodes(halves(n), np.arange(n, dtype=np.int32), bytes_, bytes_, times)
    return Adjacency(*arguments), nodes


@cache
def queries(n: int, batch: int = BATCH) -> Queries:
    """Near a random node, anchors in its neighbourhood; the first of a larger batch are the same.

    Anchor scores fall from 1 to 0.5.
    """
    draws = [np.random.default_rng([2, q]) for q in range(batch)]
    centre = np.array([draw.integers(0, n) for draw in draws])
    near = halves(n)[centre].view(np.float16).astype(np.float32)
    near += 0.03 * np.array([draw.standard_normal(DIMENSION, np.float32) for draw in draws])
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    beside = np.array([draw.integers(-50, 51, ANCHORS) for draw in draws])
    return Queries(
        near,
        np.arange(batch + 1) * ANCHORS,
        ((centre[:, None] + beside) % n).ravel().astype(np.int32),
        np.tile(np.linspace(1, 0.5, ANCHORS, dtype=np.float32), batch),
        np.ones((batch, 16), np.float32),
        np.zeros((batch, 0), np.float32),
        np.zeros((batch, 2), np.int64),
    )


_SEARCH: Any = {
    "width": WIDTH,
    "depth": DEPTH,
    "budget": BUDGET,
    "similarity": SIMILARITY,
    "gamma": GAMMA,
}


def beam_kernel(n: int, batch: int = BATCH) -> Callable[[], BeamResult]:
    """The beam of `kernels.beam` from `queries(n, batch)`."""
    return lambda: beam(*graph(n), queries(n, batch), **_SEARCH)


def beam_reference(n: int) -> Callable[[], BeamResult]:
    """The same in plain Python over the same arrays."""
    few = queries(n, FEW)
    return lambda: reference.beam(*graph(n), few, **_SEARCH)


def beam_rustworkx(n: int, batch: int = FEW) -> Callable[[], list[list[int]]]:
    """The same search with a graph library for the edges and numpy for the vectors."""
    library = rustworkx.PyDiGraph()
    library.add_nodes_from(range(n))
    library.add_edges_from([(i, j, (relation, weight)) for i, j, relation, weight in _edges(n)])
    return _searches(lambda i: [(j, *typed) for _, j, typed in library.out_edges(i)], n, batch)


def beam_networkx(n: int, batch: int = FEW) -> Callable[[], list[list[int]]]:
    """Likewise, with edges as its documentation reads them. ImportError where it is not installed.

    Over dictionaries taken out of it once, `dict(library.adjacency())`, it takes a quarter less.
    """
    import networkx  # noqa: PLC0415  (of the extra `dev`)

    library = networkx.MultiDiGraph()
    library.add_nodes_from(range(n))
    library.add_edges_from(
        (i, j, {"relation": relation, "weight": weight}) for i, j, relation, weight in _edges(n)
    )
    return _searches(
        lambda i: [
            (j, edge["relation"], edge["weight"]) for _, j, edge in library.out_edges(i, data=True)
        ],
        n,
        batch,
    )


def beam_numpy(n: int, batch: int = FEW) -> Callable[[], list[list[int]]]:
    """Likewise with slices of the arrays themselves in place of a library."""
    adjacency = graph(n)[0]
    relation, weight = unpack(adjacency.link)

    def edges(i: int) -> Iterable[tuple[int, int, float]]:
        row = slice(adjacency.indptr[i], adjacency.indptr[i + 1])
        columns = (adjacency.dst[row], relation[row], weight[row])
        return zip(*(column.tolist() for column in columns), strict=True)

    return _searches(edges, n, batch)


def _edges(n: int) -> Iterator[tuple[int, int, int, float]]:
    """Source, destination, relation and weight of each edge: parallel ones differ in relation."""
    adjacency = graph(n)[0]
    src = np.repeat(np.arange(n), np.diff(adjacency.indptr)).tolist()
    columns = (adjacency.dst, *unpack(adjacency.link))
    return zip(src, *(column.tolist() for column in columns), strict=True)


def _searches(edges: EdgesOf, n: int, batch: int) -> Callable[[], list[list[int]]]:
    asked, rows = queries(n, batch), vectors(n)
    return lambda: [_search(edges, asked, q, rows) for q in range(batch)]


def _search(edges: EdgesOf, asked: Queries, q: int, rows: Array) -> list[int]:
    """Rows kept by the beam from query `q`, in order, as the kernel keeps them."""
    own, gain = slice(q * ANCHORS, (q + 1) * ANCHORS), asked.gain[q].tolist()
    anchors, anchor_scores = asked.anchors[own].tolist(), asked.anchor_scores[own].tolist()
    kept: dict[int, float] = {}
    for anchor, score in zip(anchors, anchor_scores, strict=True):
        kept.setdefault(anchor, score)  # of one given twice the first, which is the better
    frontier = list(kept)
    for _ in range(DEPTH):
        found = [
            (j, GAMMA * kept[i], gain[relation] * weight)
            for i in frontier
            for j, relation, weight in edges(i)
            if j not in kept
        ]
        scores = _scores(found, asked.vectors[q], rows)
        frontier = sorted(scores, key=lambda j: (-scores[j], j))[:WIDTH]
        kept.update((j, scores[j]) for j in frontier)
    return list(kept)


def _scores(found: list[tuple[int, float, float]], query: Array, rows: Array) -> dict[int, float]:
    """Best score of each node found, from (node, inherited score, weight)."""
    ends = list({j for j, _, _ in found})
    factors = dict(zip(ends, np.exp(SIMILARITY * (rows[ends] @ query - 1)).tolist(), strict=True))
    scores: dict[int, float] = {}
    for j, inherited, weight in found:
        scores[j] = max(scores.get(j, 0.0), inherited + weight * factors[j])
    return scores


def compared(n: int, batch: int = BATCH) -> int:
    """Vectors that the beams of `queries(n, batch)` read: of anchors and of all nodes met."""
    adjacency, result = graph(n)[0], beam_kernel(n, batch)()
    total = 0
    for rows, depth, count in zip(result.rows, result.depth, result.count, strict=True):
        expanded = rows[:count][depth[:count] < DEPTH]
        spans = zip(adjacency.indptr[expanded], adjacency.indptr[expanded + 1], strict=True)
        met = [adjacency.dst[start:stop] for start, stop in spans]
        total += len(np.unique(np.concatenate([rows[:count][depth[:count] == 0], *met])))
    return total


def dots_floor(n: int, batch: int = BATCH) -> Callable[[], Array]:
    """What a beam cannot beat: as many random rows as it compares, nothing else."""
    rows = np.random.default_rng(3).integers(0, n, compared(n, batch))
    query = queries(n, batch).vectors[0]
    return lambda: similarity.dots_at(halves(n), rows, query)
