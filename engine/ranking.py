"""The score by which evidence is ordered: one weighted sum of parts between 0 and 1.

    keyword   BM25 of the turn in its context, as a share of the best
    session   BM25 of the turn's whole session, as a share of the best
    vector    likeness of the turn and, at a third each, of its neighbours, scaled so that the
              spread of the candidates is 0 to 1
    graph     what the walk gave the turn, as a share of the best
    speaker   1 where the turn was said by one of those that the question names
    time      how well the turn's time, or a date that it mentions, fits the time asked for
    asks      1 where the turn only asks (its weight is negative: such turns seldom answer)

The fused rank of the arms decides where the walk starts, and so comes in through `graph`.
"""

import numpy as np
import numpy.typing as npt

from ..kernels.bm25 import Workspace
from ..kernels.similarity import dots_at
from .analysis import Analysis
from .anchors import I32
from .config import RankConfig
from .graph import ASKS
from .snapshot import Snapshot

F32 = npt.NDArray[np.float32]
PARTS = ("keyword", "session", "vector", "graph", "speaker", "time", "asks")
NEIGHBOUR = 0.3
"""Weight of the likeness of the turn before and of the turn after."""


def features(
    candidates: I32,
    analysis: Analysis,
    snapshot: Snapshot,
    query: F32,
    graph: F32,
    time: F32,
    workspace: Workspace,
) -> dict[str, F32]:
    """The parts by name, float32 (m,), of candidate episodes int32 (m,).

    graph, time  float32 (m,), as found before; keyword and session scores are read from
    `workspace`, where the keyword arm left them
    """
    nodes = snapshot.nodes
    session_score = workspace.session_score[nodes["session"][candidates]]
    speakers = np.array(analysis.speakers, np.int32)
    return {
        "keyword": _share(workspace.score[candidates]),
        "session": _share(session_score),
        "vector": _spread(_likeness(candidates, snapshot, query)),
        "graph": _share(graph),
        "speaker": np.isin(nodes["speaker"][candidates], speakers).astype(np.float32),
        "time": time,
        "asks": (nodes["flags"][candidates] & ASKS).astype(np.float32),
    }


def weigh(parts: dict[str, F32], config: RankConfig) -> dict[str, F32]:
    """Each part times its weight."""
    return {name: np.float32(getattr(config, name)) * parts[name] for name in PARTS}


def total(weighted: dict[str, F32]) -> F32:
    """Sum of the weighted parts, added in the order of PARTS."""
    score = np.zeros_like(weighted[PARTS[0]])
    for name in PARTS:
        score += weighted[name]
    return score


def _likeness(candidates: I32, snapshot: Snapshot, query: F32) -> F32:
    nodes = snapshot.nodes
    around = [candidates, nodes["previous"][candidates], nodes["following"][candidates]]
    shares = (1.0, NEIGHBOUR, NEIGHBOUR)
    likeness = np.zeros(len(candidates), np.float32)
    own = np.empty(0, np.float32)
    for rows, share in zip(around, shares, strict=True):
        seen = (rows >= 0) & (rows < snapshot.n)
        values = dots_at(snapshot.vectors, nodes["vector_row"][np.where(seen, rows, 0)], query)
        own = values if rows is candidates else own
        # At the end of a session there is no neighbour: a middling one stands in for it.
        likeness += np.float32(share) * np.where(seen, values, own.mean() if len(own) else 0.0)
    return likeness.astype(np.float32)


def _share(values: F32) -> F32:
    best = values.max(initial=0)
    return values / best if best > 0 else np.zeros_like(values)


def _spread(values: F32) -> F32:
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
