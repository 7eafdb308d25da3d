"""The score by which evidence is ordered: one weighted sum of parts between 0 and 1.

    fused     reciprocal rank fusion of the arms, as a share of the best
    keyword   BM25 of the turn in its context, as a share of the best
    session   BM25 of the turn's whole session, as a share of the best
    vector    likeness of the turn and, at a third each, of its neighbours; 0 for the least like of
              the anchors and 1 for the likest
    graph     support by the walk (see `kernels.beam`), as a share of the best
    speaker   1 where the turn was said by one of those that the question names
    present   1 where one of them speaks in the turn's session
    time      how well the turn's time, or a date that it mentions, fits the time asked for
    asks      1 where the turn only asks (its weight is negative: such turns seldom answer)
    short     1 for a turn of no words, falling to 0 at ten (negative: little is said in few words)

The sum without `graph` orders the anchors, and the best of them are where the walk starts.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels import ranking as kernel
from ..kernels.bm25 import Workspace
from .analysis import Analysis
from .anchors import I32, Anchors, Said, time_fit_of
from .config import RankConfig
from .snapshot import Snapshot

F32 = npt.NDArray[np.float32]
PARTS = (
    *("fused", "keyword", "session", "vector", "graph"),
    *("speaker", "present", "time", "asks", "short"),
)
"""Columns of `Ranked.parts`, in the order of `kernels.ranking`."""


class Ranked(NamedTuple):
    """Episodes, best first, ties by node.

    nodes   int32 (m,)
    scores  float32 (m,)
    place   int64 (m,)                row of each in `parts`
    parts   float32 (m, len(PARTS))   what each part adds to the score
    """

    nodes: I32
    scores: F32
    place: npt.NDArray[np.int64]
    parts: F32


class Ranking:
    """Scores episodes for one question; what is best and least is taken from the anchors.

    The keyword arm must have left its scores in `workspace`.
    """

    def __init__(
        self,
        anchors: Anchors,
        analysis: Analysis,
        said: Said,
        snapshot: Snapshot,
        query: F32,
        workspace: Workspace,
        config: RankConfig,
    ) -> None:
        self._analysis, self._said = analysis, said
        self._snapshot, self._query = snapshot, query
        self._workspace = workspace
        self._columns = _columns(snapshot)
        self._weights = np.array([getattr(config, name) for name in PARTS], np.float32)
        self._middling = np.nan  # the mean of the anchors
        self._nodes = anchors.nodes
        self._measures = self._measured(anchors.nodes)
        self._measures[:, kernel.FUSED] = anchors.scores
        self._least, self._spread = kernel.scales(self._measures)

    def anchors(self) -> Ranked:
        """The anchors alone."""
        return self._ranked(self._nodes, self._measures)

    def supported(self, episodes: I32, support: F32) -> Ranked:
        """The anchors and the `episodes` int32 (w,) that the walk came to, with its support."""
        nodes, graph = kernel.join(self._nodes, episodes, support)
        added = self._measured(nodes[len(self._nodes) :])
        measures = np.concatenate([self._measures, added])
        measures[:, kernel.GRAPH] = graph
        self._spread[kernel.GRAPH] = graph.max(initial=0.0) or 1.0
        return self._ranked(nodes, measures)

    def _ranked(self, nodes: I32, measures: F32) -> Ranked:
        scale = (self._least, self._spread, self._weights)
        parts, scores, order = kernel.score(nodes, measures, *scale)
        return Ranked(nodes[order], scores[order], order, parts)

    def _measured(self, nodes: I32) -> F32:
        """What each part is made of, but for the fusion and the walk's support."""
        measures, self._middling = kernel.measure(
            nodes,
            self._columns,
            (self._workspace.score, self._workspace.session_score),
            self._snapshot.vectors,
            self._query,
            self._said.speakers,
            self._middling,
        )
        if self._analysis.speakers:
            measures[:, kernel.PRESENT] = self._said.present(self._columns.session[nodes])
        if self._analysis.windows:
            measures[:, kernel.TIME] = time_fit_of(self._analysis, self._snapshot, nodes)
        return measures


def _columns(snapshot: Snapshot) -> kernel.Columns:
    nodes = snapshot.nodes
    return kernel.Columns(
        vector_row=nodes["vector_row"],
        status=nodes["status"],
        flags=nodes["flags"],
        session=nodes["session"],
        previous=nodes["previous"],
        following=nodes["following"],
        speaker=nodes["speaker"],
        length=nodes["length"],
        n=snapshot.n,
    )
