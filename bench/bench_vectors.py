"""The exact scan beside HNSW by size: the reason for `vector_index.EXACT_BELOW`."""

from collections.abc import Callable

import hnswlib
import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from cuegraph.kernels.similarity import dots
from cuegraph.kernels.topk import topk

DIMENSION = 384
SIZES = (4096, 8192, 16384)
"""Below, at and above the size where the engine changes over."""
K = 100
F32 = npt.NDArray[np.float32]
Search = Callable[[F32], npt.NDArray[np.int32]]


def clustered(n: int) -> F32:
    """Unit vectors in 64 clusters: uniform random ones would break HNSW and prove nothing."""
    draw = np.random.default_rng(5)
    centres = draw.normal(size=(64, DIMENSION))
    rows = centres[draw.integers(0, 64, n)] + 0.5 * draw.normal(size=(n, DIMENSION))
    unit: F32 = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def exact(vectors: F32) -> Search:
    """The exact scan of float16 rows."""
    halves = vectors.astype(np.float16).view(np.uint16)
    return lambda query: topk(dots(halves, query), K)


def hnsw(vectors: F32) -> Search:
    """HNSW with the settings of the engine."""
    index = hnswlib.Index(space="ip", dim=DIMENSION)
    index.init_index(len(vectors), M=16, ef_construction=200, random_seed=100)
    index.add_items(vectors, num_threads=2)
    index.set_ef(128)
    return lambda query: index.knn_query(query, k=K, num_threads=1)[0][0]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("make", [exact, hnsw], ids=["exact", "hnsw"])
def bench_nearest(benchmark: BenchmarkFixture, make: Callable[[F32], Search], n: int) -> None:
    benchmark.group = f"nearest {K} of {n}"
    vectors = clustered(n + 1)
    search = make(vectors[:n])
    assert len(benchmark(search, vectors[n])) == K
