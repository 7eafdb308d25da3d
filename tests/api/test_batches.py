"""Batches over many memories: order, sameness with single questions, and a bound on open files."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from cuegraph import Handles, InputError, Memory, Recall, StoreError, Turn, recall_batch

MEMORIES = 200
MAX_OPEN = 8
FILES = 4  # of an open memory: the journal, its log and the log's index, and the vectors
QUESTIONS = ("Which number has the parcel?", "What did Ada lose on the ferry?")


class Letters:
    """Texts as the counts of their letters: a second embedder, of another dimension."""

    name = "letters"
    dimension = 26

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = np.ones((len(texts), 26), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text.casefold():
                if "a" <= letter <= "z":
                    row[ord(letter) - ord("a")] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.passages(texts)


class FileCounter:
    """Counts words, and how many files are open while a recall counts them."""

    name = "words"

    def __init__(self) -> None:
        self.most = 0

    def count(self, text: str) -> int:
        self.most = max(self.most, open_files())
        return len(text.split())


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def turns_of(number: int) -> list[Turn]:
    return [
        Turn(f"The parcel has the number {number}.", id="1", speaker="Ada"),
        Turn(f"I lost glove {number * 7} on the ferry.", id="2", speaker="Ada"),
    ]


def said(recall: Recall) -> bytes:
    """A recall without its timings, which differ between runs."""
    fields: dict[str, Any] = msgspec.to_builtins(recall)
    return msgspec.json.encode({**fields, "timings_ms": None})


@pytest.fixture(scope="module")
def counter() -> FileCounter:
    return FileCounter()


@pytest.fixture(scope="module")
def memories(
    tmp_path_factory: pytest.TempPathFactory, counter: FileCounter
) -> Iterator[list[Memory]]:
    """Small memories behind few handles, every fifth of them with another embedder."""
    folder, handles, letters = tmp_path_factory.mktemp("many"), Handles(MAX_OPEN), Letters()
    opened = []
    for number in range(MEMORIES):
        embedder = "hash" if number % 5 else letters
        memory = Memory.open(
            folder / str(number), embedder=embedder, handles=handles, counter=counter
        )
        memory.add(turns_of(number))
        assert len(handles) <= MAX_OPEN
        opened.append(memory)
    yield opened
    for memory in opened:
        memory.close()
    assert len(handles) == 0


def test_answers_come_in_the_order_of_the_pairs(memories: list[Memory]) -> None:
    pairs = [(memory, query) for query in QUESTIONS for memory in memories]
    recalls = recall_batch(pairs, k=1)
    assert [recall.query for recall in recalls] == [query for _, query in pairs]
    first = [recall.evidence[0].text for recall in recalls]
    numbers = range(MEMORIES)
    assert first == [turns_of(n)[0].text for n in numbers] + [turns_of(n)[1].text for n in numbers]


def test_a_batch_answers_as_single_questions_do(memories: list[Memory]) -> None:
    pairs = [(memory, query) for query in QUESTIONS for memory in reversed(memories[:60])]
    singly = [said(memory.recall(query)) for memory, query in pairs]
    assert [said(recall) for recall in recall_batch(pairs)] == singly


def test_the_same_pair_twice_is_answered_twice(memories: list[Memory]) -> None:
    pair = (memories[3], QUESTIONS[0])
    one, other, third = recall_batch([pair, (memories[4], QUESTIONS[0]), pair])
    assert said(one) == said(third) != said(other)


def test_open_files_are_bounded(memories: list[Memory], counter: FileCounter) -> None:
    before = open_files()
    counter.most = 0
    recall_batch([(memory, query) for memory in memories for query in QUESTIONS])
    # One memory more than the bound is open for as long as it takes to close another.
    assert before <= counter.most <= before + FILES * (MAX_OPEN + 1)
    assert open_files() <= before + FILES * MAX_OPEN


def test_no_pairs_give_no_answers() -> None:
    assert recall_batch([]) == []


def test_options_hold_for_all(memories: list[Memory]) -> None:
    recalls = recall_batch([(memory, QUESTIONS[0]) for memory in memories[:10]], speaker="ada", k=1)
    assert [len(recall.evidence) for recall in recalls] == [1] * 10
    with pytest.raises(InputError, match="Mira"):
        recall_batch([(memory, QUESTIONS[0]) for memory in memories[:10]], speaker="Mira")


def test_a_closed_memory_in_a_batch_is_an_error(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path, embedder="hash")
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        recall_batch([(memory, QUESTIONS[0])])
