"""Narrative synthesis: evidence as one linear context under a token budget (MAGMA, section 3.4)."""

import re
from collections.abc import Sequence
from html import escape
from typing import Literal

import msgspec
import rustworkx as rx

from .evidence import Evidence, Recall
from .schema import Relation
from .snapshot import Snapshot
from .text import UNSPACED
from .tokens import TokenCounter

Order = Literal["time", "causes"]

_ELLIPSIS = "…"
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_LEAST_TOKENS = 12
"""Text of fewer tokens says too little to be worth its frame: such a block is left out."""


class Narrative(msgspec.Struct, frozen=True):
    """The evidence of a recall as text for a model's context.

    order      "time": by when it was said; "causes": causes before their effects, else by time
    tokens     of `text`, as counted by the counter named `counter`
    shortened  ids of evidence whose text was cut to fit; left_out: of that which did not fit
    """

    text: str
    order: Order
    tokens: int
    counter: str
    shortened: tuple[str, ...]
    left_out: tuple[str, ...]


def narrate(
    recall: Recall, snapshot: Snapshot, counter: TokenCounter, budget_tokens: int
) -> Narrative:
    """The evidence in order, each piece a block with time, speaker, reference and quoted text.

    The budget is spent by score: the best blocks come whole, the one at the edge is shortened, and
    those below are left out. The stored text is data: its markup is escaped, so that it cannot end
    its own block.
    """
    order: Order = "causes" if recall.analysis.intent["why"] > 0 else "time"
    texts, shortened = _spend(recall.evidence, counter, budget_tokens)
    kept = [piece for piece in recall.evidence if piece.node in texts]
    arranged = _by_causes(kept, snapshot) if order == "causes" else _by_time(kept)
    text = "\n".join(_block(piece, texts[piece.node]) for piece in arranged)
    return Narrative(
        text=text,
        order=order,
        tokens=counter.count(text),
        counter=counter.name,
        shortened=tuple(shortened),
        left_out=tuple(piece.node for piece in recall.evidence if piece.node not in texts),
    )


def _spend(
    evidence: Sequence[Evidence], counter: TokenCounter, budget: int
) -> tuple[dict[str, str], list[str]]:
    """Text of each piece that fits, best first, and the nodes of those that were shortened."""
    texts: dict[str, str] = {}
    shortened: list[str] = []
    left = budget
    for piece in evidence:
        frame = counter.count(_block(piece, ""))
        text = _shorten(_said(piece), left - frame, counter)
        if text is None:
            continue
        texts[piece.node] = text
        left -= counter.count(_block(piece, text))
        if text != _said(piece):
            shortened.append(piece.node)
    return texts, shortened


def _shorten(text: str, budget: int, counter: TokenCounter) -> str | None:
    """The text, or as many of its first words as fit; None where that would say too little."""
    if counter.count(escape(text)) <= budget:
        return text
    if budget < _LEAST_TOKENS:
        return None
    ends = [0, *(word.end() for word in _WORD.finditer(text))]
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = counter.count(escape(text[: ends[middle]]) + _ELLIPSIS) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return text[: ends[low]] + _ELLIPSIS if low else None


def _said(piece: Evidence) -> str:
    return piece.text if piece.caption is None else f"{piece.text} [shares {piece.caption}]"


def _block(piece: Evidence, text: str) -> str:
    when = "" if piece.time is None else f' time="{piece.time.strftime("%Y-%m-%d %H:%M")}"'
    who = "" if piece.speaker is None else f' speaker="{escape(piece.speaker)}"'
    return f'<memory ref="{piece.node}"{when}{who}>{escape(text)}</memory>'


def _by_time(evidence: Sequence[Evidence]) -> list[Evidence]:
    """By time; pieces without one where they stand in the order of keeping."""
    return sorted(evidence, key=_moment)


def _moment(piece: Evidence) -> tuple[float, int]:
    kept = int(piece.node[1:])
    return (float("-inf") if piece.time is None else piece.time.timestamp(), kept)


def _by_causes(evidence: Sequence[Evidence], snapshot: Snapshot) -> list[Evidence]:
    """Topologically along the causal edges among the evidence, by time where they say nothing."""
    pieces = _by_time(evidence)
    place = {piece.node: i for i, piece in enumerate(pieces)}
    graph = rx.PyDiGraph()
    graph.add_nodes_from(range(len(pieces)))
    for effect, cause in _causal_edges(pieces, snapshot):
        graph.add_edge(place[cause], place[effect], None)
    for cycle in iter(lambda: rx.digraph_find_cycle(graph), rx.EdgeList()):
        graph.remove_edge(*cycle[-1])
    order = rx.lexicographical_topological_sort(graph, key=lambda i: f"{i:08d}")
    return [pieces[i] for i in order]


def _causal_edges(pieces: Sequence[Evidence], snapshot: Snapshot) -> list[tuple[str, str]]:
    """(effect, cause) among the pieces."""
    found = snapshot.graph.episodes_of([int(piece.node[1:]) for piece in pieces])
    nodes = {
        node: piece.node
        for node, piece in zip(found, pieces, strict=True)
        if 0 <= node < snapshot.n
    }
    edges = []
    for node, effect in nodes.items():
        causes = snapshot.graph.linked(node, Relation.CAUSED_BY).tolist()
        edges += [(effect, nodes[cause]) for cause in causes if cause in nodes]
    return edges
