"""The read path: analysis, anchors, walk, ranking, evidence; one question over one snapshot."""

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.bm25 import Workspace
from . import anchors as arms
from .analysis import Analysis, analyse
from .anchors import Anchors
from .config import RecallConfig
from .evidence import Recall
from .explain import Explainer
from .ranking import Ranking
from .snapshot import Snapshot
from .tokens import TokenCounter
from .vector_index import VectorIndex
from .walk import NO_WALK, supported, walk

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


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
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Charge the time since the last lap to a stage."""
        now = time.perf_counter()
        self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + (now - self._last) * 1e3
        self._last = now


def recall(
    question: Question,
    vector: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    workspace: Workspace,
    counter: TokenCounter,
    config: RecallConfig,
) -> Recall:
    """Evidence for one question.

    vector     float32 (d,), the embedded question, normalised
    workspace  of this thread; its content is overwritten
    """
    watch = Stopwatch()
    analysis = analyse(
        question.text,
        snapshot,
        asked_us=question.asked_us,
        utc_offset_min=question.utc_offset_min,
    )
    watch.lap("analysis")
    mask = arms.episodes_allowed(snapshot, question.after_us, question.before_us, question.speaker)
    said = arms.said_by(analysis, snapshot)
    found = _find_anchors(analysis, vector, snapshot, index, said, mask, workspace, config, watch)
    ranking = Ranking(found, analysis, said, snapshot, vector, workspace, config.rank)
    ranked = ranking.rank(found.nodes, np.zeros(len(found.nodes), np.float32))
    watch.lap("ranking")
    late = question.deadline is not None and time.perf_counter() > question.deadline
    window = (question.after_us, question.before_us)
    way = NO_WALK if late else walk(analysis, vector, snapshot, ranked, window, config.beam)
    watch.lap("beam")
    if len(way.rows):
        ranked = ranking.rank(*supported(found.nodes, way, snapshot, mask))
        watch.lap("ranking")
    explainer = Explainer(ranked, found, way, snapshot)
    evidence, tokens, full = explainer.within(question.k, question.budget_tokens, counter)
    watch.lap("evidence")
    return Recall(
        query=question.text,
        evidence=evidence,
        analysis=analysis,
        timings_ms=watch.timings_ms,
        cut_short="deadline" if late else "tokens" if full else None,
        tokens=tokens,
        counter=counter.name,
    )


def _find_anchors(
    analysis: Analysis,
    vector: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    said: arms.Said,
    mask: arms.Mask | None,
    workspace: Workspace,
    config: RecallConfig,
    watch: Stopwatch,
) -> Anchors:
    settings = config.anchors
    found: dict[str, I32] = {}
    found["vector"] = arms.vector_arm(vector, snapshot, index, said, mask, settings)
    watch.lap("vector")
    found["keyword"] = arms.keyword_arm(analysis, snapshot, mask, settings, workspace)
    watch.lap("keyword")
    found["time"] = arms.time_arm(analysis, snapshot, mask, settings, workspace)
    watch.lap("time")
    found["cue"] = arms.cue_arm(analysis, snapshot, mask, settings, workspace)
    watch.lap("cue")
    fused = arms.fuse(found, settings)
    watch.lap("fusion")
    return fused
