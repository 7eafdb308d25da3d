"""The demonstration shows evidence with its reasons, and marks what the sample's key names."""

from io import StringIO
from pathlib import Path

import pytest

from cuegraph import InputError, Memory, Turn
from cuegraph.demo import K, first_of_each_kind, run_demo, sample_questions, sample_turns
from cuegraph.render import console_on


def shown(store: Path | None = None) -> str:
    output = StringIO()
    run_demo(console_on(output), store=None if store is None else str(store), embedder="hash")
    return output.getvalue()


def test_one_question_of_each_kind() -> None:
    kinds = [question.kind for question in first_of_each_kind(sample_questions())]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == {question.kind for question in sample_questions()}
    assert "two_step" in kinds


def test_demo_shows_evidence_reasons_and_timings() -> None:
    text = shown()
    asked = first_of_each_kind(sample_questions())
    for question in asked:
        assert f"[{question.kind}]\n{question.question}\n" in text
    assert text.count(f"{K} turns, ") == len(asked)
    for reason in ("keyword 1", "vector 1", "path: anchor ", "+02:00", "Ngaio"):
        assert reason in text
    for step in ("add 204 turns", f"answer {len(asked)} questions", "beam", "embedding"):
        assert step in text


def test_marked_is_what_the_key_names(tmp_path: Path) -> None:
    text = shown(tmp_path / "store")
    asked = first_of_each_kind(sample_questions())
    with Memory.open(tmp_path / "store", embedder="hash", read_only=True) as memory:
        recalls = [memory.recall(question.question, k=K) for question in asked]
    marked = [
        piece.id
        for question, recall in zip(asked, recalls, strict=True)
        for piece in recall.evidence
        if piece.id in question.evidence
    ]
    assert text.count("in the key") == len(marked) > 0


def test_store_stays_and_may_be_shown_again(tmp_path: Path) -> None:
    assert f"cuegraph recall {tmp_path / 'store'} --embedder hash" in shown(tmp_path / "store")
    shown(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder="hash", read_only=True) as memory:
        assert memory.stats().turns == len(sample_turns())


def test_store_of_another_memory_is_left_alone(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.add([Turn("The boiler is loud.", speaker="Zoe")])
    with pytest.raises(InputError, match="Zoe"):
        shown(tmp_path)
    with Memory.open(tmp_path, embedder="hash", read_only=True) as memory:
        assert memory.stats().turns == 1
