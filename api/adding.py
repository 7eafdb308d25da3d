"""Adding turns from files and from standard input, chunk by chunk, with a tally of what became."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from .io.errors import InputError
from .io.importers import Problem, load_turns, read_jsonl, read_locomo
from .io.turn import Turn, normalise
from .memory import Memory

CHUNK = 256
"""Turns added at once; those of the chunks before an interruption stay kept."""
STDIN = "standard input"


class Source(NamedTuple):
    """Where turns come from; `size` is None where they are not counted yet."""

    name: str
    items: Iterable[Turn | Problem]
    size: int | None


class Unkept(msgspec.Struct, frozen=True):
    """An item that was not kept: where it stands, "conflict" or "rejected", and why."""

    where: str
    status: str
    reason: str


class Tally(msgspec.Struct):
    """What became of the items so far."""

    added: int = 0
    unchanged: int = 0
    conflicts: int = 0
    rejected: int = 0
    problems: list[Unkept] = []

    def count(self, where: str, status: str, reason: str | None) -> None:
        """Count one item."""
        field = "conflicts" if status == "conflict" else status
        setattr(self, field, getattr(self, field) + 1)
        if reason is not None:
            self.problems.append(Unkept(where, status, reason))


def source_of(name: str, conversation: str | None) -> Source:
    """The turns of a file, or of standard input where the name is "-".

    conversation  which one of a LoCoMo file; None where it holds one

    A file is read here, so that a bad one is known of before a memory is made.
    """
    if name != "-":
        items = _file_items(Path(name), conversation)
        return Source(name, items, len(items))
    if conversation is not None:
        raise InputError(f"--conversation: expected a LoCoMo file, got {STDIN}")
    lines = (line.decode(errors="surrogateescape") for line in sys.stdin.buffer)
    return Source(STDIN, read_jsonl(lines, STDIN), None)


def add_source(
    memory: Memory,
    source: Source,
    *,
    zone: str | None,
    tally: Tally,
    advance: Callable[[int], None],
) -> None:
    """Add the turns of a source; `tally` and `advance` are told after each chunk."""
    items = _told_apart(source.items, zone)
    seen = 0
    while chunk := list(islice(items, CHUNK)):
        _add_chunk(
            memory,
            chunk,
            [f"{source.name} item {seen + i + 1}" for i in range(len(chunk))],
            zone,
            tally,
        )
        seen += len(chunk)
        advance(len(chunk))
    if not seen:
        raise InputError(f"expected turns, got nothing, at {source.name}")


def _file_items(path: Path, conversation: str | None) -> list[Turn | Problem]:
    if conversation is None:
        try:
            return load_turns(path)
        except InputError as error:
            raise InputError(f"{error}{_choices(path)}") from error
    found = {c.id: c for c in read_locomo(path)}
    if conversation not in found:
        raise InputError(
            f"--conversation: expected one of {', '.join(found)}; got {conversation!r}, at {path}"
        )
    return [*found[conversation].turns, *found[conversation].problems]


def _choices(path: Path) -> str:
    """What to add to a complaint about a file of several conversations."""
    try:
        ids = [conversation.id for conversation in read_locomo(path)]
    except InputError:
        return ""
    return f"; choose one with --conversation: {', '.join(ids)}" if ids else ""


def _add_chunk(
    memory: Memory, chunk: list[Turn | Problem], places: list[str], zone: str | None, tally: Tally
) -> None:
    turns = [
        (place, item) for place, item in zip(places, chunk, strict=True) if isinstance(item, Turn)
    ]
    report = memory.add([turn for _, turn in turns], zone=zone)
    for item in report.items:
        tally.count(turns[item.index][0], item.status, item.reason)
    for problem in chunk:
        if isinstance(problem, Problem):
            tally.count(problem.where, "rejected", problem.reason)


def _told_apart(items: Iterable[Turn | Problem], zone: str | None) -> Iterator[Turn | Problem]:
    """The items; equal turns without id get the ids that one `add` of all would give them.

    Without, the "Yes." of a later chunk would be taken for that of an earlier one.
    """
    seen: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Problem) or item.id is not None:
            yield item
            continue
        content = repr(item)
        yield _numbered(item, zone, seen[content])
        seen[content] += 1


def _numbered(turn: Turn, zone: str | None, occurrence: int) -> Turn:
    if not occurrence:
        return turn
    try:
        record = normalise(turn, zone=zone, occurrence=occurrence)
    except InputError:
        return turn  # `add` says why it cannot be kept
    return msgspec.structs.replace(turn, id=record.id)
