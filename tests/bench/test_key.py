"""The key: repaired evidence, what is left out, and corrections."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuegraph import InputError
from cuegraph.bench.key import key, left_out, read_conversations, read_corrections, texts_of

Write = Callable[[Any, str], Path]
Data = list[dict[str, Any]]


def test_entries_keep_the_places_of_the_file(data: Data, write: Write) -> None:
    entries = key(read_conversations(write(data, "l.json")))
    assert [(e.conversation, e.question, e.category, e.gold, e.dropped) for e in entries] == [
        ("conv-30", 0, 1, ("D1:1", "D1:3"), ()),
        ("conv-30", 2, 4, ("D1:4",), ()),
        ("conv-30", 3, 2, (), ("D9:9",)),
        ("conv-30", 4, 3, (), ()),
        ("conv-41", 0, 4, ("D1:3",), ("D",)),
        ("conv-41", 1, 5, ("D1:2",), ()),
    ]
    assert [entry.bait for entry in entries if entry.gold] == [False, False, False, True]


def test_left_out_with_reasons(data: Data, write: Write) -> None:
    conversations = read_conversations(write(data, "l.json"))
    found = [
        (q.conversation, q.question, q.reason) for q in left_out(conversations, key(conversations))
    ]
    assert found[:2] == [
        ("conv-30", 3, "no turn of the conversation: D9:9"),
        ("conv-30", 4, "no evidence given"),
    ]
    assert found[2][:2] == ("conv-30", 1)
    assert found[2][2].startswith("not read: Expected `int`, got `str`")
    assert len(found) == 3


def test_texts_are_only_texts(data: Data, write: Write) -> None:
    texts = texts_of(read_conversations(write(data, "l.json")))
    assert [len(asked) for asked in texts] == [4, 2]
    assert texts[1] == ["What did the goat of Rune eat?", "What does Rune knit?"]


def test_corrections_count_conversations_of_the_whole_set(data: Data, write: Write) -> None:
    # conv-30 is the second of the ten and conv-41 the third; the fourth is not in this file.
    corrections = [
        {"question_id": "locomo_1_qa2", "correct_evidence": ["D1:2; D1:4"], "error_type": "X"},
        {"question_id": "locomo_2_qa0", "correct_evidence": ["D1:1"]},
        {"question_id": "locomo_3_qa200", "correct_evidence": ["D1:1"]},
    ]
    conversations = read_conversations(write(data, "l.json"))
    found = read_corrections(write(corrections, "c.json"), conversations)
    assert found == {("conv-30", 2): ["D1:2; D1:4"], ("conv-41", 0): ["D1:1"]}
    before, after = key(conversations), key(conversations, found)
    assert [e.gold for e in after if e not in before] == [("D1:2", "D1:4"), ("D1:1",)]


@pytest.mark.parametrize("name", ["locomo_10_qa0", "locomo_1_qa5", "conv-30_qa1", "locomo_1_qa-1"])
def test_corrections_of_questions_that_are_not_there(data: Data, write: Write, name: str) -> None:
    conversations = read_conversations(write(data, "l.json"))
    path = write([{"question_id": name, "correct_evidence": []}], "c.json")
    with pytest.raises(InputError, match=f"got '{name}', at .*c.json"):
        read_corrections(path, conversations)


def test_files_that_are_not_what_they_should_be(data: Data, write: Write, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a list of corrections"):
        read_corrections(write({}, "c.json"), [])
    with pytest.raises(InputError, match="expected a list of corrections"):
        read_corrections(tmp_path / "none.json", [])
    with pytest.raises(InputError, match="ids of their own"):
        read_conversations(write([data[0], data[0]], "l.json"))
