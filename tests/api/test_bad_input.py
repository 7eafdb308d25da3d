"""What cannot be used is said, item by item; what can is kept, to the letter."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuegraph import InputError, Memory, StoreError, Turn
from cuegraph.io.turn import MAX_TEXT_BYTES

NAIVE = datetime(2024, 5, 1, 10)
AWARE = datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=2)))

REJECTED: dict[str, tuple[Turn, str]] = {
    "empty": (Turn(""), r"^text: expected more than blanks, got ''$"),
    "blank": (Turn(" \n\t\u3000"), "^text: expected more than blanks"),
    "None": (Turn(None), "^text: expected a string, got None$"),  # type: ignore[arg-type]
    "number": (Turn(7), "^text: expected a string, got 7$"),  # type: ignore[arg-type]
    "bytes": (Turn(b"Hello"), "^text: expected a string, got b'Hello'$"),  # type: ignore[arg-type]
    "too long": (
        Turn("x" * (MAX_TEXT_BYTES + 1)),
        f"^text: expected {MAX_TEXT_BYTES} bytes at most, got {MAX_TEXT_BYTES + 1}$",
    ),
    "time in words": (Turn("a", time="last week"), "^time: expected an ISO 8601 .*'last week'$"),
    "time as float": (Turn("a", time=1.5), "^time: expected a datetime"),  # type: ignore[arg-type]
    "time as bool": (Turn("a", time=True), "^time: expected a datetime"),
    "naive": (Turn("a", time=NAIVE), "^time: expected a time with an offset, or a declared zone"),
    "naive string": (Turn("a", time="2024-05-01T10:00"), "^time: expected a time with an offset"),
    "after 9999": (Turn("a", time=2**62), "^time: expected a moment in the years 1 to 9999"),
    "number as id": (Turn("a", id=1), "^id: expected a string, got 1$"),  # type: ignore[arg-type]
    "blank id": (Turn("a", id=" "), "^id: expected more than blanks"),
    "speaker": (Turn("a", speaker=["Ada"]), "^speaker: expected a string"),  # type: ignore[arg-type]
}

BAD_QUESTIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "empty": ("", {}, "^query: expected a string that is not blank, got ''$"),
    "blank": (" \n", {}, "^query: expected"),
    "None": (None, {}, "^query: expected .* got None$"),
    "no answers": ("boats", {"k": 0}, "^k: expected a whole number, at least 1, got 0$"),
    "fewer than none": ("boats", {"k": -3}, "^k: expected .* at least 1, got -3$"),
    "half an answer": ("boats", {"k": 1.5}, "^k: expected a whole number, .* got 1.5$"),
    "a written number": ("boats", {"k": "3"}, "^k: expected a whole number, .* got '3'$"),
    "yes for a number": ("boats", {"budget_tokens": True}, "^budget_tokens: .* got True$"),
    "less than no tokens": ("boats", {"budget_tokens": -1}, "^budget_tokens: .* got -1$"),
    "a deadline in words": ("boats", {"deadline_ms": "soon"}, "^deadline_ms: .* got 'soon'$"),
    "a speaker by number": ("boats", {"speaker": 5}, "^speaker: expected a name, got 5$"),
    "unknown speaker": ("boats", {"speaker": "Zoe"}, r"^speaker: .*\(Ada, Ben\), got 'Zoe'$"),
    "a name that only is mentioned": ("boats", {"speaker": "Mira"}, "^speaker: expected"),
    "no character": ("boats", {"speaker": "\ud800"}, "^speaker: expected"),
    "after": ("boats", {"after": "soon"}, "^after: time: expected an ISO 8601"),
    "before": ("boats", {"before": 1.5}, "^before: time: expected a datetime"),
    "asked": ("boats", {"asked": "today"}, "^asked: time: expected an ISO 8601"),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="hash") as opened:
        opened.add(
            [
                Turn("We sailed two boats, Mira and I.", id="1", speaker="Ada"),
                Turn("Boats need paint every year.", id="2", speaker="Ben"),
            ]
        )
        yield opened


# --- turns


@pytest.mark.parametrize(("turn", "reason"), REJECTED.values(), ids=REJECTED)
def test_a_bad_turn_is_reported_and_the_others_are_kept(
    memory: Memory, turn: Turn, reason: str
) -> None:
    report = memory.add([Turn("Before it.", id="b"), turn, Turn("After it.", id="a")])
    assert [item.status for item in report.items] == ["added", "rejected", "added"]
    assert [item.index for item in report.items] == [0, 1, 2]
    (problem,) = report.problems
    assert problem is report.items[1]
    with pytest.raises(InputError, match=reason):
        raise InputError(problem.reason)
    assert memory.stats().turns == 4


def test_all_bad_turns_of_a_call_are_reported_in_order(memory: Memory) -> None:
    turns = [turn for turn, _ in REJECTED.values()]
    report = memory.add(turns)
    assert [item.index for item in report.problems] == list(range(len(turns)))
    assert report.added == report.unchanged == 0
    assert memory.stats().turns == 2


def test_the_zone_of_the_call_and_of_the_memory(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="hash", zone="Europe/Rome") as memory:
        memory.add([Turn("Rome", id="r", time=NAIVE), Turn("Aware", id="a", time=AWARE)])
        memory.add([Turn("India", id="i", time=NAIVE)], zone="+05:30")
        pieces = memory.recall("Rome, Aware or India?").evidence
    times = {piece.id: piece.time for piece in pieces}
    # Rome is two hours ahead of UTC in May, and India five and a half in every month.
    assert times == {
        "r": datetime(2024, 5, 1, 8, tzinfo=UTC),
        "a": datetime(2024, 5, 1, 8, tzinfo=UTC),
        "i": datetime(2024, 5, 1, 4, 30, tzinfo=UTC),
    }


def test_naive_times_are_refused_beside_aware_ones(memory: Memory) -> None:
    report = memory.add([Turn("one", time=AWARE), Turn("two", time=NAIVE), Turn("three")])
    assert [item.status for item in report.items] == ["added", "rejected", "added"]


def test_an_unknown_zone_rejects_each_turn(memory: Memory) -> None:
    (problem,) = memory.add([Turn("one", time=NAIVE)], zone="Mars/Olympus").problems
    assert problem.reason is not None
    assert problem.reason.startswith("zone: expected an IANA name")


@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59.999999+00:00:40",
        "2024-05-01T10:00:00+23:59:59",
        "2024-05-01T10:00:00-23:59:59",
        "2024-05-01T10:00:00+01:00:30",
        0,
        -1,
    ],
)
def test_a_time_that_is_kept_can_be_told(memory: Memory, time: str | int) -> None:
    (item,) = memory.add([Turn("Yesterday we met, and next year again.", id="t", time=time)]).items
    assert item.status == "added"
    recall = memory.recall("When did we meet, yesterday or last year?")
    (piece,) = [piece for piece in recall.evidence if piece.id == "t"]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    told = datetime.fromisoformat(time) if isinstance(time, str) else None
    expected = epoch + timedelta(microseconds=int(time)) if told is None else told
    assert piece.time == expected
    assert memory.narrate(recall).text


def test_a_long_turn_is_kept_and_found_by_its_last_word(memory: Memory) -> None:
    text = "The minutes of the meeting go on. " * 6000 + "At last they named the quokka."
    assert len(text) > 200_000
    assert memory.add([Turn(text, id="long")]).added == 1
    piece = next(p for p in memory.recall("What of the quokka?").evidence if p.id == "long")
    assert piece.arms["keyword"] == 1
    assert piece.text == text


@pytest.mark.parametrize(
    "unit", ["A", "A ", "A.", "Ab", "aB3+/", "Mira went. ", "我", "( ", "2024-"]
)
def test_a_long_run_takes_no_longer_than_its_length(tmp_path: Path, unit: str) -> None:
    """A pasted picture is one word of 100 kB: no rule may look back over it at each letter."""
    code = (
        "import sys; from cuegraph import Memory, Turn\n"
        "with Memory.open(sys.argv[1], embedder='hash') as memory:\n"
        "    text = (sys.argv[2] * 100_000)[:100_000]\n"
        "    memory.add([Turn(text, speaker='Ada', time=0)])\n"
        "    print(memory.recall(text).evidence[0].text == text)"
    )
    command = [sys.executable, "-c", code, str(tmp_path), unit]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    assert ran.stdout == "True\n"


def test_text_is_kept_to_the_letter_but_for_lone_surrogates(memory: Memory) -> None:
    said = {
        "nul": "a\0b",
        "odd": "x \ud800 y",
        "pair": "\U0001f600",
        "rtl": "\u202eabc",
        "cr": "a\r\nb",
    }
    memory.add([Turn(text, id=key) for key, text in said.items()])
    kept = {piece.id: piece.text for piece in memory.recall("a x b y abc", k=50).evidence}
    assert {key: kept[key] for key in said} == {**said, "odd": "x \ufffd y"}


def test_names_and_ids_of_any_characters(memory: Memory) -> None:
    memory.add([Turn("Odd one.", id='"\0,]', session="\ud800\n", speaker="\0\ud800Z", agent="\0")])
    memory.add([Turn("Odd one.", id='"\0,]', session="main", speaker="'s")])
    pieces = [piece for piece in memory.recall("Odd one.").evidence if piece.text == "Odd one."]
    assert {piece.id for piece in pieces} == {'"\0,]'}
    assert {piece.session for piece in pieces} == {"\ufffd\n", "main"}


def test_one_id_twice_in_a_call(memory: Memory) -> None:
    turns = [Turn("One.", id="x"), Turn("Two.", id="x"), Turn("One.", id="x")]
    report = memory.add(turns)
    assert [item.status for item in report.items] == ["added", "conflict", "unchanged"]
    (problem,) = report.problems
    assert problem.reason is not None
    assert "'x'" in problem.reason and "'main'" in problem.reason


def test_what_is_no_turn_stops_the_call(memory: Memory) -> None:
    for wrong in ("Hello.", {"text": "Hello."}, None):
        with pytest.raises(InputError, match=r"^turn 1: expected a Turn, got (str|dict|NoneType)$"):
            memory.add([Turn("Fine."), wrong])  # type: ignore[list-item]
    assert memory.stats().turns == 2


def test_turns_may_come_from_a_generator_or_not_at_all(memory: Memory) -> None:
    assert memory.add(Turn(f"Line {n}.") for n in range(3)).added == 3
    assert memory.add([]).items == ()
    assert memory.add(iter(())).items == ()


def test_a_generator_that_fails_adds_nothing(memory: Memory) -> None:
    def failing() -> Iterator[Turn]:
        yield Turn("Fine.")
        raise OSError("the line dropped")

    with pytest.raises(OSError, match="the line dropped"):
        memory.add(failing())
    assert memory.stats().turns == 2


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=st.text(max_size=120),
    speaker=st.none() | st.text(max_size=8),
    time=st.none() | st.datetimes(timezones=st.timezones() | st.just(UTC)),
    query=st.text(max_size=60),
)
def test_any_text_is_either_kept_or_rejected(
    memory: Memory, text: str, speaker: str | None, time: datetime | None, query: str
) -> None:
    report = memory.add([Turn(text, speaker=speaker, time=time)])
    assert report.added + report.unchanged + len(report.problems) == 1
    if query.strip():
        recall = memory.recall(query)
        assert memory.narrate(recall).tokens <= 1000
    else:
        with pytest.raises(InputError, match="query"):
            memory.recall(query)


# --- questions


@pytest.mark.parametrize(("query", "options", "message"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_a_bad_question_is_refused(
    memory: Memory, query: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        memory.recall(query, **options)
    with pytest.raises(InputError, match=message):
        memory.recall_batch(["boats", query], **options)


def test_one_string_is_no_batch(memory: Memory) -> None:
    with pytest.raises(InputError, match=r"^queries: expected a list of strings, got one string"):
        memory.recall_batch("boats")


def test_an_option_that_does_not_exist_is_refused(memory: Memory) -> None:
    with pytest.raises(TypeError, match="limit"):
        memory.recall("boats", limit=3)  # type: ignore[call-arg]


def test_nobody_speaks_in_an_empty_memory(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="hash") as memory:
        assert memory.recall("boats").evidence == ()
        with pytest.raises(InputError, match="nobody"):
            memory.recall("boats", speaker="Ada")


@pytest.mark.parametrize("query", ["?!", "\0", "\ud800", "the of and", "😀", "x" * 5000])
def test_an_odd_question_is_answered(memory: Memory, query: str) -> None:
    assert {piece.id for piece in memory.recall(query).evidence} == {"1", "2"}


def test_a_long_question_is_answered(memory: Memory) -> None:
    query = "and what of the paint on it? " * 3600
    assert len(query) > 100_000
    assert memory.recall(query, k=1).evidence[0].id == "2"


def test_no_tokens_are_enough_for_no_evidence(memory: Memory) -> None:
    recall = memory.recall("boats", budget_tokens=0)
    assert (recall.evidence, recall.tokens, recall.cut_short) == ((), 0, "tokens")


def test_a_deadline_that_has_passed_leaves_out_the_walk(memory: Memory) -> None:
    recall = memory.recall("boats", deadline_ms=-1)
    assert recall.cut_short == "deadline"
    assert {piece.id for piece in recall.evidence} == {"1", "2"}
    assert all(piece.path == () and "graph" not in piece.parts for piece in recall.evidence)


def test_a_narrative_needs_a_budget(memory: Memory) -> None:
    with pytest.raises(InputError, match=r"^budget_tokens: expected at least 1, got 0$"):
        memory.narrate(memory.recall("boats"), budget_tokens=0)


def test_a_memory_to_read_must_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no file"):
        Memory.open(tmp_path / "none", embedder="hash", read_only=True)
    assert not (tmp_path / "none").exists()


def test_an_unknown_embedder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'e6'"):
        Memory.open(tmp_path / "none", embedder="e6")
    assert not (tmp_path / "none").exists()
