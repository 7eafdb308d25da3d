"""A turn: what one speaker said, as the caller gives it and as the journal keeps it."""

import hashlib
import reprlib
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from .errors import InputError

#: One turn is one row, one vector and one block of a narrative. 1 MiB is some 250,000 tokens, more
#: than a model reads at once: a longer text is a document to be cut, not something that was said.
MAX_TEXT_BYTES = 1 << 20

DEFAULT_SESSION = "main"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MINUTE = timedelta(minutes=1)
_LAST_OFFSET = 24 * 60 - 1
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80  # a message shows what came, however long that is


class _Said(msgspec.Struct, frozen=True):
    text: str


class Turn(_Said, frozen=True, kw_only=True):
    """What one speaker said, as the caller gives it. Only `text` is needed.

    text     what was said, kept to the letter
    id       the caller's name for the turn, unique in its session; None = made from the content
    session  the conversation the turn belongs to; None = "main"
    speaker  who said it
    role     the speaker's part, as "user" or "assistant"
    source   where the turn came from, as a file or a channel
    agent    which agent put it into the memory
    caption  what an image shared with the turn shows
    time     when it was said: a datetime, an ISO 8601 string, or int microseconds UTC

    >>> Turn("I moved to Lisbon.", speaker="Ada", time="2024-05-01T10:00:00+02:00").speaker
    'Ada'
    """

    id: str | None = None
    session: str | None = None
    speaker: str | None = None
    role: str | None = None
    source: str | None = None
    agent: str | None = None
    caption: str | None = None
    time: datetime | str | int | None = None


class TurnRecord(msgspec.Struct, frozen=True, array_like=True):
    """A turn in the form the journal keeps: checked, complete, times in numbers.

    time_us         microseconds UTC, or None where the time is unknown
    utc_offset_min  minutes the speaker's clock was ahead of UTC, so that "yesterday" can be read
                    in the speaker's own calendar; None where the time is unknown

    The order of the fields is the format on disk: later ones go to the end, with a default.
    """

    text: str
    id: str
    session: str
    speaker: str | None
    role: str | None
    time_us: int | None
    utc_offset_min: int | None
    source: str | None
    agent: str | None
    caption: str | None


def normalise(turn: Turn, *, zone: str | None, occurrence: int = 0) -> TurnRecord:
    """The turn as the journal keeps it; InputError names the field that cannot be kept.

    zone        where times without an offset were said: an IANA name, "UTC" or "+02:00"; None
                refuses such times. An ambiguous local time is the earlier of the two. An int time
                is UTC; with a zone declared, it is read in that zone's calendar.
    occurrence  tells equal turns without id apart: 0 for the first of one call, 1 for the next

    Text is kept to the letter, with one exception: a lone surrogate is no character and has no
    form in UTF-8, so U+FFFD stands in for it. Blank optional strings become None.

    >>> normalise(Turn("Hello.", time="1970-01-01T02:00:01+02:00"), zone=None).time_us
    1000000
    """
    text = _filled("text", turn.text)
    session = _filled("session", DEFAULT_SESSION if turn.session is None else turn.session)
    speaker, role = _optional("speaker", turn.speaker), _optional("role", turn.role)
    caption = _optional("caption", turn.caption)
    time_us, utc_offset_min = read_time(turn.time, None if zone is None else read_zone(zone))
    return TurnRecord(
        text=text,
        id=_content_id(session, speaker, role, time_us, text, caption, occurrence)
        if turn.id is None
        else _filled("id", turn.id),
        session=session,
        speaker=speaker,
        role=role,
        time_us=time_us,
        utc_offset_min=utc_offset_min,
        source=_optional("source", turn.source),
        agent=_optional("agent", turn.agent),
        caption=caption,
    )


def content_digest(record: TurnRecord) -> bytes:
    """16 bytes that are equal for the same turn, told again, and differ for another one.

    Everything counts but `agent` and `source`: the same words, said by the same person at the same
    time, are the same turn whoever passes them on and through whatever channel.
    """
    content = (
        *(record.id, record.session, record.speaker, record.role),
        *(record.time_us, record.utc_offset_min, record.text, record.caption),
    )
    return hashlib.blake2b(msgspec.msgpack.encode(content), digest_size=16).digest()


@lru_cache(maxsize=64)
def read_zone(zone: str) -> tzinfo:
    """The time zone by the name "UTC", an IANA name or an offset "+02:00"; InputError otherwise."""
    if zone == "UTC":
        return UTC
    try:
        if zone[:1] in ("+", "-"):
            return timezone(datetime.strptime(zone, "%z").utcoffset() or timedelta(0))
        return ZoneInfo(zone)
    except (ValueError, KeyError, OSError) as exc:
        expected = "an IANA name, 'UTC' or an offset like '+02:00'"
        raise InputError(f"zone: expected {expected}, got {_SHORT.repr(zone)}") from exc


def _content_id(*content: str | int | None) -> str:
    digest = hashlib.blake2b(msgspec.msgpack.encode(content), digest_size=10)
    return f"auto-{digest.hexdigest()}"


def _string(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{field}: expected a string, got {_SHORT.repr(value)}")
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        encoded = _without_lone_surrogates(value).encode()
    if len(encoded) > MAX_TEXT_BYTES:
        raise InputError(f"{field}: expected {MAX_TEXT_BYTES} bytes at most, got {len(encoded)}")
    return encoded.decode()  # a plain str, also where a subclass came


def _without_lone_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _filled(field: str, value: object) -> str:
    text = _string(field, value)
    if not text.strip():
        raise InputError(f"{field}: expected more than blanks, got {_SHORT.repr(text)}")
    return text


def _optional(field: str, value: object) -> str | None:
    if value is None:
        return None
    text = _string(field, value)
    return text if text.strip() else None


def read_time(time: object, zone: tzinfo | None) -> tuple[int | None, int | None]:
    """Microseconds UTC and the speaker's offset in minutes, or (None, None) for no time."""
    if time is None:
        return None, None
    try:
        spoken = _spoken(time, zone)
        time_us = (spoken.astimezone(UTC) - _EPOCH) // _MICROSECOND
    except OverflowError as exc:
        expected = "a moment in the years 1 to 9999"
        raise InputError(f"time: expected {expected}, got {_SHORT.repr(time)}") from exc
    offset = spoken.utcoffset()
    if offset is None:
        return time_us, None
    # Offsets have seconds in theory; rounded, they must stay within a day of UTC.
    return time_us, min(max(round(offset / _MINUTE), -_LAST_OFFSET), _LAST_OFFSET)


def _spoken(time: object, zone: tzinfo | None) -> datetime:
    """The time on the speaker's clock, aware; OverflowError outside the years 1 to 9999."""
    if isinstance(time, int) and not isinstance(time, bool):
        return (_EPOCH + time * _MICROSECOND).astimezone(zone or UTC)
    if isinstance(time, str):
        moment = _parse(time)
    elif isinstance(time, datetime):
        moment = time
    else:
        expected = "a datetime, an ISO 8601 string or int microseconds UTC"
        raise InputError(f"time: expected {expected}, got {_SHORT.repr(time)}")
    if moment.utcoffset() is not None:
        return moment
    if zone is None:
        expected = "a time with an offset, or a declared zone"
        raise InputError(f"time: expected {expected}, got {_SHORT.repr(time)}")
    return moment.replace(tzinfo=zone)


def _parse(time: str) -> datetime:
    try:
        return datetime.fromisoformat(time)
    except ValueError as exc:
        expected = "an ISO 8601 time like '2024-05-01T10:00:00+02:00'"
        raise InputError(f"time: expected {expected}, got {_SHORT.repr(time)}") from exc
