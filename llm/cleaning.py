"""What a JSON schema cannot forbid, put right after decoding: repeats, and references to nothing.

A decoder that keeps to the schema names handles that exist; any other may name what it likes, and
either may say a thing twice.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import inspect

from .days import read_span
from .json_schema import is_handle
from .schemas import (
    Answer,
    Cause,
    Date,
    Episode,
    Fact,
    Question,
    SameEntity,
    Topic,
    Topics,
    Window,
)

R = TypeVar("R", bound=msgspec.Struct)

_CONTROLS: Final = dict.fromkeys([*range(32), *range(0x7F, 0xA0)], " ")
_SAYS: Final[Mapping[type, Callable[[Any], bool]]] = {
    str: bool,
    Episode: lambda it: bool(it.turns and it.tag and it.cues),
    Fact: lambda it: bool(it.turns and it.entity and it.aspect and it.fact),
    Date: lambda it: bool(it.said) and read_span(it.start, it.end) is not None,
    Topic: lambda it: bool(it.label and it.episodes),
    Cause: lambda it: it.cause != it.effect and bool(it.evidence),
    SameEntity: lambda it: it.first != it.second and bool(it.name),
}
"""Whether an item of a list says something."""
_SAME: Final[Mapping[type, Callable[[Any], Hashable]]] = {
    str: str.casefold,
    Episode: lambda it: (frozenset(it.turns), it.tag.casefold()),
    Fact: lambda it: (it.entity.casefold(), it.aspect.casefold(), it.fact.casefold()),
    Date: lambda it: (it.turn, it.start, it.end),
    Topic: lambda it: it.label.casefold(),
    Cause: lambda it: (it.cause, it.effect),
    SameEntity: lambda it: (frozenset((it.first, it.second)), it.name.casefold()),
}
"""What two items of a list share if they say the same; the first of them stays."""


class Cleaned(msgspec.Struct, Generic[R], frozen=True):
    """A reply that can be used as it is, and how many of its parts were dropped.

    unknown   handles that the request did not give
    repeated  what was said before in the same list, whatever the case; an episode's second topic
    empty     what says nothing: blank labels, facts that no turn supports, links of a thing to
              itself, times that are no times
    """

    value: R
    unknown: int
    repeated: int
    empty: int


def clean(reply: R, handles: Collection[str]) -> Cleaned[R]:
    """`reply` with known handles only, each thing once, white space single, in the same order.

    An answer that is blank is not known, and one that is not known is blank.

    >>> from cuegraph.llm.schemas import Selection
    >>> clean(Selection(moves=("m2", "m2", "m9", "m1")), {"m1", "m2"})
    Cleaned(value=Selection(moves=('m2', 'm1')), unknown=1, repeated=1, empty=0)
    """
    cleaner = _Cleaner(handles)
    value = cleaner.settled(cleaner.struct(reply))
    return Cleaned(value, cleaner.unknown, cleaner.repeated, cleaner.empty)


class _Cleaner:
    def __init__(self, handles: Collection[str]) -> None:
        self.unknown = self.repeated = self.empty = 0
        self._handles = handles

    def struct(self, value: Any) -> Any:
        """The struct with its fields cleaned; None where one of them is an unknown handle."""
        struct: type[msgspec.Struct] = type(value)
        fields = {name: self._cleaned(info, getattr(value, name)) for name, info in _fields(struct)}
        return None if None in fields.values() else struct(**fields)

    def settled(self, reply: Any) -> Any:
        """The whole reply, in agreement with itself."""
        match reply:
            case Answer(cites=cites, known=known, answer=answer):
                known = known and bool(answer)
                return Answer(cites, known, answer if known else "")
            case Topics(topics=topics):
                return Topics(self._disjoint(topics))
            case Question(intent=intent, cues=cues, window=Window(start=start, end=end)) if (
                start or end
            ) and read_span(start, end) is None:
                self.empty += 1
                return Question(intent, cues, Window("", ""))
        return reply

    def _cleaned(self, info: inspect.Type, value: Any) -> Any:
        if is_handle(info):
            known = value in self._handles
            self.unknown += not known
            return value if known else None
        if isinstance(value, tuple):
            return self._items(info, value)
        if isinstance(value, msgspec.Struct):
            return self.struct(value)
        return _single_line(value) if isinstance(value, str) else value

    def _items(self, info: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
        kept: dict[Hashable, Any] = {}
        for value in values:
            item = self._cleaned(info.item_type, value)
            if item is None:
                continue
            if not _SAYS[type(item)](item):
                self.empty += 1
            elif (key := _SAME[type(item)](item)) in kept:
                self.repeated += 1
            else:
                kept[key] = item
        return tuple(kept.values())

    def _disjoint(self, topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
        """Each episode in the first topic that has it; topics that keep none are left out."""
        seen: set[str] = set()
        kept = []
        for topic in topics:
            new = tuple(episode for episode in topic.episodes if episode not in seen)
            self.repeated += len(topic.episodes) - len(new)
            seen.update(new)
            if new:
                kept.append(Topic(topic.label, new))
        return tuple(kept)


@lru_cache
def _fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, inspect.Type], ...]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return tuple((field.name, field.type) for field in info.fields)


def _single_line(text: str) -> str:
    return " ".join(text.translate(_CONTROLS).split())
