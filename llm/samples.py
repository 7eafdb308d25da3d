"""One small request of each call, about invented people: to try a model with."""

from datetime import UTC, datetime, timedelta

from . import calls
from .model import Request
from .page import Move, Passage

_PEOPLE = "Mira Tomas Aiko Bashir Ilse Kofi Nadia Pedro Runa Stellan Thandi Yusuf Wanda".split()
_DEEDS = (
    "won a pottery contest",
    "adopted a grey dog",
    "moved to a flat by the harbour",
    "sold the old sailing boat",
    "began to learn the cello",
    "planted an orchard with her aunt",
    "lost a notebook on the night train",
)
_REASONS = (
    "because the light there is better",
    "after the market had closed",
    "since the rent went up again",
    "before the winter exhibition opened",
    "because a cousin had asked for help",
)
_FIRST_DAY = datetime(2024, 5, 24, 9, 30, tzinfo=UTC)
_TURNS, _EPISODES, _EVENTS, _CANDIDATES = 4, 6, 4, 8


def sample_requests(number: int = 0) -> dict[str, Request]:
    """A request by purpose, one of each call; another number gives others of the same form.

    Only the instructions of two numbers' prompts begin alike: their times and questions differ.

    >>> sorted(sample_requests())[:3]
    ['analyse', 'answer', 'extract']
    >>> sample_requests(1)["answer"].schema is sample_requests(2)["answer"].schema
    True
    """
    said = [_passage(number * _CANDIDATES + i) for i in range(_CANDIDATES)]
    who = f"{_PEOPLE[number % len(_PEOPLE)]} (guest {number})"
    question = f"Why did {who} leave, and when was that?"
    asked = _FIRST_DAY + timedelta(days=400, minutes=number)
    made = (
        calls.extract(said[:_TURNS]),
        calls.topics(said[:_EPISODES]),
        calls.relate(said[:_EVENTS]),
        calls.analyse(question, asked),
        calls.select(question, _moves(said), said[:2], asked=asked),
        calls.route(question, said[2:], said[:2], asked=asked),
        calls.answer(question, said, asked=asked),
        calls.judge(question, said[0].text, said[1].text),
        calls.judge(question, said[0].text, said[0].text, strict=False),
    )
    return {call.request.purpose: call.request for call in made}


def _passage(i: int) -> Passage:
    who, deed, reason = (part[i % len(part)] for part in (_PEOPLE, _DEEDS, _REASONS))
    return Passage(
        id=i,
        text=f"I hear that {who} {deed} {reason}.",
        speaker=_PEOPLE[(i + 1) % len(_PEOPLE)],
        time=_FIRST_DAY + timedelta(hours=7 * i),
    )


def _moves(said: list[Passage]) -> list[Move]:
    tags = [
        Move(id=(cue, tag), operator="query_tag_events", cue=cue, tag=tag)
        for cue, tag in zip(_PEOPLE, _DEEDS, strict=False)
    ]
    return [*tags, Move(id="context", operator="query_event_context", episode=said[0].id)]
