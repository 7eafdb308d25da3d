"""Kernels against their references and rivals, in one run, so that a figure is a ratio.

Vectors are clustered and degrees have hubs: on uniform random data every method looks alike. Sizes
are a long conversation's memory (1e4 nodes) and a team's (1e5). A reference in plain Python runs at
the smaller size only.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.bench.bench_beam import (
    BATCH,
    FEW,
    beam_kernel,
    beam_networkx,
    beam_numpy,
    beam_reference,
    beam_rustworkx,
    dots_floor,
    halves,
    vectors,
)
from cuegraph.kernels import bm25, csr, reference, rrf, similarity, topk

SIZES = (10_000, 100_000)
LARGE = 1_000_000
"""What many people's assistant may come to; only what its size must not slow down is measured."""
WORDS = 12  # a turn of a chat, without stop words
SESSION = 20  # turns

Array = npt.NDArray[Any]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("rival", "batch"),
    [
        (beam_kernel, BATCH),
        (beam_reference, FEW),
        (beam_numpy, FEW),
        (beam_rustworkx, FEW),
        (beam_networkx, FEW),
        (dots_floor, BATCH),
    ],
)
def bench_beam(benchmark: Any, rival: Callable[[int], Any], batch: int, n: int) -> None:
    """Time of `queries` queries; divide by extra_info.queries."""
    benchmark.group = f"beam {n}"
    benchmark.extra_info["queries"] = batch
    benchmark.pedantic(rival(n), rounds=5, warmup_rounds=1)


ROWS, ENTRIES, FURTHER = 100_000, 800_000, 80_000  # a team's memory, a tenth of it since a merge


@cache
def sources() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Rows of the base's entries and of later ones, in the order written: by time, hubs by Zipf."""
    rng = np.random.default_rng(8)
    near = np.sort(rng.integers(0, ROWS, ENTRIES)) - rng.integers(0, 50, ENTRIES)
    hubs = ROWS ** rng.random(ENTRIES) - 1
    rows = np.where(rng.random(ENTRIES) < 0.05, hubs, near.clip(0)).astype(np.int32)
    return rows[:-FURTHER], rows[-FURTHER:]


def build_kernel() -> Callable[[], Any]:
    rows = np.concatenate(sources())
    return lambda: csr.build(ROWS, rows)


def build_numpy() -> Callable[[], Any]:
    rows = np.concatenate(sources())

    def sort() -> tuple[Array, Array]:
        indptr = np.zeros(ROWS + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=ROWS), out=indptr[1:])
        return indptr, np.argsort(rows, kind="stable")

    return sort


def merge_kernel() -> Callable[[], Any]:
    base, further = sources()
    indptr, _ = csr.build(ROWS, base)
    return lambda: csr.merge(indptr, further, ROWS)


def merge_numpy() -> Callable[[], Any]:
    base, further = sources()
    starts, _ = csr.build(ROWS, base)
    numbers = np.arange(ROWS, dtype=np.int32)

    def sort() -> tuple[Array, Array]:
        rows = np.concatenate([np.repeat(numbers, np.diff(starts)), further])
        added = np.bincount(further + 1, minlength=ROWS + 1)
        return starts + np.cumsum(added), np.argsort(rows, kind="stable")

    return sort


@pytest.mark.parametrize("rival", [build_kernel, build_numpy, merge_kernel, merge_numpy])
def bench_csr(benchmark: Any, rival: Callable[[], Callable[[], Any]]) -> None:
    """Row starts and order of all entries, at once or from a base and a tenth behind it."""
    benchmark.group = "csr " + rival.__name__.partition("_")[0]
    benchmark.pedantic(rival(), rounds=10, warmup_rounds=1)


def by_numpy(scores: Array, k: int) -> Array:
    best = np.argpartition(scores, -k)[-k:]
    return best[np.argsort(-scores[best], kind="stable")]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    "rival", [topk.topk, by_numpy, reference.topk], ids=["kernel", "numpy", "reference"]
)
def bench_topk(benchmark: Any, rival: Callable[..., Array], n: int) -> None:
    benchmark.group = f"topk {n}"
    scores = np.random.default_rng(4).standard_normal(n, np.float32)
    benchmark.pedantic(rival, (scores, 100), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize(
    "rival",
    [rrf.rrf, rrf.rrf_discounted, reference.rrf],
    ids=["kernel", "kernel, discounted", "reference"],
)
def bench_rrf(benchmark: Any, rival: Callable[..., Any]) -> None:
    """Three lists of 100, of which a third is in common."""
    benchmark.group = "rrf"
    rng = np.random.default_rng(5)
    lists = [rng.permutation(300)[:100].astype(np.int32) for _ in range(3)]
    benchmark(rival, lists, np.ones(3, np.float32))


SPOKEN = 50_000
"""Words of a law like LoCoMo's without its stop words (see `bench.synthetic`)."""
SHIFT = 6
TERMS = np.array([0, 20, 900, 9000], np.int32)
"""Words of a question: one in nine turns, one in forty, and two that are rarer."""


@cache
def corpus(n: int) -> npt.NDArray[np.int64]:
    """Words of n turns by the law of Zipf and Mandelbrot."""
    shares = np.cumsum(1 / np.arange(1 + SHIFT, SPOKEN + 1 + SHIFT))
    drawn = np.random.default_rng(6).random((n, WORDS), np.float32) * shares[-1]
    words: npt.NDArray[np.int64] = np.searchsorted(shares, drawn, side="right")
    return np.minimum(words, SPOKEN - 1)


@cache
def index(n: int) -> tuple[bm25.Postings, bm25.Documents]:
    """Sessions of twenty turns, each behind the node of its session."""
    turns = np.arange(n)
    row = turns + turns // SESSION + 1
    keys, tf = np.unique(corpus(n) * n + turns[:, None], return_counts=True)
    indptr = np.searchsorted(keys // n, np.arange(SPOKEN + 1)).astype(np.int64)
    head, doc = np.full(SPOKEN, -1, np.int32), row[keys % n].astype(np.int32)
    delta = (bm25.NO_ROWS, bm25.NO_ROWS, np.zeros(0, np.uint16), 0)
    base = (indptr, doc, tf.astype(np.uint16), head)
    newer = (bm25.NO_ROWS, bm25.NO_ROWS)
    postings = bm25.Postings(*base, *delta, n + n // SESSION, *newer)
    rows = np.arange(postings.n, dtype=np.int32)
    place = rows % (SESSION + 1)
    return postings, bm25.Documents(
        np.full(rows.size, WORDS, np.int32),
        np.where(place > 1, rows - 1, -1).astype(np.int32),
        np.where((place > 0) & (place < SESSION), rows + 1, -1).astype(np.int32),
        np.where(place > 0, rows - place, -1).astype(np.int32),
        np.full(rows.size, WORDS * SESSION, np.int32),
        n,
        n * WORDS,
        n // SESSION,
    )


def bm25_kernel(n: int, params: bm25.Params) -> Callable[[], Array]:
    stored, boosts = index(n), np.ones(TERMS.size, np.float32)
    space = bm25.Workspace(stored[0].n)

    def search() -> Array:
        rows = bm25.bm25(TERMS, boosts, *stored, params, space)
        return topk.topk_at(space.score, rows, 100)

    return search


def bm25_context(n: int) -> Callable[[], Array]:
    return bm25_kernel(n, bm25.Params())


def bm25_plain(n: int) -> Callable[[], Array]:
    return bm25_kernel(n, bm25.Params(from_previous=0, from_following=0))


def bm25_unbounded(n: int) -> Callable[[], Array]:
    """Every posting followed."""
    return bm25_kernel(n, bm25.Params(postings=LARGE * WORDS, newest=LARGE))


def bm25_bm25s(n: int) -> Callable[[], Any]:
    """The library, without context and sessions; query terms are given as ids too."""
    words = [str(word) for word in range(SPOKEN)]
    retriever = bm25s.BM25(method="lucene", backend="numba")
    vocabulary = {word: number for number, word in enumerate(words)}
    retriever.index((corpus(n).tolist(), vocabulary), show_progress=False)
    query = [[str(term) for term in TERMS]]
    return lambda: retriever.retrieve(query, k=100, show_progress=False)


@pytest.mark.parametrize("n", (*SIZES, LARGE))
@pytest.mark.parametrize("rival", [bm25_context, bm25_plain, bm25_unbounded, bm25_bm25s])
def bench_bm25(benchmark: Any, rival: Callable[[int], Any], n: int) -> None:
    """Four terms, one of them as frequent as any, to the best 100 rows."""
    benchmark.group = f"bm25 {n}"
    benchmark.pedantic(rival(n), rounds=20, warmup_rounds=1)


def scan_half(n: int) -> Callable[[], Array]:
    rows, query = halves(n), vectors(n)[7]
    return lambda: similarity.dots(rows, query)


def scan_numpy(n: int) -> Callable[[], Array]:
    rows, query = vectors(n), vectors(n)[7]
    return lambda: rows @ query


def read_half(n: int) -> Callable[[], Any]:
    """The limit: the same bytes read and nothing else."""
    whole = halves(n).view(np.uint64)
    return lambda: np.bitwise_or.reduce(whole, axis=None)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rival", [scan_half, scan_numpy, read_half])
def bench_dots(benchmark: Any, rival: Callable[[int], Any], n: int) -> None:
    """One query over all rows: float16 in half the bytes against float32 through BLAS."""
    benchmark.group = f"dots {n}"
    benchmark.pedantic(rival(n), rounds=10, warmup_rounds=1)
