"""What a recall returns: evidence with its reasons, the analysis, and where the time went."""

from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

import msgspec

from .analysis import Analysis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Step(msgspec.Struct, frozen=True, gc=False):
    """One step of the walk through the graph: the relation taken, and the node it led to.

    The first step of a path has the relation "anchor". `node` is a stable id, `label` what the
    node is called: a name, a date, the id of a turn.
    """

    relation: str
    node: str
    label: str


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """One turn that may answer the question, and why it is here.

    node     stable id in the memory, "e" and the turn's row in the journal
    id, session, speaker, role, text, caption, source, agent   the turn as it was kept
    time     when it was said, in the speaker's own offset; None where unknown
    score    the parts' sum; comparable within one recall only
    parts    what each part added to the score (see `ranking`)
    arms     rank that each arm gave it, from 1; without those that did not name it
    path     how the walk came to it; empty where only an arm found it
    """

    node: str
    id: str
    session: str
    speaker: str | None
    role: str | None
    time: datetime | None
    text: str
    caption: str | None
    source: str | None
    agent: str | None
    score: float
    parts: dict[str, float]
    arms: dict[str, int]
    path: tuple[Step, ...]


class Recall(msgspec.Struct, frozen=True, gc=False):
    """The evidence for one question, best first.

    analysis    what the rules read in the question
    timings_ms  milliseconds by stage
    cut_short   why there may be more than is here ("deadline", "tokens"); None = nothing was cut
    tokens      of the evidence texts, as counted by the counter named `counter`
    """

    query: str
    evidence: tuple[Evidence, ...]
    analysis: Analysis
    timings_ms: dict[str, float]
    cut_short: str | None
    tokens: int
    counter: str


def moment(time_us: int | None, utc_offset_min: int | None) -> datetime | None:
    """A kept time as a datetime with its offset."""
    if time_us is None:
        return None
    told = _EPOCH + timedelta(microseconds=time_us)
    try:
        return told.astimezone(_zone(utc_offset_min or 0))
    except OverflowError:  # at the ends of the calendar the offset leads out of it
        return told


@lru_cache(maxsize=256)
def _zone(offset_min: int) -> timezone:
    return timezone(timedelta(minutes=offset_min))
