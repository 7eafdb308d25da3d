"""The read path: analysis, anchors, walk, ranking, evidence; questions over one snapshot."""

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.bm25 import Workspace
from . import anchors as arms
from .analysis import analyse
from .anchors import Anchors, Mask
from .config import RecallConfig
from .evidence import Recall
from .explain import Explainer, Reader
from .ranking import Ranking
from .snapshot import Snapshot
from .tokens import TokenCounter
from .vector_index import VectorIndex
from .walk import NO_WALK, reached, walk

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]

TOGETHER = 16
"""Questions that are best answered together: few enough for a pool of threads to share them."""


class Question(NamedTuple):
    """One question with what its asker demands.

    k               pieces of evidence, at most
    budget_tokens   tokens of evidence texts, at most; None = no bound
    deadline        `time.perf_counter` value after which optional stages are left out; None = none
    after_us, before_us, speaker   filters: times in [after, before), cue node of the speaker
    asked_us, utc_offset_min       when and where it is asked; None = as the newest turn
    """

    text: str
    k: int
    budget_tokens: int | None
    deadline: float | None
    after_us: int | None
    before_us: int | None
    speaker: int | None
    asked_us: int | None
    utc_offset_min: int | None


class Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.timings_ms: dict[str, float] = {}
        self.start()

    def start(self) -> None:
        """Begin, or go on after what is charged elsewhere."""
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Charge the time since the last lap to a stage."""
        now = time.perf_counter()
        self.charge(stage, (now - self._last) * 1e3)
        self._last = now

    def charge(self, stage: str, ms: float) -> None:
        """Add to a stage."""
        self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + ms


class Searched(NamedTuple):
    """What is searched, and how. The workspace is this thread's; its content is overwritten."""

    snapshot: Snapshot
    vectors: VectorIndex
    workspace: Workspace
    config: RecallConfig


def recall(
    question: Question,
    vector: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    workspace: Workspace,
    counter: TokenCounter,
    config: RecallConfig,
) -> Recall:
    """Evidence for one question; see `recall_together`.

    vector  float32 (d,), the embedded question, normalised
    """
    searched = Searched(snapshot, index, workspace, config)
    return recall_together([question], vector[None], searched, counter)[0]


def recall_together(
    questions: Sequence[Question], vectors: F32, searched: Searched, counter: TokenCounter
) -> list[Recall]:
    """Evidence for each question: what it would get alone, in less time.

    vectors  float32 (b, d), the embedded questions, normalised

    Stage by stage: the next question finds the code and the tables of a stage in the processor's
    caches, and the turns of all are read from the journal at once.
    """
    reader, masks = Reader(searched.snapshot), _masks(questions, searched.snapshot)
    asked = [
        _Asked(question, vector, mask, searched, reader)
        for question, vector, mask in zip(questions, vectors, masks, strict=True)
    ]
    for one in asked:
        one.analyse()
    for one in asked:
        one.search_vectors()
    for one in asked:
        one.search()
    _read(reader, asked)
    return [one.answer(counter) for one in asked]


def _masks(questions: Sequence[Question], snapshot: Snapshot) -> list[Mask | None]:
    """What each question's filters let pass; most have those of the one before."""
    filters = [(q.after_us, q.before_us, q.speaker) for q in questions]
    masks = {each: arms.episodes_allowed(snapshot, *each) for each in set(filters)}
    return [masks[each] for each in filters]


class _Asked:
    """One question on its way through the stages, which are its methods, in their order."""

    def __init__(
        self,
        question: Question,
        vector: F32,
        mask: Mask | None,
        searched: Searched,
        reader: Reader,
    ) -> None:
        self.watch = Stopwatch()
        self._question, self._vector, self._mask = question, vector, mask
        self._snapshot, self._index, self._workspace, self._config = searched
        self._reader = reader
        self._arms: dict[str, I32] = {}

    def analyse(self) -> None:
        self.watch.start()
        question = self._question
        self._analysis = analyse(
            question.text,
            self._snapshot,
            asked_us=question.asked_us,
            utc_offset_min=question.utc_offset_min,
        )
        self.watch.lap("analysis")

    def search_vectors(self) -> None:
        self.watch.start()
        self._said = arms.said_by(self._analysis, self._snapshot)
        self._arms["vector"] = arms.vector_arm(
            *(self._vector, self._snapshot, self._index),
            *(self._said, self._mask, self._config.anchors),
        )
        self.watch.lap("vector")

    def search(self) -> None:
        """The other arms, ranking and walk, which share the scores in the workspace."""
        self.watch.start()
        question, snapshot, watch = self._question, self._snapshot, self.watch
        found = self._anchors()
        ranking = Ranking(
            *(found, self._analysis, self._said, snapshot),
            *(self._vector, self._workspace, self._config.rank),
        )
        ranked, way = ranking.anchors(), NO_WALK
        watch.lap("ranking")
        self._late = question.deadline is not None and time.perf_counter() > question.deadline
        if not self._late:
            window = (question.after_us, question.before_us)
            way = walk(self._analysis, self._vector, snapshot, ranked, window, self._config.beam)
        watch.lap("beam")
        if len(way.rows):
            ranked = ranking.supported(*reached(way, snapshot, self._mask))
            watch.lap("ranking")
        self._explainer = Explainer(ranked, found, way, question.k, self._reader)
        watch.lap("evidence")

    def _anchors(self) -> Anchors:
        question = (self._analysis, self._snapshot, self._mask, self._config.anchors)
        also = np.concatenate([self._arms["vector"], self._said.episodes])
        self._arms["keyword"] = arms.keyword_arm(*question, self._workspace, also)
        self.watch.lap("keyword")
        self._arms["time"] = arms.time_arm(*question, self._workspace)
        self.watch.lap("time")
        self._arms["cue"] = arms.cue_arm(*question, self._workspace)
        self.watch.lap("cue")
        fused = arms.fuse(self._arms, self._config.anchors)
        self.watch.lap("fusion")
        return fused

    def needed(self) -> Iterator[int]:
        """Nodes that the first pieces of evidence speak of."""
        return self._explainer.needed()

    def answer(self, counter: TokenCounter) -> Recall:
        self.watch.start()
        evidence, tokens, full = self._explainer.within(self._question.budget_tokens, counter)
        self.watch.lap("evidence")
        return Recall(
            query=self._question.text,
            evidence=evidence,
            analysis=self._analysis,
            timings_ms=self.watch.timings_ms,
            cut_short="deadline" if self._late else "tokens" if full else None,
            tokens=tokens,
            counter=counter.name,
        )


def _read(reader: Reader, asked: Sequence[_Asked]) -> None:
    """Read what the first pieces of all speak of, at the cost of all."""
    start = time.perf_counter()
    reader.read(chain.from_iterable(one.needed() for one in asked))
    share_ms = (time.perf_counter() - start) * 1e3 / max(len(asked), 1)
    for one in asked:
        one.watch.charge("evidence", share_ms)
