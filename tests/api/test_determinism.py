"""Same input, same bytes: whatever the process, its hash seed, threads, batches and reopening."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cuegraph import Memory, Recall
from cuegraph.engine import vector_index
from cuegraph.io.importers import load_turns
from cuegraph.io.turn import Turn

API = Path(__file__).parents[2] / "api"
SAMPLE, QUESTIONS = API / "sample.jsonl", API / "sample_questions.jsonl"

# Builds the sample in one way after the other and prints one digest a way of asking.
CHILD = """
import hashlib, json, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import msgspec
from cuegraph import Memory, recall_batch
from cuegraph.io.importers import load_turns

folder, sample, questions = map(Path, sys.argv[1:])
turns = load_turns(sample)
queries = [json.loads(line)["question"] for line in questions.read_text("utf-8").splitlines()]

def digest(recalls):
    said = [{**msgspec.to_builtins(recall), "timings_ms": None} for recall in recalls]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()

for name, size, threads in (("a", 1, 0), ("b", 5, 1), ("c", len(turns), 4)):
    pool = ThreadPoolExecutor(threads) if threads else None
    with Memory.open(folder / name, embedder="hash", pool=pool) as memory:
        for start in range(0, len(turns), size):
            memory.add(turns[start : start + size])
        print(digest(memory.recall_batch(queries)))
        print(digest([memory.recall(query) for query in queries]))
        print(digest(recall_batch([(memory, query) for query in queries])))
    with Memory.open(folder / name, embedder="hash", pool=pool) as memory:
        print(digest(memory.recall_batch(queries)))
"""


def said(recall: Recall) -> bytes:
    """A recall without its timings, which differ between runs."""
    fields: dict[str, Any] = msgspec.to_builtins(recall)
    return msgspec.json.encode({**fields, "timings_ms": None})


def queries() -> list[str]:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line)["question"] for line in lines]


def sample() -> list[Turn]:
    return [item for item in load_turns(SAMPLE) if isinstance(item, Turn)]


def test_processes_threads_and_batches_give_the_same_bytes(tmp_path: Path) -> None:
    digests: list[str] = []
    for seed in range(3):
        paths = [str(path) for path in (tmp_path / str(seed), SAMPLE, QUESTIONS)]
        command = [sys.executable, "-c", CHILD, *paths]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        digests += ran.stdout.split()
    assert len(digests) == 3 * 3 * 4
    assert len(set(digests)) == 1


def build(path: Path, size: int, reopen_at: int | None = None) -> list[bytes]:
    """Answers of a memory that got the sample in calls of `size`, and was closed in between."""
    turns = sample()
    memory = Memory.open(path, embedder="hash")
    for start in range(0, len(turns), size):
        memory.add(turns[start : start + size])
        if reopen_at is not None and start <= reopen_at < start + size:
            memory.close()
            memory = Memory.open(path, embedder="hash")
    answers = [said(recall) for recall in memory.recall_batch(queries())]
    memory.close()
    return answers


@pytest.mark.parametrize(("exact_below", "block"), [(8192, 1024), (64, 16), (120, 64)])
def test_neither_calls_nor_reopening_change_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact_below: int, block: int
) -> None:
    """Below the size of the vector index, and above it."""
    monkeypatch.setattr(vector_index, "EXACT_BELOW", exact_below)
    monkeypatch.setattr(vector_index, "BLOCK", block)
    whole = build(tmp_path / "whole", 1000)
    assert build(tmp_path / "fives", 5) == whole
    assert build(tmp_path / "reopened", 7, reopen_at=100) == whole
    with Memory.open(tmp_path / "whole", embedder="hash") as again:
        assert [said(recall) for recall in again.recall_batch(queries())] == whole


def test_a_published_delta_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(tmp_path / "whole", 1000)
    monkeypatch.setattr("cuegraph.engine.space.PUBLISH_ROWS", 10)
    assert build(tmp_path / "published", 3) == whole


def test_asking_changes_no_answer(tmp_path: Path) -> None:
    asked = queries()
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.add(sample())
        first = [said(memory.recall(query)) for query in asked]
        assert [said(memory.recall(query)) for query in reversed(asked)] == first[::-1]
