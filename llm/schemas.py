"""What a model may reply to each call: small structures in which everything is bounded.

A `Handle` is the short name that a request gives to one of the things shown in it ("t1", "c12"):
the request's schema allows those and no other. Strings hold single lines in the language of the
quoted texts. Every list is short, so that the longest reply there can be is known beforehand.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

HANDLE: Final = "handle"
"""Key in a type's extra data that marks a string as one of the request's handles."""

Handle = Annotated[str, Meta(max_length=4, extra={HANDLE: True})]
Cue = Annotated[str, Meta(max_length=32)]
Tag = Annotated[str, Meta(max_length=40)]
Label = Annotated[str, Meta(max_length=60)]
Sentence = Annotated[str, Meta(max_length=100)]
Day = Annotated[str, Meta(max_length=10)]
"""A day, month or year: "2024-05-24", "2024-05" or "2024"; "" where there is none."""
Percent = Annotated[int, Meta(ge=0, le=100)]
Weight = Annotated[int, Meta(ge=0, le=9)]


class Episode(msgspec.Struct, frozen=True):
    """What happened, told by some turns of a window (MRAgent's episode with its tag and cues).

    summary  one sentence in which names stand for pronouns
    tag      the associative phrase under which its cues lead to it: "winning a contest"
    cues     names, things, actions, as said
    """

    turns: Annotated[tuple[Handle, ...], Meta(max_length=8)]
    summary: Sentence
    tag: Tag
    cues: Annotated[tuple[Cue, ...], Meta(max_length=4)]


class Fact(msgspec.Struct, frozen=True):
    """What lasts beyond an episode (MRAgent's semantic layer): entity cue, aspect tag, fact."""

    entity: Cue
    aspect: Tag
    fact: Sentence
    turns: Annotated[tuple[Handle, ...], Meta(max_length=3)]


class Date(msgspec.Struct, frozen=True):
    """A time expression, resolved against the time of the turn that says it.

    said   the words, as they stand in the turn
    start  the first day, month or year meant, and `end` the last; equal where it is one
    """

    turn: Handle
    said: Cue
    start: Day
    end: Day


class Extraction(msgspec.Struct, frozen=True):
    """Reply to `extract`. The bounds are those of a window of 20 turns; a shorter one has less."""

    episodes: Annotated[tuple[Episode, ...], Meta(max_length=10)]
    facts: Annotated[tuple[Fact, ...], Meta(max_length=10)]
    dates: Annotated[tuple[Date, ...], Meta(max_length=5)]


class Topic(msgspec.Struct, frozen=True):
    """Episodes that are about the same, and what that is."""

    label: Label
    episodes: Annotated[tuple[Handle, ...], Meta(max_length=24)]


class Topics(msgspec.Struct, frozen=True):
    """Reply to `topics`. An episode that belongs with no other may stand in none."""

    topics: Annotated[tuple[Topic, ...], Meta(max_length=6)]


class Cause(msgspec.Struct, frozen=True):
    """A directed causal link (MAGMA): one event brought about the other, as `evidence` says.

    confidence  in percent
    evidence    the words that say so, as they stand in one of the two events
    """

    cause: Handle
    effect: Handle
    evidence: Label
    confidence: Percent


class SameEntity(msgspec.Struct, frozen=True):
    """An entity link (MAGMA): two events mention one referent, called `name` in one of them."""

    first: Handle
    second: Handle
    name: Cue
    confidence: Percent


class Links(msgspec.Struct, frozen=True):
    """Reply to `relate`."""

    causes: Annotated[tuple[Cause, ...], Meta(max_length=4)]
    entities: Annotated[tuple[SameEntity, ...], Meta(max_length=4)]


class Intent(msgspec.Struct, frozen=True):
    """How much a question asks for each, 0 to 9 (MAGMA's intents, and the open question)."""

    why: Weight
    when: Weight
    entity: Weight
    open: Weight

    def weights(self) -> dict[str, float]:
        """The same as shares that sum to 1; all of it is open where nothing has weight."""
        weights: dict[str, int] = msgspec.structs.asdict(self)
        total = sum(weights.values())
        if not total:
            return {name: float(name == "open") for name in weights}
        return {name: weight / total for name, weight in weights.items()}


class Window(msgspec.Struct, frozen=True):
    """The time that a question speaks of; "" leaves a side open, or both."""

    start: Day
    end: Day


class Question(msgspec.Struct, frozen=True):
    """Reply to `analyse`: C = extract_cues(x) of MRAgent's Algorithm 1, MAGMA's intent, window."""

    intent: Intent
    cues: Annotated[tuple[Cue, ...], Meta(max_length=6)]
    window: Window


class Selection(msgspec.Struct, frozen=True):
    """Reply to `select`: handles of the operator calls to make next, the most promising first."""

    moves: Annotated[tuple[Handle, ...], Meta(min_length=1, max_length=8)]


class Routing(msgspec.Struct, frozen=True):
    """Reply to `route`: candidates that become evidence, and whether all of it is enough."""

    keep: Annotated[tuple[Handle, ...], Meta(max_length=12)]
    sufficient: bool


class Answer(msgspec.Struct, frozen=True):
    """Reply to `answer`. The evidence is cited first: what is written later follows from it.

    known  whether the evidence tells the answer; if not, `answer` is ""
    """

    cites: Annotated[tuple[Handle, ...], Meta(max_length=8)]
    known: bool
    answer: Annotated[str, Meta(max_length=300)]


class Verdict(msgspec.Struct, frozen=True):
    """Reply to `judge`: whether an answer says what the reference says."""

    verdict: Literal["match", "no match"]
