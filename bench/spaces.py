"""Asking: one memory a conversation, filled and questioned without any knowledge of the key.

Nothing here takes gold evidence, answers or categories: functions get turns and the texts of
questions, and give rankings. Scoring is elsewhere.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from cuegraph import (
    Embedder,
    GraphConfig,
    Memory,
    Recall,
    RecallConfig,
    Turn,
    VectorCache,
    WordCounter,
)

TOP = 10
"""Pieces of evidence whose tokens are counted."""

COUNTER = WordCounter()

Progress = Callable[[str], None]


def silent(_line: str) -> None:
    """Tell nobody."""


class Setup(NamedTuple):
    """What every memory of a run is opened with."""

    embedder: Embedder
    cache: VectorCache
    graph: GraphConfig
    workdir: Path | None


class Space(NamedTuple):
    """A memory with the turns of one conversation.

    add_s     seconds of the `add`, beside embedding; look-ups in the cache are part of it
    problems  turns that were not kept, and why
    """

    memory: Memory
    add_s: float
    problems: list[str]


class Answer(msgspec.Struct, frozen=True):
    """What came back for one question: the ids of the evidence, best first.

    tokens_top10  tokens of the texts of the first ten
    timings_ms    by stage; "embedding" is the look-up in a warm cache
    """

    ranked: tuple[str, ...]
    tokens_top10: int
    timings_ms: dict[str, float]

    @property
    def search_ms(self) -> float:
        """Milliseconds of all stages but the embedding of the question."""
        return sum(ms for stage, ms in self.timings_ms.items() if stage != "embedding")


class Timed:
    """An embedder that adds up the seconds it takes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.seconds = 0.0

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched."""
        start = time.perf_counter()
        vectors = self._embedder.passages(texts)
        self.seconds += time.perf_counter() - start
        return vectors

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search."""
        return self._embedder.queries(texts)


@contextmanager
def open_spaces(
    conversations: Sequence[tuple[str, Sequence[Turn]]], setup: Setup, progress: Progress
) -> Iterator[list[Space]]:
    """A space for each (name, turns), in a temporary folder that goes with the context."""
    with tempfile.TemporaryDirectory(dir=setup.workdir) as folder, ExitStack() as stack:
        spaces = []
        for number, (name, turns) in enumerate(conversations):
            timed = Timed(setup.embedder)
            memory = stack.enter_context(
                Memory.open(
                    f"{folder}/{number}", embedder=timed, cache=setup.cache, graph=setup.graph
                )
            )
            spaces.append(_filled(memory, turns, timed))
            progress(f"{name}: {len(turns)} turns added in {spaces[-1].add_s:.2f} s")
        yield spaces


def ask(memory: Memory, texts: Sequence[str], config: RecallConfig, *, k: int) -> list[Answer]:
    """An answer to each question, asked one at a time so that its latency is that of one call.

    All are embedded before, through the cache, and one is asked unmeasured to warm up.
    """
    memory.config = config
    memory.embedder.queries(texts)
    for text in texts[:1]:
        memory.recall(text, k=k)
    return [_answer(memory.recall(text, k=k)) for text in texts]


def ask_all(
    spaces: Sequence[Space],
    texts: Sequence[Sequence[str]],
    config: RecallConfig,
    *,
    k: int,
    progress: Progress = silent,
) -> list[Answer]:
    """The answers to all questions, given by conversation, in order."""
    answers: list[Answer] = []
    for number, (space, asked) in enumerate(zip(spaces, texts, strict=True), start=1):
        answers += ask(space.memory, asked, config, k=k)
        progress(f"conversation {number} of {len(spaces)}: {len(asked)} questions asked")
    return answers


def embedding_ms(embedder: Embedder, texts: Sequence[str], sample: int) -> dict[int, float]:
    """Milliseconds that the model takes for one question, by place, of `sample` evenly spread.

    The cache is passed by, after one call to warm up.
    """
    if not texts:
        return {}
    embedder.queries(texts[:1])
    taken = {}
    places: list[int] = np.unique(np.linspace(0, len(texts) - 1, sample).astype(int)).tolist()
    for place in places:
        start = time.perf_counter()
        embedder.queries([texts[place]])
        taken[place] = (time.perf_counter() - start) * 1e3
    return taken


def _filled(memory: Memory, turns: Sequence[Turn], timed: Timed) -> Space:
    start = time.perf_counter()
    report = memory.add(turns)
    add_s = time.perf_counter() - start - timed.seconds
    return Space(memory, add_s, [f"{item.id}: {item.reason}" for item in report.problems])


def _answer(recall: Recall) -> Answer:
    return Answer(
        ranked=tuple(piece.id for piece in recall.evidence),
        tokens_top10=sum(COUNTER.count(piece.text) for piece in recall.evidence[:TOP]),
        timings_ms=recall.timings_ms,
    )
