"""Chats from files: JSONL with one turn a line, and the LoCoMo data set.

What cannot be read becomes a Problem in its place, and the rest goes on.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from .errors import InputError
from .turn import Turn

_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"  # "2:05 pm on 3 June, 2021"
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?0*(\d+):0*(\d+)")
_RAW_BYTE = re.compile("[\udc80-\udcff]")  # a byte that is no UTF-8, as surrogateescape shows it

_Filled = Annotated[str, msgspec.Meta(pattern=r"\S")]
_Decoded = TypeVar("_Decoded")


class Problem(msgspec.Struct, frozen=True):
    """Something that could not be read: where it is, as "turns.jsonl line 12", and why."""

    where: str
    reason: str


class Question(msgspec.Struct, frozen=True):
    """A LoCoMo question. Its answer is not read at all.

    category  1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial
    evidence  the cells as they stand in the file; see `repair_evidence`
    """

    text: str
    category: int
    evidence: list[str]


class Conversation(msgspec.Struct, frozen=True):
    """One LoCoMo conversation: its turns in order, its questions, and what could not be read."""

    id: str
    turns: list[Turn]
    questions: list[Question]
    problems: list[Problem]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of JSONL: the fields of a Turn, with the time as JSON can hold it."""

    text: _Filled
    id: str | None = None
    session: str | None = None
    speaker: str | None = None
    role: str | None = None
    source: str | None = None
    agent: str | None = None
    caption: str | None = None
    time: str | int | None = None


# The LoCoMo structs name the fields that may be read. `query`, the answers, observations and
# summaries give the evidence away; no field is named after them, so they are never decoded.
class _LocomoSample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, msgspec.Raw]
    qa: list[msgspec.Raw] = []


class _LocomoTurn(msgspec.Struct):
    speaker: str
    dia_id: _Filled
    text: _Filled
    blip_caption: str | None = None


class _LocomoQuestion(msgspec.Struct):
    question: _Filled
    category: int
    evidence: list[str] = []


def load_turns(path: Path) -> list[Turn | Problem]:
    """The turns of a chat file, JSONL or a LoCoMo file of one conversation, told by the content.

    InputError for a file that cannot be read, is empty, or holds several conversations, which
    belong into a memory each.
    """
    content = _read(path)
    if content.lstrip()[:1] != b"[":
        # Cut as bytes: a str would also be cut at U+2028 and others that JSON strings may hold.
        lines = (line.decode(errors="surrogateescape") for line in content.splitlines())
        return list(read_jsonl(lines, path.name))
    conversations = read_locomo(path)
    if len(conversations) != 1:
        raise InputError(f"expected one conversation, got {len(conversations)}, at {path}")
    return [*conversations[0].turns, *conversations[0].problems]


def read_jsonl(lines: Iterable[str], where: str) -> Iterator[Turn | Problem]:
    """The turn of each line, or its Problem, in order; blank lines are skipped.

    A line is a JSON object with `text` and, where known, the other fields of a Turn; a key that no
    Turn has is a Problem, since what it holds would be lost. So are bytes that are not UTF-8, which
    `lines` shows as lone surrogates where the file was opened with errors="surrogateescape".
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _line_turn(line)
        except (ValueError, msgspec.ValidationError, RecursionError) as exc:
            yield Problem(f"{where} line {number}", str(exc))


def read_locomo(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file; InputError where the file as a whole is not one.

    Sessions in the order of their numbers, named "session_1" and so on; a turn's id is its dia_id.
    Each turn has the time of its session, taken as UTC since the file names no zone.
    """
    try:
        samples = msgspec.json.decode(_read(path), type=list[_LocomoSample])
    except msgspec.DecodeError as exc:
        raise InputError(f"expected a LoCoMo file, got '{exc}', at {path}") from exc
    return [_conversation(sample, f"{path.name} {sample.sample_id}") for sample in samples]


def repair_evidence(cells: list[str], known: set[str]) -> tuple[list[str], list[str]]:
    """The turn ids that evidence cells name, each once in order, and what had to be dropped.

    Cells may glue ids together and misspell them. Dropped are ids that are not `known`, and parts
    of a cell that name no id.

    >>> repair_evidence(["D8:6; D:9:07", "D"], {"D8:6", "D9:7"})
    (['D8:6', 'D9:7'], ['D'])
    """
    ids: list[str] = []
    dropped: list[str] = []
    for part in re.findall(r"[^\s;,]+", " ".join(cells)):
        found = [f"D{session}:{turn}" for session, turn in _EVIDENCE.findall(part)]
        for name in found or [part]:
            (ids if name in known else dropped).append(name)
    return list(dict.fromkeys(ids)), list(dict.fromkeys(dropped))


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as exc:
        raise InputError(f"expected a file to read, got '{exc.strerror}', at {path}") from exc
    if not content.strip():
        raise InputError(f"expected turns, got an empty file, at {path}")
    return content


def _line_turn(line: str) -> Turn:
    """The turn of one line; ValueError or ValidationError says what is wrong with it."""
    if stray := _RAW_BYTE.search(line):
        raise ValueError(f"expected UTF-8, got byte 0x{ord(stray[0]) - 0xDC00:02x}")
    # The standard decoder, since it lets through a lone surrogate, which `normalise` replaces.
    fields = msgspec.convert(json.loads(line), _Line)
    return Turn(**msgspec.structs.asdict(fields))


def _conversation(sample: _LocomoSample, where: str) -> Conversation:
    read = [*_session_items(sample.conversation, where), *_questions(sample.qa, where)]
    return Conversation(
        sample.sample_id,
        turns=[item for item in read if isinstance(item, Turn)],
        questions=[item for item in read if isinstance(item, Question)],
        problems=[item for item in read if isinstance(item, Problem)],
    )


def _session_items(content: dict[str, msgspec.Raw], where: str) -> Iterator[Turn | Problem]:
    names = [name for name in content if _SESSION.fullmatch(name)]
    for name in sorted(names, key=lambda name: int(name.removeprefix("session_"))):
        place = f"{where} {name}"
        time = _session_time(content.get(f"{name}_date_time"), f"{place}_date_time")
        if isinstance(time, Problem):
            yield time
        raw_turns = _decode(content[name], list[msgspec.Raw], place)
        if isinstance(raw_turns, Problem):
            yield raw_turns
            continue
        for number, raw in enumerate(raw_turns, start=1):
            said = _decode(raw, _LocomoTurn, f"{place} turn {number}")
            yield said if isinstance(said, Problem) else _locomo_turn(said, name, time)


def _locomo_turn(said: _LocomoTurn, session: str, time: datetime | Problem) -> Turn:
    return Turn(
        said.text,
        id=said.dia_id,
        session=session,
        speaker=said.speaker,
        caption=said.blip_caption,
        time=None if isinstance(time, Problem) else time,
    )


def _session_time(raw: msgspec.Raw | None, where: str) -> datetime | Problem:
    if raw is None:
        return Problem(where, "expected the time of the session, got none")
    text = _decode(raw, str, where)
    if isinstance(text, Problem):
        return text
    try:
        return datetime.strptime(text, _LOCOMO_TIME).replace(tzinfo=UTC)
    except ValueError:
        return Problem(where, f"expected a time like '2:05 pm on 3 June, 2021', got '{text}'")


def _questions(raw_questions: list[msgspec.Raw], where: str) -> Iterator[Question | Problem]:
    for number, raw in enumerate(raw_questions, start=1):
        asked = _decode(raw, _LocomoQuestion, f"{where} question {number}")
        if isinstance(asked, Problem):
            yield asked
        else:
            yield Question(asked.question, asked.category, asked.evidence)


def _decode(raw: msgspec.Raw, kind: type[_Decoded], where: str) -> _Decoded | Problem:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as exc:
        return Problem(where, str(exc))
