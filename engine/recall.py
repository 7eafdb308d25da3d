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
from .ranking import PARTS, features, total, weigh
from .schema import RELATIONS, Kind, Relation
from .snapshot import Snapshot
from .tokens import TokenCounter
from .vector_index import VectorIndex

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


class Walk(NamedTuple):
    """The result of the beam for one question, by place."""

    rows: I32
    scores: F32
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
    late = question.deadline is not None and time.perf_counter() > question.deadline
    walk = NO_WALK if late else _walk(analysis, vector, snapshot, found, question, config.beam)
    watch.lap("beam")
    order, candidates, parts = _rank(
        analysis, vector, snapshot, found, walk, mask, workspace, config
    )
    watch.lap("ranking")
    chosen, tokens, cut = _within_budget(
        order[: question.k], candidates, snapshot, counter, question
    )
    evidence = tuple(_evidence(i, candidates, parts, snapshot, found, walk) for i in chosen)
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


def relation_gain(intent: dict[str, float], config: BeamConfig) -> F32:
    """Factor of each relation, float32 (16,): exp(l1 (phi - max phi)); 0 for a closed one.

    phi is the mean of the intents' weights, by the share that each has (MAGMA, phi = w . onehot).
    """
    phi = np.zeros(RELATIONS)
    opened = np.zeros(RELATIONS, bool)
    for relation in Relation:
        name = Relation(relation & ~1).name
        for kind in INTENTS:
            phi[relation] += intent[kind] * config.phi[kind].get(name, 0.0)
            opened[relation] |= name in config.phi[kind]
    top = phi[opened].max(initial=0.0)
    return np.where(opened, np.exp(config.structure * (phi - top)), 0.0).astype(np.float32)


def _walk(
    analysis: Analysis,
    vector: F32,
    snapshot: Snapshot,
    found: Anchors,
    question: Question,
    config: BeamConfig,
) -> Walk:
    if not config.depth or not len(found.nodes):
        return NO_WALK
    seeds = min(config.seeds, len(found.nodes))
    result = beam(
        snapshot.adjacency,
        snapshot.beam_nodes,
        Queries(
            vectors=vector[None],
            anchor_ptr=np.array([0, seeds], np.int64),
            anchors=found.nodes[:seeds],
            anchor_scores=found.scores[:seeds],
            gain=relation_gain(analysis.intent, config)[None],
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
        scores=result.scores[0, :count],
        parent=result.parent[0, :count],
        relation=result.relation[0, :count],
    )


def _rank(
    analysis: Analysis,
    vector: F32,
    snapshot: Snapshot,
    found: Anchors,
    walk: Walk,
    mask: arms.Mask | None,
    workspace: Workspace,
    config: RecallConfig,
) -> tuple[npt.NDArray[np.int64], I32, dict[str, F32]]:
    """Order of the candidates, the candidates, and their weighted parts."""
    reached = walk.rows[snapshot.nodes["kind"][walk.rows] == Kind.EPISODE]
    if mask is not None:
        reached = reached[mask[reached]]
    candidates = np.union1d(found.nodes, reached).astype(np.int32)
    graph = np.zeros(len(candidates), np.float32)
    places = np.searchsorted(candidates, walk.rows).clip(max=max(len(candidates) - 1, 0))
    if len(candidates):
        hit = candidates[places] == walk.rows
        graph[places[hit]] = walk.scores[hit]
    fit = arms.time_fit_of(analysis, snapshot, candidates)
    parts = weigh(
        features(candidates, analysis, snapshot, vector, graph, fit, workspace), config.rank
    )
    return np.lexsort((candidates, -total(parts))), candidates, parts


def _within_budget(
    order: npt.NDArray[np.int64],
    candidates: I32,
    snapshot: Snapshot,
    counter: TokenCounter,
    question: Question,
) -> tuple[list[int], int, str | None]:
    """Places of the candidates that fit the token budget, best first, their tokens, and a cut."""
    chosen: list[int] = []
    spent = 0
    for i in order:
        tokens = counter.count(snapshot.graph.turn(int(candidates[i])).text)
        if question.budget_tokens is not None and spent + tokens > question.budget_tokens:
            return chosen, spent, "tokens"
        chosen.append(int(i))
        spent += tokens
    return chosen, spent, None


def _evidence(
    place: int,
    candidates: I32,
    parts: dict[str, F32],
    snapshot: Snapshot,
    found: Anchors,
    walk: Walk,
) -> Evidence:
    node = int(candidates[place])
    turn = snapshot.graph.turn(node)
    weights = {name: round(float(parts[name][place]), 6) for name in PARTS}
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
        score=round(float(sum(float(parts[name][place]) for name in PARTS)), 6),
        parts={name: weight for name, weight in weights.items() if weight},
        arms=_ranks(found, node),
        path=_path(snapshot, walk, node),
    )


def _ranks(found: Anchors, node: int) -> dict[str, int]:
    ranks = {}
    for name, nodes in found.arms.items():
        at = np.flatnonzero(nodes == node)
        if len(at):
            ranks[name] = int(at[0]) + 1
    return ranks


def _path(snapshot: Snapshot, walk: Walk, node: int) -> tuple[Step, ...]:
    at = np.flatnonzero(walk.rows == node)
    place = int(at[0]) if len(at) else -1
    steps: list[Step] = []
    while place >= 0:
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
