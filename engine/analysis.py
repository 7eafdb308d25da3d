"""Query analysis by rules: intent as soft weights, windows of time, names and terms (MAGMA)."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from .dates import Window, date_labels, find_windows
from .entities import names as find_names
from .entities import normal
from .graph import NAMED, SPEAKS, Graph
from .schema import TIME_NONE, Kind, Relation
from .snapshot import Snapshot
from .text import terms, words

INTENTS: Final = ("why", "when", "entity", "open")
_SIGNS: Final = {
    "why": re.compile(
        r"\b(?:why|how come|reasons?|because|cause[ds]?|causing|led to|motivat\w+|inspir\w+"
        r"|what (?:made|makes|drove|prompted))\b|为什么|为何|怎么会|原因|なぜ|どうして",
        re.I,
    ),
    "when": re.compile(
        r"\b(?:when|how (?:long|often|recently)|(?:what|which) (?:date|day|month|year|time|season|"
        r"week|weekend)|before|after|since|until|first time|last time|ago|recently|latest)\b"
        r"|什么时候|何时|几月|哪天|哪年|多久|几点|いつ",
        re.I,
    ),
    "entity": re.compile(
        r"\b(?:who|whom|whose|which|where"
        r"|what(?:'s| is| was| are| were)? (?:the )?(?:name|kind|type)"
        r"|name of|called)\b|谁|哪里|哪儿|哪个|什么地方|誰|どこ|どの",
        re.I,
    ),
}
_LONGEST_NAME: Final = 4


class Analysis(msgspec.Struct, frozen=True):
    """What the rules read in a question.

    intent    weight of each of INTENTS; they sum to 1
    windows   the times that it speaks of
    names     cues of the names in it, node ids by row, aliases that the memory knows included
    speakers  those of them that speak in this memory
    dates     cues of the days, months and years in it, as far as the memory speaks of them
    terms     index terms, without the names of speakers
    """

    text: str
    intent: dict[str, float]
    windows: tuple[Window, ...]
    names: tuple[int, ...]
    speakers: tuple[int, ...]
    dates: tuple[int, ...]
    terms: tuple[str, ...]


def analyse(
    text: str, snapshot: Snapshot, *, asked_us: int | None = None, utc_offset_min: int | None = None
) -> Analysis:
    """What `text` asks for.

    asked_us        when it is asked, microseconds UTC; None = the time of the newest turn
    utc_offset_min  the asker's offset; None = that of the newest turn
    """
    reference, offset = _newest(snapshot)
    offset = offset if utc_offset_min is None else utc_offset_min
    windows = find_windows(text, reference if asked_us is None else asked_us, offset)
    cues = _named(text, snapshot.graph)
    speakers = tuple(cue for cue in cues if is_speaker(snapshot, cue))
    return Analysis(
        text=text,
        intent=_intent(text),
        windows=tuple(windows),
        names=tuple(cues),
        speakers=speakers,
        dates=tuple(_date_cues(windows, offset, snapshot.graph)),
        terms=_content_terms(text, [snapshot.graph.label(cue) for cue in speakers]),
    )


def is_speaker(snapshot: Snapshot, cue: int) -> bool:
    """Whether a cue is the name of somebody who speaks in the memory."""
    return bool(snapshot.graph.nodes["flags"][cue] & SPEAKS)


def _intent(text: str) -> dict[str, float]:
    """A quarter of the weight stays open, and all of it where there is no sign at all."""
    found = [name for name, sign in _SIGNS.items() if sign.search(text)]
    weights = {name: 1.0 / len(found) if name in found else 0.0 for name in _SIGNS}
    share = 0.75 if found else 0.0
    return {**{name: share * weight for name, weight in weights.items()}, "open": 1.0 - share}


def _newest(snapshot: Snapshot) -> tuple[int, int]:
    """Time and offset of the latest turn that has a time; no time where there is none."""
    latest = snapshot.graph.latest
    if latest < 0:
        return TIME_NONE, 0
    turn = snapshot.graph.turn(latest)
    return turn.time_us or 0, turn.utc_offset_min or 0


def _named(text: str, graph: Graph) -> list[int]:
    """Cues of the names in `text`, in order, each followed by its aliases."""
    said = [normal(name) for name in find_names(text, lambda name: _name_cue(graph, name) >= 0)]
    spoken = list(words(text))
    for size in range(_LONGEST_NAME, 0, -1):
        said += [" ".join(spoken[i : i + size]) for i in range(len(spoken) - size + 1)]
    cues = [cue for name in said if (cue := _name_cue(graph, name)) >= 0]
    return list(dict.fromkeys(alias for cue in cues for alias in (cue, *aliases_of(graph, cue))))


def _date_cues(windows: Sequence[Window], offset: int, graph: Graph) -> list[int]:
    """Cues of the times asked for, each as exact as the question is."""
    labels = [names[0] for window in windows if (names := date_labels(window, offset))]
    return [cue for label in labels if (cue := graph.find(Kind.CUE, label)) >= 0]


def _name_cue(graph: Graph, name: str) -> int:
    cue = graph.find(Kind.CUE, name)
    return cue if cue >= 0 and graph.nodes["flags"][cue] & NAMED else -1


def aliases_of(graph: Graph, cue: int) -> list[int]:
    """Cues that a text has said to be the same as `cue`."""
    row = graph.edges.row(cue)
    similar = row["relation"] // 2 == Relation.SIMILAR // 2
    return [int(node) for node in row["dst"][similar]]


def _content_terms(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Index terms of a question without its speakers' names, which weigh through who speaks."""
    said = terms(text)
    names = {term for name in speakers for term in terms(name)}
    return tuple(term for term in said if term not in names) or tuple(said)
