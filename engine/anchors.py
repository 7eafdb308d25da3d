"""Anchors: the episodes that single arms name, fused by reciprocal rank (MAGMA, section 3.2)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.bm25 import Params, Workspace, bm25
from ..kernels.rrf import rrf, rrf_discounted
from ..kernels.topk import topk_at
from .analysis import Analysis
from .config import AnchorConfig
from .dates import Window
from .schema import LIVE, TIME_NONE, Kind, Relation
from .snapshot import Snapshot
from .vector_index import VectorIndex

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_DAY_US = 86_400_000_000
_AFTER_DAYS, _BEFORE_DAYS = 10.0, 3.0
_NEAR = 0.5
_SCANNED = 4096
"""Vectors of named people's turns that are scanned: 0.1 ms; of more, the best of all must do."""
NO_NODES: I32 = np.empty(0, np.int32)


class Anchors(NamedTuple):
    """What the arms found: each arm's nodes best first, and all of them fused, best first."""

    arms: dict[str, I32]
    nodes: I32
    scores: F32


class Said(NamedTuple):
    """What the people that a question names have said, and where they spoke.

    episodes  int32, ascending
    sessions  bool (n,), by node: the sessions in which they spoke

    A memory may hold thousands of others who talk of the same things: the
    arms name the best of these people's turns too, behind the best of all.
    """

    episodes: I32
    sessions: Mask


def said_by(analysis: Analysis, snapshot: Snapshot) -> Said:
    """What the named speakers have said; nothing where the question names none."""
    speaker = snapshot.nodes["speaker"]
    rows = [np.flatnonzero(speaker == cue) for cue in analysis.speakers]
    episodes: I32 = np.sort(np.concatenate([NO_NODES, *rows])).astype(np.int32)
    sessions = np.zeros(snapshot.n, np.bool_)
    sessions[snapshot.nodes["session"][episodes]] = True
    return Said(episodes, sessions)


def keyword_arm(
    analysis: Analysis, snapshot: Snapshot, mask: Mask | None, config: AnchorConfig, ws: Workspace
) -> I32:
    """Episodes whose words, in the context of the turns beside them, fit best (BM25).

    Behind them the best of what the named people said. The scores of all episodes and sessions
    stay in `ws`.
    """
    find = snapshot.graph.vocabulary.find
    numbers = np.array([find(term) for term in analysis.terms], np.int32)
    params = Params(from_previous=config.from_previous, from_following=config.from_following)
    boosts = np.ones(len(numbers), np.float32)
    touched = bm25(numbers, boosts, snapshot.postings, snapshot.documents, params, ws)
    best = _best(ws.score, touched, snapshot, mask, config.per_arm)
    theirs = np.isin(snapshot.nodes["speaker"][touched], np.array(analysis.speakers, np.int32))
    return _behind(best, _best(ws.score, touched[theirs], snapshot, mask, config.per_arm))


def vector_arm(
    query: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    said: Said,
    mask: Mask | None,
    config: AnchorConfig,
) -> I32:
    """Episodes whose vectors are nearest to the question's, and the nearest of what was `said`."""
    nodes, graph = snapshot.vector_nodes, snapshot.graph
    if mask is None and graph.n_deleted <= config.per_arm:
        # So few deleted ones are found as well and left out again: no scan is needed for them.
        near = index.nearest(snapshot.vectors, query, config.per_arm + graph.n_deleted)
        found: I32 = nodes[near]
        live: Mask = (found >= 0) & (snapshot.nodes["status"][found] == LIVE)
        best = found[live][: config.per_arm]
    else:
        best = _nearest_of(np.unique(nodes[nodes >= 0]), query, snapshot, index, mask, config)
    if len(said.episodes) > _SCANNED:
        return best
    return _behind(best, _nearest_of(said.episodes, query, snapshot, index, mask, config))


def _nearest_of(
    episodes: I32,
    query: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    mask: Mask | None,
    config: AnchorConfig,
) -> I32:
    """The nearest of some episodes, by an exact scan."""
    passing = snapshot.nodes["status"][episodes] == LIVE
    if mask is not None:
        passing &= mask[episodes]
    rows = snapshot.nodes["vector_row"][episodes[passing]]
    rows = np.sort(rows[rows >= 0]).astype(np.int32)
    found: I32 = snapshot.vector_nodes[index.nearest(snapshot.vectors, query, config.per_arm, rows)]
    return found


def _behind(first: I32, more: I32) -> I32:
    """The nodes of both lists, those of the second behind, each once."""
    return np.concatenate([first, more[~np.isin(more, first)]])


def time_arm(
    analysis: Analysis, snapshot: Snapshot, mask: Mask | None, config: AnchorConfig, ws: Workspace
) -> I32:
    """Episodes in or near the times asked for; of those of one time the fitting words first."""
    if not analysis.windows:
        return NO_NODES
    rows = np.flatnonzero(snapshot.nodes["kind"] == Kind.EPISODE).astype(np.int32)
    fit = time_fit_of(analysis, snapshot, rows)
    near = fit > _NEAR
    scores = np.zeros(snapshot.n, np.float32)
    keyword = ws.score[rows[near]]
    scores[rows[near]] = fit[near] + keyword / max(float(keyword.max(initial=0)), 1e-9)
    return _best(scores, rows[near], snapshot, mask, config.per_arm)


def cue_arm(
    analysis: Analysis, snapshot: Snapshot, mask: Mask | None, config: AnchorConfig, ws: Workspace
) -> I32:
    """Episodes that mention the names asked for, fitting words first (MRAgent: match of cues)."""
    cues = [cue for cue in analysis.names if cue not in analysis.speakers]
    if not cues:
        return NO_NODES
    rows: I32 = np.unique(np.concatenate([_mentioning(snapshot, cue) for cue in cues]))
    return _best(ws.score, rows, snapshot, mask, config.per_arm)


def _mentioning(snapshot: Snapshot, cue: int) -> I32:
    row = snapshot.graph.edges.row(cue)
    nodes: I32 = row["dst"][row["relation"] == Relation.MENTIONED_BY]
    return nodes[nodes < snapshot.n]


def _best(scores: F32, rows: I32, snapshot: Snapshot, mask: Mask | None, k: int) -> I32:
    keep = snapshot.nodes["status"][rows] == LIVE
    if mask is not None:
        keep &= mask[rows]
    return topk_at(scores, rows[keep], k)


def fuse(arms: dict[str, I32], config: AnchorConfig) -> Anchors:
    """The arms' nodes fused: sum over arms of weight / (k + rank), scaled to a best of 1."""
    weights = {name: float(getattr(config, name)) for name in arms}
    used = [name for name in arms if weights[name] > 0 and len(arms[name])]
    if not used:
        return Anchors(arms, NO_NODES, np.empty(0, np.float32))
    values = np.array([weights[name] for name in used], np.float32)
    fused_by = rrf_discounted if config.discount else rrf
    nodes, scores = fused_by([arms[name] for name in used], values, config.rrf_k)
    return Anchors(arms, nodes, scores / scores[0])


def time_fit_of(analysis: Analysis, snapshot: Snapshot, episodes: I32) -> F32:
    """How well episodes, int32 (m,), fit the times asked for, by when they were or what they say.

    An episode that mentions a date asked for fits as if it were of that date.
    """
    fit = time_fit(analysis.windows, snapshot.nodes["time_us"][episodes])
    for cue in analysis.dates:
        fit[np.isin(episodes, _mentioning(snapshot, cue))] = 1.0
    return fit


def time_fit(windows: Sequence[Window], times: npt.NDArray[np.int64]) -> F32:
    """How well times, int64 us (m,), fit the windows: 1 inside, falling with the days outside.

    It falls slower after a window than before it: what happened is told later. No time fits none.
    """
    fit = np.zeros(len(times), np.float32)
    for window in windows:
        after = np.maximum(times.astype(np.float64) - (window.end_us - 1), 0) / _DAY_US
        before = np.maximum(window.start_us - times.astype(np.float64), 0) / _DAY_US
        fit = np.maximum(fit, np.exp(-after / _AFTER_DAYS - before / _BEFORE_DAYS))
    # No time is the least of all numbers, which would fit whatever has no beginning.
    return np.where(times == TIME_NONE, 0, fit).astype(np.float32)


def episodes_allowed(
    snapshot: Snapshot, after_us: int | None, before_us: int | None, speaker: int | None
) -> Mask | None:
    """Which nodes the caller's filters let pass, bool (n,); None where there is no filter."""
    if after_us is None and before_us is None and speaker is None:
        return None
    nodes = snapshot.nodes
    mask: Mask = nodes["kind"] == Kind.EPISODE
    if after_us is not None or before_us is not None:
        mask &= nodes["time_us"] != TIME_NONE
    if after_us is not None:
        mask &= nodes["time_us"] >= after_us
    if before_us is not None:
        mask &= nodes["time_us"] < before_us
    if speaker is not None:
        mask &= nodes["speaker"] == speaker
    return mask
