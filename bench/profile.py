"""Where the time of a recall goes: latency by stage, of single calls and of batches."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from rich.table import Table

from cuegraph import Embedder, InputError, Memory, Recall

from .figures import Percentiles, percentiles_of
from .spaces import Progress, silent

QUERIES = 200
ALL = "all"
STAGES = {
    "embedding": "embedding",
    "analysis": "analysis",
    "vector": "vector anchors",
    "keyword": "keyword anchors",
    "time": "time anchors",
    "cue": "cue anchors",
    "fusion": "fusion",
    "ranking": "ranking",
    "beam": "beam",
    "evidence": "evidence",
    "narrative": "narrative",
    ALL: "all of it",
}
"""Stages in the order of the read path, with what they are called; another one comes behind."""
_WARM = 10

Stages = dict[str, Percentiles]


class Batches(msgspec.Struct, frozen=True):
    """One batch of all questions over a pool of threads.

    threads               as many as the machine has cores
    stages                of each question in the batch; "embedding" is its share
    queries_per_s         with the embedding of the questions, and without it
    """

    threads: int
    stages: Stages
    queries_per_s: float
    queries_per_s_without_embedding: float


class Profile(msgspec.Struct, frozen=True):
    """Latency in milliseconds on the wall.

    single  of calls one by one; "all" is the call itself and the narrative, seen from outside
    """

    turns: int
    embedder: str
    queries: int
    k: int
    unit: str
    single: Stages
    batch: Batches


def profile(
    store: Path,
    embedder: Embedder,
    queries: Sequence[str],
    *,
    k: int = 10,
    progress: Progress = silent,
) -> Profile:
    """Latency of `queries` to the memory in `store`, which is only read.

    InputError where there are no queries.
    """
    if not queries:
        raise InputError("queries: expected at least one, got none")
    progress(f"{len(queries)} questions, one by one")
    with Memory.open(store, embedder=embedder, read_only=True) as memory:
        turns = memory.stats().turns
        single = _single(memory, queries, k)
    progress(f"{len(queries)} questions in a batch")
    threads = os.cpu_count() or 1
    with (
        ThreadPoolExecutor(threads) as pool,
        Memory.open(store, embedder=embedder, read_only=True, pool=pool) as memory,
    ):
        batch = _batch(memory, queries, k, pool, threads)
    return Profile(turns, embedder.name, len(queries), k, "ms", single, batch)


def profile_table(found: Profile) -> Table:
    """A line a stage: percentiles of single calls beside those of a batch."""
    table = Table(title=f"Latency by stage, ms; {found.turns:,} turns, {found.queries} questions")
    table.add_column("stage", no_wrap=True)
    for kind in ("single", "batch"):
        for rank in ("p50", "p95", "p99"):
            table.add_column(f"{kind} {rank}", justify="right", no_wrap=True)
    for stage in order(found):
        single, batch = found.single.get(stage), found.batch.stages.get(stage)
        table.add_row(STAGES.get(stage, stage), *_cells(single), *_cells(batch))
    speed, search = found.batch.queries_per_s, found.batch.queries_per_s_without_embedding
    table.caption = (
        f"batch over {found.batch.threads} threads: {speed:,.0f} questions a second, "
        f"{search:,.0f} without embedding"
    )
    return table


def order(found: Profile) -> list[str]:
    """Stages of a profile in the order in which they are shown."""
    stages = found.single.keys() | found.batch.stages.keys()
    known = [stage for stage in STAGES if stage in stages and stage != ALL]
    return [*known, *sorted(stages - STAGES.keys()), *({ALL} & stages)]


def _single(memory: Memory, queries: Sequence[str], k: int) -> Stages:
    for query in queries[:_WARM]:
        _timed(memory, query, k)
    return _percentiles([_timed(memory, query, k) for query in queries])


def _timed(memory: Memory, query: str, k: int) -> dict[str, float]:
    """Milliseconds of one recall and its narrative by stage, and of all."""
    start = time.perf_counter()
    recall = memory.recall(query, k=k)
    narrative_ms = _milliseconds(lambda: memory.narrate(recall))
    whole_ms = (time.perf_counter() - start) * 1e3
    return {**recall.timings_ms, "narrative": narrative_ms, ALL: whole_ms}


def _batch(
    memory: Memory, queries: Sequence[str], k: int, pool: ThreadPoolExecutor, threads: int
) -> Batches:
    memory.recall_batch(queries[:_WARM], k=k)
    start = time.perf_counter()
    recalls = memory.recall_batch(queries, k=k)
    whole_s = time.perf_counter() - start
    embedding_s = sum(recall.timings_ms["embedding"] for recall in recalls) / 1e3

    def narrated(recall: Recall) -> dict[str, float]:
        narrative_ms = _milliseconds(lambda: memory.narrate(recall))
        return {**recall.timings_ms, "narrative": narrative_ms}

    return Batches(
        threads=threads,
        stages=_percentiles(list(pool.map(narrated, recalls))),
        queries_per_s=round(len(queries) / whole_s, 1),
        queries_per_s_without_embedding=round(len(queries) / (whole_s - embedding_s), 1),
    )


def _percentiles(timings: Sequence[dict[str, float]]) -> Stages:
    stages = dict.fromkeys(stage for timing in timings for stage in timing)
    found = {s: percentiles_of([timing.get(s, 0.0) for timing in timings]) for s in stages}
    return {stage: one for stage, one in found.items() if one is not None}


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def _cells(found: Percentiles | None) -> list[str]:
    if found is None:
        return ["-"] * 3
    return [f"{ms:.3f}" for ms in (found.p50, found.p95, found.p99)]
