"""Query analysis by rules: intent as soft weights, windows of time, names and terms (MAGMA)."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from .dates import Window, date_labels, find_windows
from .entities import names, normal
from .graph import ALIASED, NAMED, SPEAKS, Graph
from .schema import Kind, Relation
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


class Analysis(msgspec.Struct, frozen=True, gc=False):
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
    graph = snapshot.graph
    offset = graph.latest_offset_min if utc_offset_min is None else utc_offset_min
    windows = find_windows(text, graph.latest_us if asked_us is None else asked_us, offset)
    cues = _named(text, graph)
    speakers = tuple(cue for cue in cues if is_speaker(snapshot, cue))
    return Analysis(
        text=text,
        intent=_intent(text),
        windows=tuple(windows),
        names=tuple(cues),
        speakers=speakers,
        dates=tuple(_date_cues(windows, offset, graph)),
        terms=_content_terms(text, [graph.label(cue) for cue in speakers]),
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


class _Cues(dict[str, int]):
    """Cue of each name, -1 for none; those given are looked up at once, others when asked for."""

    def __init__(self, graph: Graph, names: Sequence[str]) -> None:
        self._graph = graph
        self._learn(dict.fromkeys(names))

    def __missing__(self, name: str) -> int:
        self._learn([name])
        return self[name]

    def _learn(self, names: Iterable[str]) -> None:
        flags, names = self._graph.nodes["flags"], list(names)
        for name, cue in zip(names, self._graph.find_all(Kind.CUE, names), strict=True):
            self[name] = cue if cue >= 0 and flags[cue] & NAMED else -1


def _named(text: str, graph: Graph) -> list[int]:
    """Cues of the names in `text`, in order, each followed by its aliases."""
    spoken = _phrases(list(words(text)))
    cue_of = _Cues(graph, spoken)
    said = [normal(name) for name in names(text, lambda name: cue_of[name] >= 0)]
    cues = dict.fromkeys(cue for name in said + spoken if (cue := cue_of[name]) >= 0)
    return list(dict.fromkeys(alias for cue in cues for alias in (cue, *aliases_of(graph, cue))))


def _phrases(spoken: Sequence[str]) -> list[str]:
    """Words that stand together, as many as the longest name has and fewer, the longest first."""
    runs = [list(spoken)]
    for size in range(1, _LONGEST_NAME):
        runs.append([f"{run} {word}" for run, word in zip(runs[-1], spoken[size:], strict=False)])
    return [phrase for run in reversed(runs) for phrase in run]


def _date_cues(windows: Sequence[Window], offset: int, graph: Graph) -> list[int]:
    """Cues of the times asked for, each as exact as the question is."""
    labels = [exact[0] for window in windows if (exact := date_labels(window, offset))]
    return [cue for label in labels if (cue := graph.find(Kind.CUE, label)) >= 0]


def aliases_of(graph: Graph, cue: int) -> list[int]:
    """Cues that a text has said to be the same as `cue`."""
    if not graph.nodes["flags"][cue] & ALIASED:  # nor are the many edges of a speaker searched
        return []
    said = (graph.linked(cue, r).tolist() for r in (Relation.SIMILAR, Relation.SIMILAR_REVERSE))
    return [node for nodes in said for node in nodes]


def _content_terms(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Index terms of a question without its speakers' names, which weigh through who speaks."""
    said = terms(text)
    theirs = {term for name in speakers for term in terms(name)}
    return tuple(term for term in said if term not in theirs) or tuple(said)
