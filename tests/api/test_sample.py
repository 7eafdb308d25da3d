"""The shipped sample conversation and its questions have the promised shape."""

import json
from collections import Counter
from datetime import datetime
from importlib.resources import files
from itertools import groupby, pairwise
from typing import Any

KINDS = {
    "single_hop",
    "multi_hop",
    "temporal",
    "why",
    "who",
    "two_step",
    "unanswerable",
    "update",
}


def _rows(name: str) -> list[dict[str, Any]]:
    text = (files("cuegraph") / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


TURNS = _rows("sample.jsonl")
QUESTIONS = _rows("sample_questions.jsonl")


def _times(turns: list[dict[str, Any]]) -> list[datetime]:
    return [datetime.fromisoformat(turn["time"]) for turn in turns]


def _sessions() -> dict[str, list[dict[str, Any]]]:
    return {key: list(group) for key, group in groupby(TURNS, key=lambda turn: turn["session"])}


def test_turn_fields() -> None:
    needed = {"id", "session", "speaker", "time", "text"}
    for turn in TURNS:
        assert needed <= turn.keys() <= needed | {"caption"}
        assert all(isinstance(value, str) and value.strip() for value in turn.values())


def test_size_and_speakers() -> None:
    assert len(TURNS) >= 140
    assert len({turn["speaker"] for turn in TURNS}) == 3
    assert len({turn["session"] for turn in TURNS}) >= 10
    for turns in _sessions().values():
        assert len({turn["speaker"] for turn in turns}) in {2, 3}


def test_turn_length() -> None:
    words = [len(turn["text"].split()) for turn in TURNS]
    assert max(words) <= 60
    assert sum(count >= 15 for count in words) > len(words) / 2


def test_ids_are_unique_and_follow_the_sessions() -> None:
    assert len({turn["id"] for turn in TURNS}) == len(TURNS)
    sessions = _sessions()
    assert sum(len(turns) for turns in sessions.values()) == len(TURNS)
    assert list(sessions) == [f"s{number}" for number in range(1, len(sessions) + 1)]
    for name, turns in sessions.items():
        assert [turn["id"] for turn in turns] == [f"{name}:{n}" for n in range(1, len(turns) + 1)]


def test_times_have_an_offset_and_increase() -> None:
    times = _times(TURNS)
    assert all(time.utcoffset() is not None for time in times)
    assert all(before < after for before, after in pairwise(times))
    for turns in _sessions().values():
        for before, after in pairwise(_times(turns)):
            assert 60 <= (after - before).total_seconds() <= 180


def test_months_spanned() -> None:
    times = _times(TURNS)
    assert len({(time.year, time.month) for time in times}) >= 9
    assert (times[-1] - times[0]).days >= 240


def test_question_fields() -> None:
    assert len(QUESTIONS) >= 32
    assert len({row["question"] for row in QUESTIONS}) == len(QUESTIONS)
    for row in QUESTIONS:
        assert row.keys() == {"question", "kind", "evidence"}
        assert row["question"].endswith(("?", "？"))


def test_every_kind_has_three_questions() -> None:
    counts = Counter(row["kind"] for row in QUESTIONS)
    assert counts.keys() == KINDS
    assert min(counts.values()) >= 3


def test_evidence() -> None:
    ids = {turn["id"] for turn in TURNS}
    for row in QUESTIONS:
        evidence = row["evidence"]
        assert set(evidence) <= ids
        assert len(set(evidence)) == len(evidence)
        assert (not evidence) == (row["kind"] == "unanswerable")


def test_two_step_goes_through_two_sessions_and_two_speakers() -> None:
    turns = {turn["id"]: turn for turn in TURNS}
    for row in QUESTIONS:
        if row["kind"] != "two_step":
            continue
        first, second = (turns[key] for key in row["evidence"])
        assert first["session"] != second["session"]
        assert first["speaker"] != second["speaker"]
        assert first["speaker"] not in second["text"]
        assert second["speaker"] not in first["text"]


def test_chinese_question_about_a_chinese_turn() -> None:
    turns = {turn["id"]: turn for turn in TURNS}
    rows = [row for row in QUESTIONS if row["question"].endswith("？")]
    assert rows
    for row in rows:
        assert any("我" in turns[key]["text"] for key in row["evidence"])
