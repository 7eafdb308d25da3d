"""The evaluation from file to report, and that the key never reaches the memory."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cuegraph import Memory, Recall, Turn, open_embedder
from cuegraph.bench import spaces
from cuegraph.bench.ablation import ablate
from cuegraph.bench.locomo import Evaluation, evaluate

Write = Callable[[Any, str], Path]
Data = list[dict[str, Any]]
Call = tuple[str, object, dict[str, Any]]

EMBEDDER = open_embedder("hash")


class Spy(Memory):
    """A memory that keeps all that it is given."""

    calls: list[Call]

    def __init__(self, path: Path, *args: Any, **options: Any) -> None:
        self.calls.append(("open", path.name, {**options, "pool": None}))
        super().__init__(path, *args, **options)

    def add(self, turns: Iterable[Turn], **options: Any) -> Any:
        turns = list(turns)
        self.calls.append(("add", turns, options))
        return super().add(turns, **options)

    def recall(self, query: str, **options: Any) -> Recall:
        self.calls.append(("recall", query, {**options, "config": self.config}))
        return super().recall(query, **options)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What the memories of the test are given."""
    given: list[Call] = []
    monkeypatch.setattr(Spy, "calls", given, raising=False)
    monkeypatch.setattr(spaces, "Memory", Spy)
    return given


def other_key(data: Data) -> Data:
    """The same conversations and questions with other evidence, categories and answers."""
    changed: Data = json.loads(json.dumps(data))
    for conversation in changed:
        for asked in conversation["qa"]:
            if isinstance(asked["category"], int):
                asked["category"] = asked["category"] % 5 + 1
                asked["evidence"] = ["D1:2", "D1:1"]
                asked["answer"] = "ANOTHER SECRET"
    return changed


def rankings(evaluation: Evaluation) -> dict[tuple[str, int], tuple[str, ...]]:
    return {(q.entry.conversation, q.entry.question): q.answer.ranked for q in evaluation.questions}


def test_the_memory_gets_turns_and_questions_and_nothing_else(
    data: Data, write: Write, calls: list[Call]
) -> None:
    evaluate(write(data, "l.json"), embedder=EMBEDDER)
    assert "SECRET" not in repr(calls)
    added = [turns for name, turns, _ in calls if name == "add"]
    said = [c["conversation"]["session_1"] for c in data]
    for turns, expected in zip(added, said, strict=True):
        assert isinstance(turns, list)
        pairs = [(turn.id, turn.speaker, turn.text) for turn in turns]
        assert pairs == [(t["dia_id"], t["speaker"], t["text"]) for t in expected]
        assert {(t.role, t.source, t.agent, t.caption) for t in turns} == {(None,) * 4}
    texts = [asked["question"] for c in data for asked in c["qa"]]
    for name, query, options in calls:
        if name == "recall":
            assert query in texts
            assert options.keys() == {"k", "config"}
            assert options["k"] == 50


def test_another_key_changes_no_call_and_no_ranking(
    data: Data, write: Write, calls: list[Call]
) -> None:
    first = evaluate(write(data, "l.json"), embedder=EMBEDDER)
    given = list(calls)
    calls.clear()
    second = evaluate(write(other_key(data), "l.json"), embedder=EMBEDDER)
    assert len(given) > 10
    assert [call for call in given if call[0] != "open"] == [
        call for call in calls if call[0] != "open"
    ]
    known = rankings(first)
    assert known.items() <= rankings(second).items()
    assert len(known) == 4


def test_another_key_changes_no_call_of_an_ablation(
    data: Data, write: Write, calls: list[Call]
) -> None:
    ablate(write(data, "l.json"), embedder=EMBEDDER)
    given = [call for call in calls if call[0] != "open"]
    calls.clear()
    ablate(write(other_key(data), "l.json"), embedder=EMBEDDER)
    assert given == [call for call in calls if call[0] != "open"]


def test_the_report_and_the_file_of_questions(data: Data, write: Write, tmp_path: Path) -> None:
    told: list[str] = []
    found = evaluate(write(data, "l.json"), embedder=EMBEDDER, progress=told.append)
    found.write(tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert report["unit"] == "percent"
    # Fewer than ten turns a conversation: all of them come back, and so all evidence.
    assert {name: c["n"] for name, c in report["categories"].items()} == {
        "1-4": 3, "1": 1, "2": 0, "3": 0, "4": 2, "5": 1,
    }  # fmt: skip
    assert report["categories"]["1-4"]["recall@10_ci95"] == [100.0, 100.0]
    assert report["latency_ms"]["without_embedding"]["n"] == 6
    assert report["latency_ms"]["with_embedding"].keys() == {"n", "p50", "p95", "p99"}
    assert report["dropped_evidence"] == [
        {"conversation": "conv-30", "question": 3, "parts": ["D9:9"]},
        {"conversation": "conv-41", "question": 0, "parts": ["D"]},
    ]
    assert [item["question"] for item in report["left_out"]] == [3, 4, 1]
    assert len(report["problems"]) == 1
    assert (report["embedder"], report["counter"]) == (EMBEDDER.name, "words/6")
    assert report["add_s"].keys() == {"conv-30", "conv-41"}
    assert report["corrected"] is None
    assert len(told) == 4
    lines = (tmp_path / "report.questions.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 4
    assert first["gold"] == ["D1:1", "D1:3"]
    assert set(first["ranked"]) == {"D1:1", "D1:2", "D1:3", "D1:4"}
    assert set(first["ranked"][:2]) == {"D1:1", "D1:3"}
    assert (first["conversation"], first["question"], first["category"]) == ("conv-30", 0, 1)
    assert first["recall@10"] == 100.0
    assert "embedding" in first["timings_ms"]


def test_corrected_figures_stand_beside_the_raw_ones(data: Data, write: Write) -> None:
    corrections = write([{"question_id": "locomo_1_qa3", "correct_evidence": ["D1:1"]}], "c.json")
    found = evaluate(write(data, "l.json"), embedder=EMBEDDER, corrections=corrections).report
    assert found.corrected is not None
    assert found.corrected.changed == 1
    assert (found.categories["2"].n, found.corrected.categories["2"].n) == (0, 1)


def test_tokens_are_of_the_first_ten_texts(data: Data, write: Write) -> None:
    found = evaluate(write(data, "l.json"), embedder=EMBEDDER)
    # A mark or a word of up to six letters counts one, a longer word two: of the turns of the
    # goat "escaped" and "through"; "knitting", "mittens" and "nephew" (six letters: one).
    counts = (8 + 2, 8 + 2, 7)
    question = found.questions[2]
    assert question.entry.conversation == "conv-41"
    assert question.answer.tokens_top10 == sum(counts)


def test_nothing_is_left_in_the_work_folder(data: Data, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    evaluate(write(data, "l.json"), embedder=EMBEDDER, workdir=folder)
    assert list(folder.iterdir()) == []


def test_a_conversation_without_questions(data: Data, write: Write) -> None:
    report = evaluate(write([{**data[0], "qa": []}], "l.json"), embedder=EMBEDDER).report
    assert report.categories["1-4"].n == 0
    assert (report.latency_ms.without_embedding, report.latency_ms.with_embedding) == (None, None)
