"""The fast path: one turn becomes an episode with its terms, its neighbours, names and cues.

No model takes part. What is made here is derived from the journal in its order, and the same
journal gives the same graph, whether it came in one call or in many.
"""

import re
from collections import Counter

import numpy as np

from ..io.turn import TurnRecord
from . import dates, entities
from .config import GraphConfig
from .graph import ASKS, NAMED, SPEAKS, Graph
from .schema import TIME_NONE, Kind, Relation
from .stage import Stage
from .text import tokens

MAX_TF = int(np.iinfo(np.uint16).max)
_QUESTION = re.compile(r"[?？][\s\"'”’)\]]*$")
_NO_CUE = re.compile(r"^[\W\d_]+$|^.$|^[a-z]{2}$")


def index_turn(
    stage: Stage, seq: int, record: TurnRecord, vector_row: int, config: GraphConfig
) -> int:
    """Node of the new episode made from a turn; its edges and terms wait in the stage."""
    graph = stage.graph
    session = _session(graph, record.session)
    spoken = _spoken(record)
    found = list(tokens(spoken))
    episode = graph.add_episode(
        record,
        flags=ASKS if _QUESTION.search(record.text) else 0,
        time_us=TIME_NONE if record.time_us is None else record.time_us,
        seq=seq,
        vector_row=vector_row,
        session=session,
        speaker=_speaker(graph, record.speaker),
        length=len(found),
    )
    _place(stage, episode, session, config)
    frequencies = Counter(term for term, _ in found)
    labels = dict(reversed(found))
    cues = _keyword_cues(stage, frequencies, config.cues_per_episode)
    _post(stage, episode, session, frequencies)
    _mention(stage, episode, record, spoken, config)
    _cue(stage, episode, {cue: labels[cue] for cue in cues}, config)
    return episode


def _spoken(record: TurnRecord) -> str:
    return record.text if record.caption is None else f"{record.text}\n{record.caption}"


def _session(graph: Graph, name: str) -> int:
    known = len(graph)
    session = graph.named(Kind.SESSION, name, name)
    graph.n_sessions += session >= known
    return session


def _speaker(graph: Graph, name: str | None) -> int:
    if name is None:
        return -1
    cue = _name(graph, name)
    graph.flag(cue, SPEAKS)
    return cue


def _name(graph: Graph, said: str) -> int:
    """Cue of a name, marked as one."""
    cue = graph.named(Kind.CUE, entities.normal(said), said)
    graph.flag(cue, NAMED)
    return cue


def _place(stage: Stage, episode: int, session: int, config: GraphConfig) -> None:
    """Put an episode on the time line: after the one before it, and into its session."""
    graph = stage.graph
    previous = int(graph.nodes["previous"][session])
    if previous >= 0:
        graph.nodes.put("previous", episode, previous)
        graph.nodes.put("following", previous, episode)
        stage.link(episode, [previous], Relation.FOLLOWS, [1.0])
    elif graph.newest >= 0:
        stage.link(episode, [graph.newest], Relation.FOLLOWS, [config.across_sessions])
    graph.nodes.put("previous", session, episode)
    stage.link(episode, [session], Relation.PART_OF, [1.0])
    graph.newest = episode


def _post(stage: Stage, episode: int, session: int, frequencies: Counter[str]) -> None:
    graph, length = stage.graph, frequencies.total()
    graph.n_docs += 1
    if graph.nodes["time_us"][episode] > graph.latest_us:
        graph.latest = episode
    graph.total_length += length
    total = graph.nodes["session_length"][session] + length
    graph.nodes.put("session_length", session, total)
    terms = [graph.vocabulary.add(term) for term in frequencies]
    stage.post(terms, episode, [min(tf, MAX_TF) for tf in frequencies.values()])


def _mention(
    stage: Stage, episode: int, record: TurnRecord, spoken: str, config: GraphConfig
) -> None:
    """Link an episode to the names and the dates that it mentions, and names that it joins."""
    graph = stage.graph
    said = entities.names(spoken, lambda name: _is_name(graph, name))
    cues = [_name(graph, name) for name in said] + _dates(graph, record)
    distinct = list(dict.fromkeys(cues))
    stage.link(episode, distinct, Relation.MENTIONS, [config.mention] * len(distinct))
    for first, second in entities.aliases(spoken):
        stage.link(_name(graph, first), [_name(graph, second)], Relation.SIMILAR, [1.0])


def _is_name(graph: Graph, name: str) -> bool:
    cue = graph.find(Kind.CUE, name)
    return cue >= 0 and bool(graph.nodes["flags"][cue] & NAMED)


def _dates(graph: Graph, record: TurnRecord) -> list[int]:
    """Cues of the days and months that a turn speaks of, read from its own time."""
    if record.time_us is None:
        return []
    offset = record.utc_offset_min or 0
    windows = dates.find_windows(record.text, record.time_us, offset)
    labels = [label for window in windows for label in dates.date_labels(window, offset)]
    return [graph.named(Kind.CUE, label, label) for label in labels]


def _keyword_cues(stage: Stage, frequencies: Counter[str], most: int) -> list[str]:
    """Terms of an episode that are rarest so far, ties in the order said."""
    find, candidates = stage.graph.vocabulary.find, (t for t in frequencies if not _NO_CUE.match(t))
    return sorted(candidates, key=lambda term: stage.degree(find(term)))[:most]


def _cue(stage: Stage, episode: int, labels: dict[str, str], config: GraphConfig) -> None:
    """Rule-made cues: the speaker and the rarest words, as untagged triples."""
    graph = stage.graph
    cues = [graph.named(Kind.CUE, term, label) for term, label in labels.items()]
    speaker = int(graph.nodes["speaker"][episode])
    if speaker >= 0:
        cues.append(speaker)
    stage.add_triples(list(dict.fromkeys(cues)), -1, episode, config.cue)
