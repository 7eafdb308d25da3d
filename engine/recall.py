"""The read path: analysis, anchors, walk, ranking, evidence; one question over one snapshot."""

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.beam import BeamResult, Queries, beam
from ..kernels.bm25 import Workspace
from . import anchors as arms
from . import dates
from .analysis import INTENTS, Analysis, analyse
from .anchors import Anchors
from .config import BeamConfig, RecallConfig
from .evidence import Evidence, Recall, Step, moment
from .ranking import Ranked, Ranking
from .schema import RELATIONS, Kind, Relation
from .snapshot import Snapshot
from .tokens import TokenCounter
from .vector_index import VectorIndex

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
_SEED_FLOOR = 50


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


class Walk(NamedTuple):
    """What the beam kept for one question, by place; see `kernels.beam.BeamResult`."""

    rows: I32
    support: F32
    parent: I32
    relation: npt.NDArray[np.uint8]


NO_WALK = Walk(
    np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32), np.empty(0, np.uint8)
)


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
    found = _find_anchors(analysis, vector, snapshot, index, mask, workspace, config, watch)
    ranking = Ranking(found, analysis, snapshot, vector, workspace, config.rank)
    ranked = ranking.rank(found.nodes, np.zeros(len(found.nodes), np.float32))
    watch.lap("ranking")
    late = question.deadline is not None and time.perf_counter() > question.deadline
    walk = NO_WALK if late else _walk(analysis, vector, snapshot, ranked, question, config.beam)
    watch.lap("beam")
    if len(walk.rows):
        ranked = ranking.rank(*_supported(found.nodes, walk, snapshot, mask))
        watch.lap("ranking")
    chosen, tokens, cut = _within_budget(ranked.nodes[: question.k], snapshot, counter, question)
    arm_places = {name: _places(nodes) for name, nodes in found.arms.items()}
    walk_places = _places(walk.rows)
    evidence = tuple(
        _evidence(i, ranked, snapshot, arm_places, _path(snapshot, walk, walk_places.get(node)))
        for i, node in enumerate(ranked.nodes[:chosen].tolist())
    )
    watch.lap("evidence")
    return Recall(
        query=question.text,
        evidence=evidence,
        analysis=analysis,
        timings_ms=watch.timings_ms,
        cut_short="deadline" if late else cut,
        tokens=tokens,
        counter=counter.name,
    )


def _find_anchors(
    analysis: Analysis,
    vector: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    mask: arms.Mask | None,
    workspace: Workspace,
    config: RecallConfig,
    watch: Stopwatch,
) -> Anchors:
    settings = config.anchors
    found: dict[str, I32] = {}
    found["vector"] = arms.vector_arm(vector, snapshot, index, mask, settings)
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


def relation_gain(
    intent: dict[str, float], relations: npt.NDArray[np.int64], config: BeamConfig
) -> F32:
    """Factor of each relation, float32 (16,): exp(l1 (phi - max phi)); 0 for a closed one.

    phi is the mean of the intents' weights, by the share that each has (MAGMA, phi = w . onehot);
    the maximum is taken over the relations of which the memory has edges, int64 (16,) `relations`.
    """
    gain = np.zeros(RELATIONS, np.float32)
    opened = [
        relation for relation in Relation if relations[relation] and _is_open(relation, config)
    ]
    phi = {
        relation: sum(intent[i] * config.phi[i].get(forward(relation), 0.0) for i in INTENTS)
        for relation in opened
    }
    for relation in opened:
        gain[relation] = np.exp(config.structure * (phi[relation] - max(phi.values())))
    return gain


def forward(relation: Relation) -> str:
    """Name of a relation, or of the one that it reverses: what weights are given by."""
    return Relation(relation & ~1).name


def _is_open(relation: Relation, config: BeamConfig) -> bool:
    return any(forward(relation) in config.phi[intent] for intent in INTENTS)


def _walk(
    analysis: Analysis,
    vector: F32,
    snapshot: Snapshot,
    ranked: Ranked,
    question: Question,
    config: BeamConfig,
) -> Walk:
    """The walk from the best ranked; NO_WALK where it is switched off or has nowhere to start."""
    seeds = min(config.seeds, len(ranked.nodes))
    if not config.depth or not seeds:
        return NO_WALK
    result = beam(
        snapshot.adjacency,
        snapshot.beam_nodes,
        Queries(
            vectors=vector[None],
            anchor_ptr=np.array([0, seeds], np.int64),
            anchors=ranked.nodes[:seeds],
            anchor_scores=_seed_scores(ranked.scores, seeds),
            gain=relation_gain(analysis.intent, snapshot.graph.relations, config)[None],
            tag_gain=np.empty((1, 0), np.float32),
            window=np.array([_limits(question)], np.int64),
        ),
        width=config.width,
        depth=config.depth,
        budget=config.budget,
        similarity=config.semantics,
        gamma=config.gamma,
        hub=config.hub,
    )
    return _first(result)


def _limits(question: Question) -> tuple[int, int]:
    """The caller's window of time; (0, 0) for none."""
    if question.after_us is None and question.before_us is None:
        return 0, 0
    after = dates.TIME_MIN if question.after_us is None else question.after_us
    before = dates.TIME_MAX if question.before_us is None else question.before_us
    return after, before


def _first(result: BeamResult) -> Walk:
    count = int(result.count[0])
    return Walk(
        rows=result.rows[0, :count],
        support=result.support[0, :count],
        parent=result.parent[0, :count],
        relation=result.relation[0, :count],
    )


def _seed_scores(scores: F32, seeds: int) -> F32:
    """Scores of the seeds on a scale where the best has 1 and the one at rank 50 nothing."""
    low = scores[min(_SEED_FLOOR, len(scores)) - 1]
    spread = scores[0] - low
    if spread <= 0:
        return np.ones(seeds, np.float32)
    return np.clip((scores[:seeds] - low) / spread, 1e-3, 1.0).astype(np.float32)


def _supported(
    anchors: I32, walk: Walk, snapshot: Snapshot, mask: arms.Mask | None
) -> tuple[I32, F32]:
    """Anchors and the episodes that the walk came to, with the support that it gave each."""
    reached = snapshot.nodes["kind"][walk.rows] == Kind.EPISODE
    if mask is not None:
        reached &= mask[walk.rows]
    rows, support = walk.rows[reached], walk.support[reached]
    nodes = np.union1d(anchors, rows).astype(np.int32)
    values = np.zeros(len(nodes), np.float32)
    values[np.searchsorted(nodes, rows)] = support
    return nodes, values


def _within_budget(
    nodes: I32, snapshot: Snapshot, counter: TokenCounter, question: Question
) -> tuple[int, int, str | None]:
    """How many of the nodes, best first, fit the token budget, their tokens, and why it ended."""
    spent = 0
    for i, node in enumerate(nodes):
        tokens = counter.count(snapshot.graph.turn(int(node)).text)
        if question.budget_tokens is not None and spent + tokens > question.budget_tokens:
            return i, spent, "tokens"
        spent += tokens
    return len(nodes), spent, None


def _evidence(
    place: int,
    ranked: Ranked,
    snapshot: Snapshot,
    arms_places: dict[str, dict[int, int]],
    path: tuple[Step, ...],
) -> Evidence:
    node = int(ranked.nodes[place])
    turn = snapshot.graph.turn(node)
    parts = {name: round(float(values[place]), 6) for name, values in ranked.parts.items()}
    return Evidence(
        node=node_id(snapshot, node),
        id=turn.id,
        session=turn.session,
        speaker=turn.speaker,
        role=turn.role,
        time=moment(turn.time_us, turn.utc_offset_min),
        text=turn.text,
        caption=turn.caption,
        source=turn.source,
        agent=turn.agent,
        score=round(float(ranked.scores[place]), 6),
        parts={name: part for name, part in parts.items() if part},
        arms={name: at[node] + 1 for name, at in arms_places.items() if node in at},
        path=path,
    )


def _places(nodes: I32) -> dict[int, int]:
    """Place of each node, the first where it stands twice."""
    return {node: place for place, node in reversed(list(enumerate(nodes.tolist())))}


def _path(snapshot: Snapshot, walk: Walk, place: int | None) -> tuple[Step, ...]:
    """Steps from an anchor to a place of the walk; () for no place."""
    steps: list[Step] = []
    while place is not None and place >= 0:
        row = int(walk.rows[place])
        anchor = walk.parent[place] < 0
        relation = "anchor" if anchor else Relation(int(walk.relation[place])).name
        steps.append(Step(relation, node_id(snapshot, row), node_label(snapshot, row)))
        place = int(walk.parent[place])
    return tuple(reversed(steps))


def node_id(snapshot: Snapshot, node: int) -> str:
    """Stable id of a node: "e" and the journal row of an episode, else its kind and its key."""
    kind = Kind(int(snapshot.nodes["kind"][node]))
    if kind == Kind.EPISODE:
        return f"e{int(snapshot.nodes['seq'][node])}"
    return f"{kind.name.lower()}:{snapshot.graph.label(node)}"


def node_label(snapshot: Snapshot, node: int) -> str:
    """What a node is called where a person reads it: the id of a turn, a name, a date."""
    if snapshot.nodes["kind"][node] == Kind.EPISODE:
        return snapshot.graph.turn(node).id
    return snapshot.graph.label(node)
