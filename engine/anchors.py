"""Anchors: the episodes that single arms name, fused by reciprocal rank (MAGMA, section 3.2).

What an arm costs does not grow with the memory: where it would have to look at more than so many
episodes, it looks at those that the words of the question lead to, and at some others in order.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.beam import Adjacency
from ..kernels.bm25 import Params, Workspace, bm25
from ..kernels.edges import linked, neighbours
from ..kernels.rrf import rrf, rrf_discounted
from ..kernels.topk import topk, topk_at
from .analysis import Analysis
from .config import AnchorConfig
from .dates import TIME_MAX, TIME_MIN, Window
from .schema import LIVE, TIME_NONE, Kind, Relation
from .snapshot import Snapshot
from .vector_index import VectorIndex

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_DAY_US = 86_400_000_000
_AFTER_DAYS, _BEFORE_DAYS = 10.0, 3.0
_NEAR = 0.5
_REACH = float(np.log(1 / _NEAR))
"""Outside a window, times its days: how far away a time may be to be near."""
_SCANNED = 4096
"""Episodes that an arm looks at, of a time, of named people or of a name: a tenth of a millisecond.

Of more, those that the words of the question lead to must do, and `_FEW` others.
"""
_EDGES = 4 * _SCANNED
"""Edges of a named person's cue that are read: what others say of it stands there, too."""
_FEW = 512
"""Of too many: the first of a time, and the best by their words of those that may mention a hub."""
NO_NODES: I32 = np.empty(0, np.int32)


class Anchors(NamedTuple):
    """What the arms found: each arm's nodes best first, and all of them fused, best first."""

    arms: dict[str, I32]
    nodes: I32
    scores: F32


class Said(NamedTuple):
    """What the people that a question names have said, and where they spoke.

    speakers   int32, their cues
    episodes   int32, ascending; none where they said more than 4096 together
    adjacency  the graph, which knows the sessions

    A memory may hold thousands of others who talk of the same things: the
    arms name the best of these people's turns too, behind the best of all.
    """

    speakers: I32
    episodes: I32
    adjacency: Adjacency

    def present(self, sessions: I32) -> Mask:
        """Whether one of them spoke in each of some sessions, int32 (m,); -1 is none."""
        return linked(self.adjacency, sessions, Relation.HAS_PART, self.speakers)


def said_by(analysis: Analysis, snapshot: Snapshot) -> Said:
    """What the named speakers have said; nothing where the question names none."""
    speakers = _seen(analysis.speakers, snapshot)
    told = [_told_by(cue, snapshot) for cue in speakers.tolist()]
    known = [turns for turns in told if turns is not None]
    episodes = np.sort(np.concatenate([NO_NODES, *known]), kind="stable")
    if len(known) < len(told) or len(episodes) > _SCANNED:
        episodes = NO_NODES
    return Said(speakers, episodes, snapshot.adjacency)


def _seen(cues: Iterable[int], snapshot: Snapshot) -> I32:
    """The cues that the snapshot has: names are read from the graph, which may be further on."""
    return np.array([cue for cue in cues if cue < snapshot.n], np.int32)


def _told_by(speaker: int, snapshot: Snapshot) -> I32 | None:
    """Episodes of one speaker; None where the cue has too many edges to look."""
    cued = neighbours(snapshot.adjacency, speaker, Relation.CUES, _EDGES)
    # A name is a cue of what mentions it as well.
    return None if cued is None else cued[snapshot.nodes["speaker"][cued] == speaker]


def keyword_arm(
    analysis: Analysis,
    snapshot: Snapshot,
    mask: Mask | None,
    config: AnchorConfig,
    ws: Workspace,
    also: I32 = NO_NODES,
) -> I32:
    """Episodes whose words, in the context of the turns beside them, fit best (BM25).

    Behind them the best of what the named people said. The scores of episodes and sessions stay in
    `ws`: of those that the rarer words reach, and of `also`, whatever their words are (see
    `kernels.bm25`): what other arms have found, and what the named people said.
    """
    find = snapshot.graph.vocabulary.find
    numbers = np.array([find(term) for term in analysis.terms], np.int32)
    params = Params(from_previous=config.from_previous, from_following=config.from_following)
    boosts = np.ones(len(numbers), np.float32)
    scored = bm25(numbers, boosts, snapshot.postings, snapshot.documents, params, ws, also)
    if config.keyword <= 0:
        return NO_NODES
    best = _best(ws.score, scored, snapshot, mask, config.per_arm, floor=0.0)
    speaker = snapshot.nodes["speaker"][scored]
    theirs = [scored[speaker == cue] for cue in analysis.speakers]
    if not theirs:
        return best
    rows = np.concatenate(theirs)
    return _behind(best, _best(ws.score, rows, snapshot, mask, config.per_arm, floor=0.0))


def vector_arm(
    query: F32,
    snapshot: Snapshot,
    index: VectorIndex,
    said: Said,
    mask: Mask | None,
    config: AnchorConfig,
) -> I32:
    """Episodes whose vectors are nearest to the question's, and the nearest of what was `said`."""
    if config.vector <= 0:
        return NO_NODES
    if mask is None:
        best = _nearest(query, snapshot, index, config.per_arm)
    else:
        among = np.flatnonzero(mask).astype(np.int32)
        best = _nearest_of(among, query, snapshot, index, config.per_arm)
    theirs = said.episodes if mask is None else said.episodes[mask[said.episodes]]
    return _behind(best, _nearest_of(theirs, query, snapshot, index, config.per_arm))


def _nearest(query: F32, snapshot: Snapshot, index: VectorIndex, k: int) -> I32:
    """The nearest of all episodes."""
    # Some deleted ones are found as well and left out again: only where these are many, and hide
    # what is wanted, all that live are scanned.
    nodes, spare = snapshot.vector_nodes, min(snapshot.graph.n_deleted, k)
    near = index.nearest(snapshot.vectors, query, k + spare)
    found: I32 = nodes[near]
    live = _passing(found[found >= 0], snapshot, None)
    if len(live) >= k or len(near) < k + spare:
        return live[:k]
    return _nearest_of(nodes[nodes >= 0], query, snapshot, index, k)


def _nearest_of(episodes: I32, query: F32, snapshot: Snapshot, index: VectorIndex, k: int) -> I32:
    """The nearest of some episodes, ascending, by an exact scan."""
    if not len(episodes):
        return NO_NODES
    rows = snapshot.nodes["vector_row"][_passing(episodes, snapshot, None)]
    found: I32 = snapshot.vector_nodes[index.nearest(snapshot.vectors, query, k, rows[rows >= 0])]
    return found


def _behind(first: I32, more: I32) -> I32:
    """The nodes of both lists, those of the second behind, each once."""
    known = set(first.tolist())
    new = [node for node in more.tolist() if node not in known]
    return np.concatenate([first, np.array(new, np.int32)]) if new else first


def time_arm(
    analysis: Analysis, snapshot: Snapshot, mask: Mask | None, config: AnchorConfig, ws: Workspace
) -> I32:
    """Episodes in or near the times asked for; of those of one time the fitting words first.

    Of a time of more than 4096 episodes: those that the keyword arm scored, and the first ones.
    """
    if not analysis.windows or config.time <= 0:
        return NO_NODES
    told = _mentioning(analysis.dates, snapshot, ws)
    near = _near(analysis.windows, snapshot, ws)
    fit = time_fit(analysis.windows, snapshot.nodes["time_us"][near])
    # What tells of a date fits best, and the first of equal rows is kept.
    rows, kept = _distinct(np.concatenate([told, near]))
    fits = np.concatenate([np.ones(len(told), np.float32), fit])[kept]
    rows, fits = rows[fits > _NEAR], fits[fits > _NEAR]
    passing = _is_passing(rows, snapshot, mask)
    keyword = ws.score[rows]
    keyword /= max(float(keyword.max(initial=0)), 1e-9)
    rows, scores = rows[passing], (fits + keyword)[passing]
    return rows[topk(scores, config.per_arm)]


def _distinct(rows: I32) -> tuple[I32, I64]:
    """The rows ascending, each once, and where each stands first."""
    order = np.argsort(rows, kind="stable")
    found = rows[order]
    first = np.append(True, found[1:] != found[:-1])[: len(found)]
    return found[first], order[first]


def _near(windows: Sequence[Window], snapshot: Snapshot, ws: Workspace) -> I32:
    """Episodes that may fit the windows: all that do, or of too many the scored and the first."""
    spans = [_span(window, _REACH) for window in windows]
    parts = [rows for span in spans for rows in _between(span, snapshot, _SCANNED + 1)]
    if sum(map(len, parts)) <= _SCANNED:
        return np.concatenate(parts)
    few = _FEW // len(windows)
    first = [rows for w in windows for rows in _between(_span(w, 0.0), snapshot, few)]
    times = snapshot.nodes["time_us"][ws.scored]
    scored = [ws.scored[(times >= start) & (times < end)] for start, end in spans]
    return np.concatenate([*first, *scored])


def _span(window: Window, reach: float) -> tuple[int, int]:
    """[start, end) in us of what fits a window by more than exp(-reach)."""
    start = window.start_us - int(reach * _BEFORE_DAYS * _DAY_US)
    end = window.end_us + int(reach * _AFTER_DAYS * _DAY_US)
    return max(start, TIME_MIN), min(end, TIME_MAX)


def _between(span: tuple[int, int], snapshot: Snapshot, most: int) -> tuple[I32, I32]:
    """The first episodes of a span of time: of those sorted by time, and of the newer ones."""
    times, by_time, newer = snapshot.nodes["time_us"], snapshot.by_time, snapshot.timed_from
    low, high = (bisect_left(by_time, bound, key=times.__getitem__) for bound in span)
    later = times[newer : snapshot.n]
    # No time is the least of all numbers, and below every span.
    within = np.flatnonzero((later >= span[0]) & (later < span[1]))[:most]
    return by_time[low : min(high, low + most)], (within + newer).astype(np.int32)


def cue_arm(
    analysis: Analysis, snapshot: Snapshot, mask: Mask | None, config: AnchorConfig, ws: Workspace
) -> I32:
    """Episodes that mention the names asked for, fitting words first (MRAgent: match of cues)."""
    if config.cue <= 0:
        return NO_NODES
    cues = [cue for cue in analysis.names if cue not in analysis.speakers]
    return _best(ws.score, _mentioning(cues, snapshot, ws), snapshot, mask, config.per_arm)


def _mentioning(cues: Iterable[int], snapshot: Snapshot, ws: Workspace) -> I32:
    """Episodes that mention one of some cues, ascending; of a hub, as far as their words fit."""
    found, hubs = [NO_NODES], []
    for cue in _seen(cues, snapshot).tolist():
        nodes = neighbours(snapshot.adjacency, cue, Relation.MENTIONED_BY, _SCANNED)
        if nodes is None:
            hubs.append(cue)
        else:
            found.append(nodes)
    if hubs:
        best = topk_at(ws.score, ws.scored, _FEW)
        wanted = np.array(hubs, np.int32)
        found.append(best[linked(snapshot.adjacency, best, Relation.MENTIONS, wanted)])
    return _distinct(np.concatenate(found))[0]


def _best(
    scores: F32, rows: I32, snapshot: Snapshot, mask: Mask | None, k: int, floor: float = -np.inf
) -> I32:
    return topk_at(scores, _passing(rows, snapshot, mask), k, floor)


def _passing(rows: I32, snapshot: Snapshot, mask: Mask | None) -> I32:
    """The rows that are not deleted and pass the filters."""
    if mask is None and not snapshot.graph.n_deleted:
        return rows
    return rows[_is_passing(rows, snapshot, mask)]


def _is_passing(rows: I32, snapshot: Snapshot, mask: Mask | None) -> Mask:
    live: Mask = snapshot.nodes["status"][rows] == LIVE
    return live if mask is None else live & mask[rows]


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
    dates = _seen(analysis.dates, snapshot)
    if len(dates):
        fit[linked(snapshot.adjacency, episodes, Relation.MENTIONS, dates)] = 1.0
    return fit


def time_fit(windows: Sequence[Window], times: I64) -> F32:
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
