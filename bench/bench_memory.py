"""Whole operations beside what a user would put together instead: SQLite's FTS5 and hnswlib.

The rivals keep the same turns and vectors and return as many of them, but they rank by one list or
by two fused; they have no context, no time, no speakers, no graph and no reasons. All vectors are
made beforehand, so that no one pays for an embedder.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import hnswlib
import numpy as np
import numpy.typing as npt
import pytest

from cuegraph import Memory, Turn

from .stores import add, complete
from .synthetic import DIMENSION, SyntheticEmbedder, later_turns, questions, turns

N = 10_000
"""Turns: a long conversation's memory."""
K = 10
FUSED = 100
"""Turns of each list that is fused."""
BATCH = 256
ASKED = 64
F32 = npt.NDArray[np.float32]


class Known:
    """An embedder that has embedded all its texts before."""

    dimension = DIMENSION

    def __init__(self, embedder: SyntheticEmbedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._vectors: dict[str, F32] = {}

    def learn(self, texts: Sequence[str]) -> None:
        """Embed texts that will be asked for."""
        self._vectors.update(zip(texts, self._embedder.passages(texts), strict=True))

    def passages(self, texts: Sequence[str]) -> F32:
        """Vectors of texts learnt before, or embedded now."""
        self.learn([text for text in texts if text not in self._vectors])
        return np.array([self._vectors[text] for text in texts])

    queries = passages


class Stack(NamedTuple):
    """What a user would build: a table of turns with a full-text index, and a vector index."""

    database: sqlite3.Connection
    index: Any

    @classmethod
    def made(cls, path: Path) -> "Stack":
        """An empty one in a file, as durable as a memory."""
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize = porter)")
        index = hnswlib.Index(space="ip", dim=DIMENSION)
        index.init_index(2 * N, M=16, ef_construction=100, random_seed=1)
        index.set_ef(128)
        return cls(database, index)

    def add(self, first: int, made: list[Turn], vectors: F32) -> None:
        """Keep turns under the numbers from `first` on."""
        self.database.execute("BEGIN")
        self.database.executemany(
            "INSERT INTO turn (rowid, text) VALUES (?, ?)",
            [(first + i, turn.text) for i, turn in enumerate(made)],
        )
        self.database.execute("COMMIT")
        self.index.add_items(vectors, np.arange(first, first + len(made)), num_threads=1)

    def words(self, query: str, k: int) -> list[int]:
        """Numbers of the k turns that fit best by BM25."""
        match = " OR ".join(re.findall(r"\w+", query))
        sql = "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?"
        return [row for (row,) in self.database.execute(sql, (match, k))]

    def nearest(self, vector: F32, k: int) -> list[int]:
        """Numbers of the k turns that are nearest."""
        found: list[int] = self.index.knn_query(vector, k=k, num_threads=1)[0][0].tolist()
        return found

    def fused(self, query: str, vector: F32, k: int) -> list[int]:
        """Both lists, fused by reciprocal rank."""
        scores: dict[int, float] = {}
        for found in (self.words(query, FUSED), self.nearest(vector, FUSED)):
            for rank, row in enumerate(found, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda row: -scores[row])[:k]

    def texts(self, rows: list[int]) -> list[str]:
        """Texts of turns."""
        sql = "SELECT text FROM turn WHERE rowid = ?"
        return [self.database.execute(sql, (row,)).fetchone()[0] for row in rows]


@pytest.fixture(scope="module")
def embedder() -> Known:
    known = Known(SyntheticEmbedder(N))
    known.learn(questions(N, ASKED))
    return known


@pytest.fixture(scope="module")
def memory(embedder: Known, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    directory = tmp_path_factory.mktemp("memory") / "store"
    complete(directory, N)
    with Memory.open(directory, embedder=embedder) as opened:
        yield opened


@pytest.fixture(scope="module")
def stack(embedder: Known, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    made = list(turns(N))
    vectors = embedder._embedder.passages([turn.text for turn in made])
    built = Stack.made(tmp_path_factory.mktemp("stack") / "turns.sqlite")
    built.add(0, made, vectors)
    yield built
    built.database.close()


def ask_memory(memory: Memory, _: Stack, query: str, vector: F32) -> int:
    return len(memory.recall(query, k=K).evidence)


def ask_words(_: Memory, stack: Stack, query: str, vector: F32) -> int:
    return len(stack.texts(stack.words(query, K)))


def ask_vectors(_: Memory, stack: Stack, query: str, vector: F32) -> int:
    return len(stack.texts(stack.nearest(vector, K)))


def ask_both(_: Memory, stack: Stack, query: str, vector: F32) -> int:
    return len(stack.texts(stack.fused(query, vector, K)))


RECALLS = {
    "cuegraph": ask_memory,
    "FTS5": ask_words,
    "hnswlib": ask_vectors,
    "FTS5 and hnswlib, fused": ask_both,
}


@pytest.mark.parametrize("rival", RECALLS.values(), ids=RECALLS)
def bench_recall(
    benchmark: Any,
    rival: Callable[[Memory, Stack, str, F32], int],
    memory: Memory,
    stack: Stack,
    embedder: Known,
) -> None:
    """The best ten turns for a question whose vector is known, with their texts."""
    benchmark.group = f"recall of {N} turns"
    asked = questions(N, ASKED)
    pairs = list(zip(asked, embedder.queries(asked), strict=True))
    benchmark.extra_info["queries"] = ASKED

    def ask() -> int:
        return sum(rival(memory, stack, query, vector) for query, vector in pairs)

    assert benchmark.pedantic(ask, rounds=5, warmup_rounds=1) == K * ASKED


def bench_recall_batch(benchmark: Any, memory: Memory) -> None:
    """The same questions in one call."""
    benchmark.group = f"recall of {N} turns"
    benchmark.extra_info["queries"] = ASKED
    asked = questions(N, ASKED)
    found = benchmark.pedantic(memory.recall_batch, (asked,), {"k": K}, rounds=5, warmup_rounds=1)
    assert sum(len(recall.evidence) for recall in found) == K * ASKED


@pytest.fixture(scope="module")
def later(embedder: Known) -> Iterator[list[Turn]]:
    """Batches of turns that come after the first ones, their vectors known."""

    def batches() -> Iterator[list[Turn]]:
        made = later_turns(N, 40 * BATCH)
        while chunk := list(islice(made, BATCH)):
            embedder.learn([f"{turn.speaker}: {turn.text}" for turn in chunk])
            yield chunk

    return batches()


def bench_add(benchmark: Any, memory: Memory, later: Iterator[list[Turn]]) -> None:
    """256 turns kept durably and found from then on."""
    benchmark.group = f"add {BATCH} turns"

    def setup() -> tuple[tuple[Memory, list[Turn]], dict[str, Any]]:
        return (memory, next(later)), {}

    benchmark.pedantic(add, setup=setup, rounds=8, warmup_rounds=1)


def bench_add_to_stack(
    benchmark: Any, stack: Stack, later: Iterator[list[Turn]], embedder: Known
) -> None:
    """The same with SQLite and hnswlib."""
    benchmark.group = f"add {BATCH} turns"
    numbers = count(N, BATCH)

    def setup() -> tuple[tuple[int, list[Turn], F32], dict[str, Any]]:
        chunk = next(later)
        vectors = embedder.passages([f"{turn.speaker}: {turn.text}" for turn in chunk])
        return (next(numbers), chunk, vectors), {}

    benchmark.pedantic(stack.add, setup=setup, rounds=8, warmup_rounds=1)
