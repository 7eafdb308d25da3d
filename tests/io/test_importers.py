"""Importers: JSONL, LoCoMo and its evidence cells. All conversations here are invented."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cuegraph.io import (
    Conversation,
    InputError,
    Problem,
    Question,
    Turn,
    load_turns,
    normalise,
    read_jsonl,
    read_locomo,
    repair_evidence,
)


def read_one(line: str) -> Turn | Problem:
    (item,) = read_jsonl([line], "chat.jsonl")
    return item


def test_all_fields_of_a_line() -> None:
    fields = {name: name[:2] for name in Turn.__struct_fields__}
    assert read_one(json.dumps(fields)) == Turn(**fields)
    assert read_one('{"text": "a", "time": 5, "id": null}') == Turn("a", time=5)
    assert read_one('{"text": "a", "text": "b"}') == Turn("b")  # as JSON: the last one counts
    assert read_one('{"text": " \\u0000\\n"}') == Turn(" \x00\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "Expecting value"),
        ('{"text": "a"', "Expecting"),
        ('{"text": "a"} {}', "Extra data"),
        ("[1]", "Expected `object`, got `array`"),
        ('"text"', "Expected `object`, got `str`"),
        ("{}", "missing required field `text`"),
        ('{"text": " "}', "Expected `str` matching regex"),
        ('{"text": 5}', "Expected `str`, got `int` - at `$.text`"),
        ('{"text": "a", "speaker": ["b"]}', "got `array` - at `$.speaker`"),
        ('{"text": "a", "time": true}', "got `bool` - at `$.time`"),
        ('{"text": "a", "time": 1.5}', "got `float` - at `$.time`"),
        ('{"text": "a", "time": NaN}', "got `float` - at `$.time`"),
        ('{"text": "a", "speakr": "b"}', "unknown field `speakr`"),
        ('{"text": "a\udce9"}', "expected UTF-8, got byte 0xe9"),
        ("[" * 100_000, "recursion"),
        ('{"text": "a", "time": ' + "9" * 5000 + "}", "4300 digits"),
    ],
)
def test_a_bad_line_is_a_problem(line: str, reason: str) -> None:
    problem = read_one(line)
    assert isinstance(problem, Problem)
    assert problem.where == "chat.jsonl line 1"
    assert reason in problem.reason


def test_good_lines_go_on_after_bad_ones_and_numbers_count_blank_ones() -> None:
    lines = ['{"text": "a"}', "", "bad", "  ", '{"text": "b"}']
    first, problem, last = read_jsonl(lines, "x")
    assert (first, last) == (Turn("a"), Turn("b"))
    assert isinstance(problem, Problem)
    assert problem.where == "x line 3"


def test_an_escaped_lone_surrogate_is_left_to_normalise() -> None:
    turn = read_one('{"text": "a\\ud800"}')
    assert isinstance(turn, Turn)
    assert normalise(turn, zone=None).text == "a\ufffd"


def test_jsonl_files(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    content = '\ufeff{"text": "a\u2028b"}\r\n\n{"text": "é"}\n'.encode()
    path.write_bytes(content + b'{"text": "\xe9"}')
    first, second, problem = load_turns(path)
    assert (first, second) == (Turn("a\u2028b"), Turn("é"))
    assert problem == Problem("chat.jsonl line 4", "expected UTF-8, got byte 0xe9")


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf"])
def test_empty_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected turns, got an empty file, at "):
        load_turns(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / "none" / "deeper"):
        with pytest.raises(InputError, match="expected a file to read, got '"):
            load_turns(path)


def locomo_turn(dia_id: str, **fields: Any) -> dict[str, Any]:
    return {"speaker": "Ann", "dia_id": dia_id, "text": f"I say {dia_id}.", **fields}


def sample(**conversation: Any) -> dict[str, Any]:
    return {
        "sample_id": "conv-1",
        "conversation": {"speaker_a": "Ann", "speaker_b": "Ben", **conversation},
        "qa": [
            {"question": "Who?", "answer": "SECRET", "category": 1, "evidence": ["D1:1; D2:1"]},
            {"question": "When?", "adversarial_answer": "SECRET", "category": 5},
        ],
    }


def write_locomo(path: Path, *samples: dict[str, Any]) -> Path:
    path.write_text(json.dumps(samples))
    return path


SESSIONS = {
    "session_10": [locomo_turn("D10:1")],
    "session_10_date_time": "12:05 am on 1 January, 2024",
    "session_2": [locomo_turn("D2:1", speaker="Ben"), locomo_turn("D2:2", blip_caption="a cat")],
    "session_2_date_time": "4:07 pm on 6 June, 2021",
    "session_11_date_time": "1:56 pm on 9 May, 2024",
}


def test_locomo_sessions_times_and_questions(tmp_path: Path) -> None:
    (conversation,) = read_locomo(write_locomo(tmp_path / "l.json", sample(**SESSIONS)))
    june = datetime(2021, 6, 6, 16, 7, tzinfo=UTC)
    january = datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    two: dict[str, Any] = {"session": "session_2", "time": june}
    assert conversation == Conversation(
        "conv-1",
        turns=[
            Turn("I say D2:1.", id="D2:1", speaker="Ben", **two),
            Turn("I say D2:2.", id="D2:2", speaker="Ann", caption="a cat", **two),
            Turn("I say D10:1.", id="D10:1", speaker="Ann", session="session_10", time=january),
        ],
        questions=[Question("Who?", 1, ["D1:1; D2:1"]), Question("When?", 5, [])],
        problems=[],
    )


def test_nothing_that_leaks_answers_is_read(tmp_path: Path) -> None:
    leaky = locomo_turn("D1:1", query="SECRET", img_url=["SECRET"], blip_caption="a dog")
    said: dict[str, Any] = {
        "session_1": [leaky],
        "session_1_date_time": "4:07 pm on 6 June, 2021",
        "session_1_observation": {"Ann": [["SECRET", "D1:1"]]},
        "session_1_summary": "SECRET",
        "events_session_1": {"Ann": ["SECRET"]},
    }
    leaks = {name: "SECRET" for name in ("observation", "session_summary", "event_summary")}
    (conversation,) = read_locomo(write_locomo(tmp_path / "l.json", sample(**said) | leaks))
    assert len(conversation.turns) == 1
    assert "SECRET" not in repr(conversation)


def test_locomo_problems_are_listed_and_the_rest_goes_on(tmp_path: Path) -> None:
    said = {
        "session_1": [locomo_turn("D1:1"), {"speaker": "Ann"}, locomo_turn("D1:3")],
        "session_1_date_time": "some day in May",
        "session_2": "not a list",
        "session_2_date_time": 5,
        "session_3": [locomo_turn("D3:1")],
    }
    broken = sample(**said)
    broken["qa"].append({"question": "Why?", "category": "many"})
    (conversation,) = read_locomo(write_locomo(tmp_path / "l.json", broken))
    assert [turn.id for turn in conversation.turns] == ["D1:1", "D1:3", "D3:1"]
    assert {turn.time for turn in conversation.turns} == {None}
    assert len(conversation.questions) == 2
    assert [problem.where.removeprefix("l.json conv-1 ") for problem in conversation.problems] == [
        "session_1_date_time",
        "session_1 turn 2",
        "session_2_date_time",
        "session_2",
        "session_3_date_time",
        "question 3",
    ]
    expected = "expected a time like '2:05 pm on 3 June, 2021', got 'some day in May'"
    assert conversation.problems[0].reason == expected


@pytest.mark.parametrize("content", ["[", "[1]", '[{"sample_id": "x"}]', "{}", '["\\ud800"]'])
def test_what_is_no_locomo_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "l.json").write_text(content)
    with pytest.raises(InputError, match="expected a LoCoMo file, got '"):
        read_locomo(tmp_path / "l.json")


def test_load_turns_reads_one_conversation_only(tmp_path: Path) -> None:
    path = write_locomo(tmp_path / "l.json", sample(**SESSIONS, session_x=5))
    assert [item.id for item in load_turns(path) if isinstance(item, Turn)] == [
        "D2:1",
        "D2:2",
        "D10:1",
    ]
    write_locomo(path, sample(), sample())
    with pytest.raises(InputError, match="expected one conversation, got 2, at "):
        load_turns(path)


@pytest.mark.parametrize(
    ("cells", "ids", "dropped"),
    [
        ([], [], []),
        (["D1:1", "D2:3"], ["D1:1", "D2:3"], []),
        (["D8:6; D9:17"], ["D8:6", "D9:17"], []),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"], []),
        (["D9:1D4:4,D4:6"], ["D9:1", "D4:4", "D4:6"], []),
        (["D:11:26"], ["D11:26"], []),
        (["D30:05"], ["D30:5"], []),
        (["D10:10", "D1:0"], ["D10:10"], ["D1:0"]),
        (["D", "D1:1"], ["D1:1"], ["D"]),
        (["D1:99", "D1:99"], [], ["D1:99"]),
        (["D2:3", "D1:1", "D2:3"], ["D2:3", "D1:1"], []),
        (["", " "], [], []),
        ([" D1:1 ;"], ["D1:1"], []),
    ],
)
def test_repair_evidence(cells: list[str], ids: list[str], dropped: list[str]) -> None:
    known = set("D1:1 D2:3 D8:6 D9:17 D9:1 D4:4 D4:6 D11:26 D30:5 D10:10".split())
    assert repair_evidence(cells, known) == (ids, dropped)
