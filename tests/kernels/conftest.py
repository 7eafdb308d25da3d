"""The table of random and nasty graphs that every kernel over edges is tested on."""

from typing import NamedTuple

import numpy as np
import pytest

from cuegraph.kernels import csr
from cuegraph.kernels.beam import TIME_NONE, Adjacency, Nodes, Queries, pack

DIMENSION = 40  # one whole block of the dot product and a remainder


class Case(NamedTuple):
    """Nodes, of which the base knows `n_base`, and edges (src, dst): `m_base`, then the delta."""

    n: int
    edges: list[tuple[int, int]]
    n_base: int
    m_base: int
    watermark: int
    weight: float | None = None
    tags: bool = True


def _random(n: int, m: int, seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    return [tuple(pair) for pair in rng.integers(0, n, (m, 2)).tolist()]


STAR = [(0, i) for i in range(1, 30)] + [(i, 0) for i in range(1, 30)]
CASES = {
    "empty": Case(0, [], 0, 0, 0),
    "one node": Case(1, [], 1, 0, 0),
    "self-loop": Case(1, [(0, 0)], 1, 1, 0),
    "parallel edges": Case(3, [(0, 1)] * 6 + [(1, 2)] * 2, 3, 3, 5),
    "disconnected": Case(8, [(0, 1), (1, 0), (4, 5), (5, 4)], 8, 4, 0),
    "star": Case(30, STAR, 30, 58, 0),
    "base only": Case(20, _random(20, 90, 1), 20, 90, 0),
    "delta only": Case(20, _random(20, 90, 2), 0, 0, 90),
    "no tags": Case(20, _random(8, 40, 10) + _random(20, 60, 11), 8, 40, 60, tags=False),
    "both": Case(20, _random(8, 40, 3) + _random(20, 60, 4), 8, 40, 60),
    "watermark inside chains": Case(20, _random(8, 40, 5) + _random(20, 60, 6), 8, 40, 31),
    "zero weights": Case(20, _random(20, 90, 7), 20, 45, 45, 0.0),
    "equal weights": Case(20, _random(20, 90, 8), 20, 45, 45, 0.5),
    "larger": Case(300, _random(300, 3000, 9), 300, 2000, 900),
}


def adjacency(case: Case) -> Adjacency:
    rng = np.random.default_rng(len(case.edges))
    m = len(case.edges)
    pairs = np.array(case.edges, np.int32).reshape(-1, 2)
    relation = rng.integers(0, 16, m).astype(np.uint8)
    weight = rng.integers(0, 5, m) / 4
    if case.weight is not None:
        weight[:] = case.weight
    tag = rng.integers(-1, 6, m).astype(np.int32) if case.tags else np.full(m, -1, np.int32)
    columns = [np.ascontiguousarray(pairs[:, 1]), pack(relation, weight), tag]
    src = np.ascontiguousarray(pairs[:, 0])
    indptr, order = csr.build(case.n_base, src[: case.m_base])
    head = np.full(case.n, -1, np.int32)
    chain = np.full(m - case.m_base, -1, np.int32)
    for e, node in enumerate(src[case.m_base :]):
        chain[e], head[node] = head[node], e
    delta = [column[case.m_base :] for column in columns]
    base = [column[order] for column in columns]
    if not case.tags:
        base[2] = base[2][:0]
    return Adjacency(indptr, *base, head, chain, *delta, case.watermark, case.n)


def all_in_base(case: Case) -> Adjacency:
    """The edges that `adjacency(case)` shows, without chains."""
    return adjacency(case._replace(n_base=case.n, m_base=case.m_base + case.watermark, watermark=0))


def nodes(n: int) -> Nodes:
    rng = np.random.default_rng(n)
    vectors = rng.standard_normal((n, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Nodes(
        vectors.astype(np.float16).view(np.uint16),
        np.where(rng.random(n) < 0.2, -1, rng.permutation(n)).astype(np.int32),
        (rng.random(n) < 0.1).astype(np.uint8),
        rng.integers(0, 3, n).astype(np.uint8),
        np.where(rng.random(n) < 0.1, TIME_NONE, rng.integers(0, 10, n)),
    )


def queries(n: int, tags: int) -> Queries:
    """No window, one, one open to the past; with doubled and impossible anchors."""
    rng = np.random.default_rng(n + tags)
    vectors = rng.standard_normal((3, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Queries(
        vectors,
        np.array([0, 5, 5, 12]),
        np.array([0, -1, 3, 0, n, 1, 2, 2, 5, 7, n - 1, 0], np.int32),
        (rng.integers(1, 5, 12) / 4).astype(np.float32),
        rng.choice(np.float32([0, 0.25, 0.5, 1]), (3, 16)),
        rng.random((3, tags)).astype(np.float32),
        np.array([[0, 0], [2, 8], [TIME_NONE, 6]]),
    )


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def graph(case: Case) -> tuple[Adjacency, Nodes, Queries]:
    return adjacency(case), nodes(case.n), queries(case.n, 4)


@pytest.fixture
def merged_graph(case: Case) -> Adjacency:
    return all_in_base(case)


@pytest.fixture
def random_graph() -> tuple[Adjacency, Nodes, Queries]:
    case = CASES["both"]
    return adjacency(case), nodes(case.n), queries(case.n, 4)
