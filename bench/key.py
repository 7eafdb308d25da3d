"""The key of LoCoMo: category and evidence of each question, as they are and as corrected."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from cuegraph import InputError
from cuegraph.io.importers import Conversation, read_locomo, repair_evidence

ORIGINAL = tuple(f"conv-{number}" for number in (26, 30, 41, 42, 43, 44, 47, 48, 49, 50))
"""The conversations in the order of the whole data set, by which corrections number them."""
_QUESTION_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_UNREAD = re.compile(r" question (\d+)$")

Place = tuple[str, int]
"""A conversation, and the place of a question among all of the file, from 0."""
Corrections = Mapping[Place, list[str]]


class Entry(NamedTuple):
    """What the key holds of one question; `question` is its place in the file, from 0.

    bait  no turn of the evidence was said by anyone that the question names
    """

    conversation: str
    question: int
    category: int
    gold: tuple[str, ...]
    dropped: tuple[str, ...]
    bait: bool


class LeftOut(msgspec.Struct, frozen=True):
    """A question that is not scored, and why."""

    conversation: str
    question: int
    reason: str


class Dropped(msgspec.Struct, frozen=True):
    """Parts of evidence cells that are no turn of the conversation."""

    conversation: str
    question: int
    parts: tuple[str, ...]


def read_conversations(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file; InputError where two have one id."""
    conversations = read_locomo(path)
    ids = [conversation.id for conversation in conversations]
    if len(set(ids)) < len(ids):
        raise InputError(f"expected conversations with ids of their own, got {ids}, at {path}")
    return conversations


def texts_of(conversations: Sequence[Conversation]) -> list[list[str]]:
    """The texts of the questions, by conversation: all that who asks may know of them."""
    return [[question.text for question in c.questions] for c in conversations]


def key(
    conversations: Sequence[Conversation], corrections: Corrections | None = None
) -> list[Entry]:
    """The entries of all questions in order, with corrected evidence where there is some."""
    return [entry for c in conversations for entry in _entries(c, corrections or {})]


def left_out(conversations: Sequence[Conversation], entries: Sequence[Entry]) -> list[LeftOut]:
    """The questions that cannot be scored: without evidence, or not read."""
    without = [LeftOut(e.conversation, e.question, _reason(e)) for e in entries if not e.gold]
    unread = [
        LeftOut(c.id, int(matched[1]) - 1, f"not read: {problem.reason}")
        for c in conversations
        for problem in c.problems
        if (matched := _UNREAD.search(problem.where))
    ]
    return without + unread


def _reason(entry: Entry) -> str:
    if entry.dropped:
        return f"no turn of the conversation: {', '.join(entry.dropped)}"
    return "no evidence given"


def read_corrections(path: Path, conversations: Sequence[Conversation]) -> dict[Place, list[str]]:
    """Corrected evidence by conversation id and place of the question, for these conversations.

    The file is a list of {"question_id": "locomo_<i>_qa<j>", "correct_evidence": [...]}, where i
    counts the ten conversations of the whole data set (`ORIGINAL`) and j the questions, both from
    0. InputError for an id of another form, or of a question that the conversation does not have.
    """
    try:
        items = msgspec.json.decode(path.read_bytes(), type=list[_Correction])
    except (OSError, msgspec.DecodeError) as exc:
        raise InputError(f"expected a list of corrections, got '{exc}', at {path}") from exc
    last = {c.id: max(_numbers(c), default=-1) for c in conversations}
    found = {}
    for item in items:
        name, question = _place(item.question_id, path)
        if name in last:
            if question > last[name]:
                raise InputError(
                    f"expected a question up to {last[name]}, got {item.question_id!r}, at {path}"
                )
            found[name, question] = item.correct_evidence
    return found


class _Correction(msgspec.Struct):
    question_id: str
    correct_evidence: list[str]


def _place(question_id: str, path: Path) -> Place:
    matched = _QUESTION_ID.fullmatch(question_id)
    if matched is None or int(matched[1]) >= len(ORIGINAL):
        raise InputError(f"expected 'locomo_<0 to 9>_qa<n>', got {question_id!r}, at {path}")
    return ORIGINAL[int(matched[1])], int(matched[2])


def _entries(conversation: Conversation, corrections: Corrections) -> list[Entry]:
    speakers = {turn.id: turn.speaker for turn in conversation.turns if turn.id}
    entries = []
    for number, question in zip(_numbers(conversation), conversation.questions, strict=True):
        cells = corrections.get((conversation.id, number), question.evidence)
        gold, dropped = repair_evidence(cells, set(speakers))
        bait = not _names_any(question.text, {speakers[turn] for turn in gold})
        entries.append(
            Entry(conversation.id, number, question.category, tuple(gold), tuple(dropped), bait)
        )
    return entries


def _names_any(text: str, speakers: set[str | None]) -> bool:
    return any(name and name.casefold() in text.casefold() for name in speakers)


def _numbers(conversation: Conversation) -> list[int]:
    """Places of the questions in the file, where those that could not be read have one, too."""
    matches = [_UNREAD.search(problem.where) for problem in conversation.problems]
    unread = {int(matched[1]) - 1 for matched in matches if matched}
    total = len(conversation.questions) + len(unread)
    return [number for number in range(total) if number not in unread]
