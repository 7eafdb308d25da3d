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

from ..kernels.bm25 import Workspace
from ..kernels.similarity import dots_at
from .analysis import Analysis
from .anchors import I32, Anchors, Said, time_fit_of
from .config import RankConfig
from .graph import ASKS
from .schema import LIVE
from .snapshot import Snapshot

F32 = npt.NDArray[np.float32]
PARTS = (
    *("fused", "keyword", "session", "vector", "graph"),
    *("speaker", "present", "time", "asks", "short"),
)
NEIGHBOUR = 0.3
"""Weight of the likeness of the turn before and of the turn after."""
_LONG = 10
"""Index terms from which a turn is not short."""


class Ranked(NamedTuple):
    """Episodes int32 (m,), best first, their scores, and what each part adds, float32 (m,)."""

    nodes: I32
    scores: F32
    parts: dict[str, F32]


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
        self._workspace, self._config = workspace, config
        self._order = np.argsort(anchors.nodes)
        self._anchors = anchors
        self._middling = np.float32(self._own(anchors.nodes).mean()) if len(anchors.nodes) else 0.0
        raw = self._raw(anchors.nodes)
        self._best = {name: float(raw[name].max(initial=0.0)) for name in ("keyword", "session")}
        likeness = raw["vector"] if len(anchors.nodes) else np.zeros(1, np.float32)
        self._least, self._most = float(likeness.min()), float(likeness.max())

    def rank(self, nodes: I32, support: F32) -> Ranked:
        """The episodes `nodes` int32 (m,) with the walk's `support` float32 (m,), ties by node."""
        parts = {
            name: np.float32(getattr(self._config, name)) * values
            for name, values in self._parts(nodes, support).items()
        }
        scores = np.zeros(len(nodes), np.float32)
        for name in PARTS:
            scores += parts[name]
        order = np.lexsort((nodes, -scores))
        return Ranked(nodes[order], scores[order], {n: parts[n][order] for n in PARTS})

    def _parts(self, nodes: I32, support: F32) -> dict[str, F32]:
        columns, raw = self._snapshot.nodes, self._raw(nodes)
        speakers = np.array(self._analysis.speakers, np.int32)
        spread = self._most - self._least or 1.0
        short = 1 - columns["length"][nodes] / _LONG
        return {
            "fused": self._fused(nodes),
            "keyword": _share(raw["keyword"], self._best["keyword"]),
            "session": _share(raw["session"], self._best["session"]),
            "vector": np.clip((raw["vector"] - self._least) / spread, 0, 1).astype(np.float32),
            "graph": _share(support, float(support.max(initial=0.0))),
            "speaker": np.isin(columns["speaker"][nodes], speakers).astype(np.float32),
            "present": self._said.sessions[columns["session"][nodes]].astype(np.float32),
            "time": time_fit_of(self._analysis, self._snapshot, nodes),
            "asks": (columns["flags"][nodes] & ASKS).astype(np.float32),
            "short": np.maximum(short, 0).astype(np.float32),
        }

    def _raw(self, nodes: I32) -> dict[str, F32]:
        """Scores on their own scales."""
        workspace = self._workspace
        return {
            "keyword": workspace.score[nodes],
            "session": workspace.session_score[self._snapshot.nodes["session"][nodes]],
            "vector": self._likeness(nodes),
        }

    def _fused(self, nodes: I32) -> F32:
        """Fused score of each node, 0 for one that is no anchor."""
        known = self._anchors.nodes[self._order]
        if not len(known):
            return np.zeros(len(nodes), np.float32)
        at = np.searchsorted(known, nodes).clip(max=len(known) - 1)
        fused = self._anchors.scores[self._order][at]
        return np.where(known[at] == nodes, fused, 0).astype(np.float32)

    def _own(self, nodes: I32) -> F32:
        rows = self._snapshot.nodes["vector_row"][nodes]
        return dots_at(self._snapshot.vectors, rows, self._query)

    def _likeness(self, nodes: I32) -> F32:
        columns = self._snapshot.nodes
        likeness = self._own(nodes)
        for side in ("previous", "following"):
            rows = columns[side][nodes]
            seen = (rows >= 0) & (rows < self._snapshot.n)
            rows = np.where(seen, rows, 0)
            seen &= columns["status"][rows] == LIVE
            # Where there is no neighbour, a middling one stands in for it.
            beside = np.where(seen, self._own(rows), self._middling)
            likeness += (np.float32(NEIGHBOUR) * beside).astype(np.float32)
        return likeness


def _share(values: F32, best: float) -> F32:
    return np.minimum(values / best, 1).astype(np.float32) if best > 0 else np.zeros_like(values)
