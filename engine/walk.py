"""The walk from the best anchors: how relations fit the intent, and what the beam brings back."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.beam import Queries, beam
from .analysis import INTENTS, Analysis
from .anchors import Mask
from .config import BeamConfig
from .dates import TIME_MAX, TIME_MIN
from .ranking import Ranked
from .schema import RELATIONS, Kind, Relation
from .snapshot import Snapshot

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
_SEED_FLOOR = 50
_FORWARD = [(relation.value, Relation(relation & ~1).name) for relation in Relation]
"""Each relation, and what weights are given by: its name, or that of the one it reverses."""


class Walk(NamedTuple):
    """What the beam kept for one question, by place; see `kernels.beam.BeamResult`."""

    rows: I32
    support: F32
    parent: I32
    relation: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.uint8]


NO_WALK = Walk(
    rows=np.empty(0, np.int32),
    support=np.empty(0, np.float32),
    parent=np.empty(0, np.int32),
    relation=np.empty(0, np.uint8),
    depth=np.empty(0, np.uint8),
)


def walk(
    analysis: Analysis,
    query: F32,
    snapshot: Snapshot,
    ranked: Ranked,
    window_us: tuple[int | None, int | None],
    config: BeamConfig,
) -> Walk:
    """The walk from the best ranked; NO_WALK where it is switched off or has nowhere to start.

    query      float32 (d,), the embedded question
    window_us  [start, end) that episodes must lie in; (None, None) for all
    """
    seeds = min(config.seeds, len(ranked.nodes))
    if not config.depth or not seeds:
        return NO_WALK
    gain = relation_gain(analysis.intent, snapshot.graph.relations, config)
    result = beam(
        snapshot.adjacency,
        snapshot.beam_nodes,
        Queries(
            vectors=query[None],
            anchor_ptr=np.array([0, seeds], np.int64),
            anchors=ranked.nodes[:seeds],
            anchor_scores=_seed_scores(ranked.scores, seeds),
            gain=gain[None],
            tag_gain=np.empty((1, 0), np.float32),
            window=np.array([_limits(*window_us)], np.int64),
        ),
        width=config.width,
        depth=config.depth,
        budget=config.budget,
        similarity=config.semantics,
        gamma=config.gamma,
        hub=config.hub,
        limit=config.hub_limit,
    )
    kept = slice(int(result.count[0]))
    return Walk(
        rows=result.rows[0, kept],
        support=result.support[0, kept],
        parent=result.parent[0, kept],
        relation=result.relation[0, kept],
        depth=result.depth[0, kept],
    )


def reached(walk: Walk, snapshot: Snapshot, mask: Mask | None) -> tuple[I32, F32]:
    """Episodes that the walk came to and that the filters let pass, and the support of each."""
    passing = snapshot.nodes["kind"][walk.rows] == Kind.EPISODE
    if mask is not None:
        passing &= mask[walk.rows]
    return walk.rows[passing], walk.support[passing]


def relation_gain(
    intent: dict[str, float], relations: npt.NDArray[np.int64], config: BeamConfig
) -> F32:
    """Factor of each relation, float32 (16,): exp(l1 (phi - max phi)); 0 for a closed one.

    phi is the mean of the intents' weights, by the share that each has (MAGMA, phi = w . onehot);
    the maximum is taken over the relations of which the memory has edges, int64 (16,) `relations`.
    """
    phi: dict[str, float] = {}
    for name in INTENTS:
        for relation, weight in config.phi[name].items():
            phi[relation] = phi.get(relation, 0.0) + intent[name] * weight
    count = relations.tolist()
    fits = {code: phi[name] for code, name in _FORWARD if count[code] and name in phi}
    gain = np.zeros(RELATIONS, np.float32)
    if fits:
        values = np.array(list(fits.values()))
        gain[list(fits)] = np.exp(config.structure * (values - values.max()))
    return gain


def _seed_scores(scores: F32, seeds: int) -> F32:
    """Scores of the seeds on a scale where the best has 1 and the one at rank 50 nothing."""
    low = scores[min(_SEED_FLOOR, len(scores)) - 1]
    spread = scores[0] - low
    if spread <= 0:
        return np.ones(seeds, np.float32)
    shares: F32 = np.clip((scores[:seeds] - low) / spread, 1e-3, 1.0).astype(np.float32)
    return shares


def _limits(start_us: int | None, end_us: int | None) -> tuple[int, int]:
    """The window as the beam reads it: (0, 0) for none."""
    if start_us is None and end_us is None:
        return 0, 0
    return TIME_MIN if start_us is None else start_us, TIME_MAX if end_us is None else end_us
