"""Turns: what is kept, what is refused, and which turns count as the same."""

import hashlib
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from cuegraph.io import InputError, Turn, TurnRecord, content_digest, normalise, read_zone
from cuegraph.io.turn import MAX_TEXT_BYTES

HOUR_US = 3_600_000_000


def record(text: str = "hello", zone: str | None = None, **fields: Any) -> TurnRecord:
    return normalise(Turn(text, **fields), zone=zone)


def test_only_text_is_positional() -> None:
    assert Turn("a").text == "a"
    with pytest.raises(TypeError):
        Turn("a", "b")  # type: ignore[call-arg]


def test_a_bare_turn_is_complete() -> None:
    kept = record()
    assert kept.session == "main"
    assert kept.id.startswith("auto-")
    assert (kept.time_us, kept.utc_offset_min, kept.speaker) == (None, None, None)


@pytest.mark.parametrize(
    "text", [" a\n", "\x00", "nul\x00inside", "日本語", "\U0001f600", "é", "a\r\n"]
)
def test_text_is_kept_to_the_letter(text: str) -> None:
    assert record(text).text == text


def test_lone_surrogates_become_the_replacement_character() -> None:
    assert record("a\ud800b\udc00").text == "a\ufffdb\ufffd"
    assert record("\ud83d\ude00").text == "\U0001f600"  # a pair is one character
    assert record(speaker="x\udcff").speaker == "x\ufffd"


def test_text_up_to_the_limit_in_bytes() -> None:
    assert len(record("a" * 200_000).text) == 200_000
    record("é" * (MAX_TEXT_BYTES // 2))
    with pytest.raises(InputError, match=r"text: expected 1048576 bytes at most, got 1048578"):
        record("é" * (MAX_TEXT_BYTES // 2 + 1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("text", value) for value in ("", " \n\u3000", None, 5, b"a")],
        *[(field, " ") for field in ("id", "session")],
        *[(f, 7) for f in ("id", "session", "speaker", "role", "source", "agent", "caption")],
    ],
)
def test_a_refusal_names_the_field(field: str, value: object) -> None:
    with pytest.raises(InputError, match=f"^{field}: expected .*, got "):
        normalise(Turn(**{"text": "a", field: value}), zone=None)  # type: ignore[arg-type]


def test_blank_optional_strings_are_none() -> None:
    kept = record(speaker="", role=" ", source="", agent="", caption="\n")
    assert (kept.speaker, kept.role, kept.source, kept.agent, kept.caption) == (None,) * 5


@pytest.mark.parametrize(
    ("time", "zone", "time_us", "offset"),
    [
        ("1970-01-01T01:00:00Z", None, HOUR_US, 0),
        ("1970-01-01T03:00:00+02:00", None, HOUR_US, 120),
        ("1970-01-02", "UTC", 24 * HOUR_US, 0),
        ("1970-01-01T00:00:00", "+02:00", -2 * HOUR_US, 120),
        ("1970-01-01T00:00:00.000001", "UTC", 1, 0),
        ("1970-07-01T09:00:00", "Asia/Tokyo", 181 * 24 * HOUR_US, 540),
        (datetime(1970, 1, 1, 1, tzinfo=UTC), None, HOUR_US, 0),
        (
            datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
            None,
            5 * HOUR_US + HOUR_US // 2,
            -330,
        ),
        (datetime(1970, 1, 1), "UTC", 0, 0),
        (5, None, 5, 0),
        (-5, None, -5, 0),
        (5, "-03:00", 5, -180),
        ("0001-01-01T00:00:00Z", None, -62_135_596_800_000_000, 0),
        ("9999-12-31T23:59:59.999999Z", None, 253_402_300_799_999_999, 0),
    ],
)
def test_times(time: object, zone: str | None, time_us: int, offset: int) -> None:
    kept = record(time=time, zone=zone)
    assert (kept.time_us, kept.utc_offset_min) == (time_us, offset)


def test_an_ambiguous_local_time_is_the_earlier_one() -> None:
    # Berlin's clocks went back from 03:00 (+02:00) to 02:00 (+01:00) on 2023-10-29.
    assert record(time="2023-10-29T02:30:00", zone="Europe/Berlin").utc_offset_min == 120


@pytest.mark.parametrize(
    ("time", "got"),
    [
        (True, "True"),
        (1.5, "1.5"),
        (date(2024, 5, 1), "datetime.date"),
        ("yesterday", "'yesterday'"),
        ("", "''"),
        ("2024-13-01", "'2024-13-01'"),
        ("2024-05-01", "'2024-05-01'"),
        (datetime(2024, 5, 1), "datetime.datetime"),
        ("0001-01-01T00:00:00+14:00", "years 1 to 9999"),
        ("9999-12-31T23:59:59-01:00", "years 1 to 9999"),
        (253_402_300_800_000_000, "years 1 to 9999"),
        (10**30, "years 1 to 9999"),
    ],
)
def test_unreadable_times(time: object, got: str) -> None:
    with pytest.raises(InputError, match=r"^time: expected ") as error:
        record(time=time)
    assert got in str(error.value)


@pytest.mark.parametrize("zone", ["", "Nowhere/City", "+25:00", "+2", "../etc/passwd", "utc?"])
def test_unknown_zones(zone: str) -> None:
    with pytest.raises(InputError, match=r"^zone: expected an IANA name"):
        read_zone(zone)


def test_content_id_depends_on_what_was_said_and_on_the_occurrence() -> None:
    variants = [
        Turn("a"),
        Turn("b"),
        Turn("a", session="s"),
        Turn("a", speaker="s"),
        Turn("a", role="s"),
        Turn("a", caption="s"),
        Turn("a", time=1),
    ]
    ids = {normalise(turn, zone=None).id for turn in variants}
    assert len(ids) == len(variants)
    assert normalise(Turn("a"), zone=None, occurrence=1).id not in ids
    assert record("a", source="x", agent="y").id == record("a").id
    assert record("a", id="mine").id == "mine"


def test_digest_covers_all_but_source_and_agent() -> None:
    kept = record("a", id="1", speaker="Ada", time=0)
    digest = content_digest(kept)
    assert len(digest) == 16
    changes: dict[str, object] = {
        **{"text": "b", "id": "2", "session": "s", "speaker": "Bob", "role": "user"},
        **{"time_us": 1, "utc_offset_min": 60, "caption": "c"},
    }
    for field, value in changes.items():
        assert content_digest(msgspec.structs.replace(kept, **{field: value})) != digest, field
    for field in ("source", "agent"):
        assert content_digest(msgspec.structs.replace(kept, **{field: "x"})) == digest, field


def test_equal_input_gives_equal_bytes_in_every_process() -> None:
    # Msgpack written by hand: a change here breaks the stores that exist.
    identity = b"\x97\xa1s\xc0\xc0\x00\xa1a\xc0\x00"
    turn_id = "auto-" + hashlib.blake2b(identity, digest_size=10).hexdigest()
    content = b"\x98\xb9" + turn_id.encode() + b"\xa1s\xc0\xc0\x00\x00\xa1a\xc0"
    kept = record("a", session="s", time=0)
    assert kept.id == turn_id
    assert content_digest(kept) == hashlib.blake2b(content, digest_size=16).digest()
