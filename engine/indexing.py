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
from .graph import ALIASED, ASKS, NAMED, SPEAKS, Graph
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
    graph.seq = seq
    session = _session(graph, record.session)
    spoken = _spoken(record)
    found = list(tokens(spoken))
    speaker = _speaker(graph, record.speaker)
    episode = graph.add_node(
        Kind.EPISODE,
        flags=ASKS if _QUESTION.search(record.text) else 0,
        time_us=TIME_NONE if record.time_us is None else record.time_us,
        vector_row=vector_row,
        session=session,
        speaker=speaker,
        length=len(found),
    )
    _place(stage, episode, session, config)
    _attend(stage, speaker, session)
    if graph.nodes["time_us"][episode] > graph.latest_us:
        graph.latest, graph.latest_offset_min = episode, record.utc_offset_min or 0
    frequencies = Counter(term for term, _ in found)
    numbers = [graph.vocabulary.add(term) for term in frequencies]
    cues = _keyword_cues(stage, dict(zip(frequencies, numbers, strict=True)), config)
    _post(stage, episode, session, numbers, frequencies)
    _mention(stage, episode, record, spoken, config)
    labels = dict(reversed(found))
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


def _attend(stage: Stage, speaker: int, session: int) -> None:
    """Make a speaker part of the session in which he or she speaks."""
    if speaker < 0:
        return
    graph = stage.graph
    if session not in graph.present:
        known = graph.linked(session, Relation.HAS_PART)
        graph.present[session] = set(known[graph.nodes["kind"][known] == Kind.CUE].tolist())
    if speaker not in graph.present[session]:
        graph.present[session].add(speaker)
        stage.link(speaker, [session], Relation.PART_OF, [1.0])


def _post(
    stage: Stage, episode: int, session: int, numbers: list[int], frequencies: Counter[str]
) -> None:
    graph, length = stage.graph, frequencies.total()
    graph.n_docs += 1
    graph.total_length += length
    graph.nodes.put("length", session, graph.nodes["length"][session] + length)
    stage.post(numbers, episode, [min(tf, MAX_TF) for tf in frequencies.values()])


def _mention(
    stage: Stage, episode: int, record: TurnRecord, spoken: str, config: GraphConfig
) -> None:
    """Link an episode to the names and the dates that it mentions, and names that it joins."""
    graph = stage.graph
    said = entities.names(spoken, lambda name: _is_name(graph, name))
    cues = [_name(graph, name) for name in said] + _dates(graph, record)
    distinct = list(dict.fromkeys(cues))
    stage.link(episode, distinct, Relation.MENTIONS, [config.mention] * len(distinct))
    for pair in entities.aliases(spoken):
        first, second = (_name(graph, name) for name in pair)
        stage.link(first, [second], Relation.SIMILAR, [1.0])
        graph.flag(first, ALIASED)
        graph.flag(second, ALIASED)


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


def _keyword_cues(stage: Stage, numbers: dict[str, int], config: GraphConfig) -> list[str]:
    """Terms of an episode that are rarest so far, ties in the order said; none that are common."""
    said = (term for term in numbers if not _NO_CUE.match(term))
    degrees = {term: stage.degree(numbers[term]) for term in said}
    rare = [term for term, degree in degrees.items() if degree <= config.cue_limit]
    return sorted(rare, key=degrees.__getitem__)[: config.cues_per_episode]


def _cue(stage: Stage, episode: int, labels: dict[str, str], config: GraphConfig) -> None:
    """Rule-made cues: the speaker and the rarest words, as untagged triples."""
    graph = stage.graph
    cues = [graph.named(Kind.CUE, term, label) for term, label in labels.items()]
    speaker = int(graph.nodes["speaker"][episode])
    if speaker >= 0:
        cues.append(speaker)
    stage.add_triples(list(dict.fromkeys(cues)), -1, episode, config.cue)
