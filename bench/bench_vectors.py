"""The exact scan beside HNSW, ours and hnswlib's: the reasons for `vector_index`'s constants.

    python -m cuegraph.bench.bench_vectors 100000

prints a table for any number of rows: what a row costs to insert, and what a search costs and
finds.
"""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import hnswlib
import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from cuegraph.kernels import hnsw
from cuegraph.kernels.similarity import dots
from cuegraph.kernels.topk import topk

DIMENSION = 384
SIZES = (4096, 16384)
"""Below and above the size where the engine changes over."""
M, EF_CONSTRUCTION, EF = 16, 100, 128
"""The settings of the engine."""
BLOCK = 1024
K = 100
QUERIES = 200
F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
U16 = npt.NDArray[np.uint16]
Search = Callable[[F32], I32]


def clustered(n: int) -> U16:
    """Float16 bits of unit vectors, 500 to a topic, cosines of a topic near 0.67.

    Uniform random ones would break HNSW and prove nothing.
    """
    draw = np.random.default_rng(5)
    centres = draw.standard_normal((max(8, n // 500), DIMENSION), np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    bits = np.empty((n, DIMENSION), np.uint16)
    for part in np.array_split(np.arange(n), n // 10_000 + 1):
        own = draw.standard_normal((len(part), DIMENSION), np.float32)
        rows = centres[draw.integers(0, len(centres), len(part))] + 0.7 / DIMENSION**0.5 * own
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        bits[part] = rows.astype(np.float16).view(np.uint16)
    return bits


def floats(bits: U16) -> F32:
    """The same vectors as float32."""
    return bits.view(np.float16).astype(np.float32)


def no_graph(vectors: U16) -> None:
    """What the exact scan builds."""


def scan(_: None, vectors: U16, ef: int) -> Search:
    """The exact scan of float16 rows."""
    return lambda query: topk(dots(vectors, query), K)


def build_ours(vectors: U16) -> hnsw.Index:
    """The graph of the engine."""
    return hnsw.extend(hnsw.empty(M), vectors, len(vectors), ef=EF_CONSTRUCTION, block=BLOCK)


def search_ours(index: hnsw.Index, vectors: U16, ef: int) -> Search:
    """A search in it."""
    stops = np.array([len(vectors)])
    return lambda query: hnsw.nearest(index, vectors, query[None], stops, K, ef)[0][0]


def build_theirs(vectors: U16) -> hnswlib.Index:
    """The graph of hnswlib with the same settings, over float32, built on one thread."""
    index = hnswlib.Index(space="ip", dim=DIMENSION)
    index.init_index(len(vectors), M=M, ef_construction=EF_CONSTRUCTION, random_seed=100)
    index.add_items(floats(vectors), num_threads=1)
    return index


def search_theirs(index: hnswlib.Index, vectors: U16, ef: int) -> Search:
    """A search in it."""
    index.set_ef(ef)
    return lambda query: index.knn_query(query, k=K, num_threads=1)[0][0].astype(np.int32)


class Rival(NamedTuple):
    """How one makes its graph, and searches in it for vectors at some ef."""

    build: Callable[[U16], Any]
    search: Callable[[Any, U16, int], Search]


EXACT = Rival(no_graph, scan)
GRAPHS = {"hnswlib": Rival(build_theirs, search_theirs), "ours": Rival(build_ours, search_ours)}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rival", [EXACT, *GRAPHS.values()], ids=["exact", *GRAPHS])
def bench_nearest(benchmark: BenchmarkFixture, rival: Rival, n: int) -> None:
    benchmark.group = f"nearest {K} of {n}"
    drawn = clustered(n + 1)
    search = rival.search(rival.build(drawn[:n]), drawn[:n], EF)
    assert len(benchmark(search, floats(drawn[n]))) == K


@pytest.mark.parametrize("rival", GRAPHS.values(), ids=GRAPHS)
def bench_build(benchmark: Any, rival: Rival) -> None:
    """Time of all rows; divide by extra_info.rows."""
    benchmark.group = f"graph of {SIZES[0]}"
    benchmark.extra_info["rows"] = SIZES[0]
    vectors = clustered(SIZES[0])
    benchmark.pedantic(rival.build, (vectors,), rounds=3, warmup_rounds=1)


def table(n: int) -> Iterator[str]:
    """Lines of a table for n rows; times are of the CPU, on one thread."""
    drawn = clustered(n + QUERIES)
    vectors, queries = drawn[:n], floats(drawn[n:])
    best, cost = _asked(EXACT.search(None, vectors, 0), queries)
    yield f"exact    search {cost:6.0f} us"
    for name, rival in GRAPHS.items():
        start = time.process_time()
        index = rival.build(vectors)
        yield f"{name:8} insert {(time.process_time() - start) / n * 1e6:6.0f} us a row"
        for ef in (100, 128, 192, 256):
            found, cost = _asked(rival.search(index, vectors, ef), queries)
            at10, at_k = (_recall(found, best, k) for k in (10, K))
            yield f"  ef {ef} search {cost:6.0f} us  recall {at10:.3f} at 10, {at_k:.3f} at {K}"


def _asked(search: Search, queries: F32) -> tuple[list[I32], float]:
    """What each query finds, and us a query."""
    start = time.process_time()
    found = [search(query) for query in queries]
    return found, (time.process_time() - start) / len(queries) * 1e6


def _recall(found: list[I32], best: list[I32], k: int) -> float:
    pairs = zip(found, best, strict=True)
    return float(np.mean([len(np.intersect1d(some[:k], all_[:k])) / k for some, all_ in pairs]))


if __name__ == "__main__":
    for line in table(int(sys.argv[1])):
        print(line, flush=True)
