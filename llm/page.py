"""What a call shows: stored texts, quoted, under the handles that its reply may name."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

import msgspec

from ..io.errors import InputError
from .json_schema import json_schema, longest_reply
from .model import Message, Phase, Request, Schema
from .quoting import Data, clip, document

TEXT_CHARS: Final = 1_000
"""Longest text by default, and longest question: 40 of them are some 10,000 tokens."""
LABEL_CHARS: Final = 200
"""Longest name, cue, tag or caption."""
LEAST_TOKENS: Final = 128
"""Room for the fences and line ends of a server that does not constrain."""
AFFORDABLE_TOKENS: Final = 2_048
"""Up to here a reply may take a token for each byte of its longest form. Longer ones, which only
`extract`, `topics` and `relate` have, may take one for each character, as English and Chinese stay
far below with any tokenizer; what is cut all the same is a failure, and a smaller window helps."""

Operator = Literal[
    "query_tag_events",
    "query_conversation_time",
    "query_event_keywords",
    "query_event_context",
    "query_personal_information",
    "query_personal_aspect",
    "query_topic_events",
]
"""MRAgent's seven operators."""

_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A stored text as a call shows it. What is None is not shown.

    id       the caller's name for it; it is not shown
    kind     what it is where that varies: "episode", "fact", "topic"
    time     when it was said, on the speaker's clock
    caption  what an image shared with it shows
    cue      with `tag`, the pair that led to it
    """

    id: Hashable
    text: str
    kind: str | None = None
    speaker: str | None = None
    time: datetime | None = None
    caption: str | None = None
    cue: str | None = None
    tag: str | None = None


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """An operator with its arguments, as `select` offers it.

    id       the caller's name for it; it is not shown
    episode  id of a passage among what was found
    """

    id: Hashable
    operator: Operator
    cue: str | None = None
    tag: str | None = None
    person: str | None = None
    aspect: str | None = None
    topic: str | None = None
    episode: Hashable = None


class Call(msgspec.Struct, frozen=True):
    """A request, and what the caller needs to read its reply.

    handles  the caller's id of each handle that the reply may name
    cut      things left out because there were too many
    clipped  texts of which only the beginning is shown
    """

    request: Request
    handles: dict[str, Hashable]
    cut: int = 0
    clipped: int = 0


def instructions(purpose: str) -> str:
    """First message of the calls of a purpose: what holds for all, then what holds for these."""
    return _prompt("common") + "\n" + _prompt(purpose)


class Page:
    """The data of one call, and what was left out of them."""

    def __init__(self, purpose: str, text_chars: int = TEXT_CHARS) -> None:
        if text_chars < 1:
            raise InputError(f"text_chars: expected 1 or more, got {text_chars}")
        self._purpose = purpose
        self._text_chars = text_chars
        self._data: dict[str, Data] = {}
        self._cut = self._clipped = 0

    def text(self, name: str, text: str) -> None:
        """Show one text under a name: a question, an answer, a time."""
        self._data[name] = self._clip(text, TEXT_CHARS)

    def show(
        self, name: str, letter: str, passages: Sequence[Passage], most: int
    ) -> dict[str, Hashable]:
        """Ids of passages by handle, those that are shown."""
        shown = {f"{letter}{i}": passage for i, passage in enumerate(passages[:most], 1)}
        self._cut += len(passages) - len(shown)
        self._data[name] = {handle: self._passage(passage) for handle, passage in shown.items()}
        return {handle: passage.id for handle, passage in shown.items()}

    def offer(
        self, name: str, letter: str, passages: Sequence[Passage], most: int, least: int = 1
    ) -> dict[str, Hashable]:
        """The same of passages that the reply chooses from; InputError where there are too few."""
        self._need(name, passages, least)
        return self.show(name, letter, passages, most)

    def moves(
        self, moves: Sequence[Move], shown: Mapping[Hashable, str], most: int
    ) -> dict[str, Hashable]:
        """Ids of moves by handle, those that are shown; InputError where none can be."""
        possible = [m for m in moves if m.episode is None or m.episode in shown][:most]
        self._need("moves", possible, 1)
        self._cut += len(moves) - len(possible)
        handles = {f"m{i}": move for i, move in enumerate(possible, 1)}
        self._data["moves"] = {h: self._move(move, shown) for h, move in handles.items()}
        return {handle: move.id for handle, move in handles.items()}

    def call(
        self,
        phase: Phase,
        reply: type[msgspec.Struct],
        handles: dict[str, Hashable],
        at_most: Mapping[str, int] | None = None,
    ) -> Call:
        """The call that shows what was put on the page; `at_most` as in `json_schema`."""
        bounds = tuple((at_most or {}).items())
        schema, max_tokens = _schema(self._purpose, reply, tuple(handles), bounds)
        messages = (
            Message("system", instructions(self._purpose)),
            Message("user", document(self._data)),
        )
        request = Request(self._purpose, phase, messages, schema, max_tokens)
        return Call(request, handles, self._cut, self._clipped)

    def _need(self, name: str, offered: Sequence[object], least: int) -> None:
        if len(offered) < least:
            expected = f"expected {least} or more {name} to choose from"
            raise InputError(f"{self._purpose}: {expected}, got {len(offered)}")

    def _passage(self, passage: Passage) -> dict[str, Data]:
        shown = self._labels(passage, "kind", "speaker", "cue", "tag")
        if passage.time is not None:
            shown["time"] = clock(passage.time)
        shown["text"] = self._clip(passage.text, self._text_chars)
        return shown | self._labels(passage, "caption")

    def _move(self, move: Move, shown: Mapping[Hashable, str]) -> dict[str, Data]:
        labels = self._labels(move, "operator", "cue", "tag", "person", "aspect", "topic")
        return labels if move.episode is None else labels | {"episode": shown[move.episode]}

    def _labels(self, item: Passage | Move, *names: str) -> dict[str, Data]:
        said = {name: getattr(item, name) for name in names}
        return {n: self._clip(label, LABEL_CHARS) for n, label in said.items() if label is not None}

    def _clip(self, text: str, most: int) -> str:
        self._clipped += len(text) > most
        return clip(text, most)


def clock(time: datetime) -> str:
    """Day, minute and weekday, from which "last Friday" can be counted."""
    return f"{time.isoformat(' ', 'minutes')[:16]} {_WEEKDAYS[time.weekday()]}"


@lru_cache(maxsize=1024)
def _schema(
    purpose: str,
    reply: type[msgspec.Struct],
    handles: tuple[str, ...],
    at_most: tuple[tuple[str, int], ...],
) -> tuple[Schema, int]:
    """The schema, the same object for the same choice, and how many tokens a reply may take."""
    form = json_schema(reply, handles, dict(at_most))
    roomy = max(AFFORDABLE_TOKENS, longest_reply(form, per_character=1))
    longest = max(LEAST_TOKENS, min(longest_reply(form), roomy))
    return Schema(purpose, reply, form), longest + 1  # the token that ends a reply is one too


@lru_cache
def _prompt(name: str) -> str:
    return files("cuegraph.llm").joinpath("prompts", f"{name}.txt").read_text("utf-8")
