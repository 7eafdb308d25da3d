"""A writer process that is killed, and readers beside one that lives."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cuegraph.io import Journal, Row, VectorFile

DIMENSION = 64

# Appends turns in batches of 1 to 5 and prints each id once the call has returned.
WRITER = """
import itertools, sys
from pathlib import Path
import numpy as np
from cuegraph.io import Journal, Turn, VectorFile, normalise

directory, batches = Path(sys.argv[1]), int(sys.argv[2])
journal = Journal.open(directory, embedder="e", dimension=64)
vectors = VectorFile(directory / "vectors.f16", 64)
start = journal.last_seq()
for batch in range(batches):
    first = start + batch * 5
    numbers = range(first, first + batch % 5 + 1)
    turns = [normalise(Turn(str(n), id=str(n)), zone=None) for n in numbers]
    data = np.array([np.full(64, n % 2048) for n in numbers], np.float16)
    outcomes = journal.append_turns(turns, lambda row, new: vectors.append(row, data[new]))
    added = [t.id for t, o in zip(turns, outcomes) if o.status == "added"]
    print(*added, flush=True)
"""


def start_writer(directory: Path, batches: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(directory), str(batches)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory)


def assert_sound(rows: list[Row], vectors: VectorFile) -> None:
    """Seqs and vector rows without gaps, each vector whole and that of its own turn."""
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    numbers = [row.vector_row for row in rows if row.vector_row is not None]
    assert numbers == list(range(len(rows)))
    assert vectors.verify(numbers, [row.vector_crc or 0 for row in rows]) == []
    data = vectors.view(len(rows)).view(np.float16)
    assert [int(row.turn().text) % 2048 for row in rows] == data[:, -1].tolist()


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    moments = random.Random(0)
    acknowledged: list[str] = []
    for attempt in range(14):
        with start_writer(tmp_path, batches=100_000) as writer:
            assert writer.stdout is not None
            if attempt % 4:
                acknowledged += writer.stdout.readline().split()
                time.sleep(moments.uniform(0, 0.05))
            else:  # while it starts, and once while it makes the files
                time.sleep(moments.uniform(0.1, 0.3))
            writer.send_signal(signal.SIGKILL)
            lines = writer.stdout.read().rpartition("\n")[0]  # the last line may be torn
            acknowledged += lines.split()
        with Journal.open(tmp_path, embedder="e", dimension=DIMENSION) as journal:
            rows = list(journal.rows_after(0))
        vectors = VectorFile(tmp_path / "vectors.f16", DIMENSION)
        assert_sound(rows, vectors)
        vectors.close()
        assert set(acknowledged) <= {row.turn().id for row in rows}
    assert len(acknowledged) > 100


def test_two_readers_beside_a_writer(tmp_path: Path) -> None:
    with start_writer(tmp_path, batches=400) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        readers = [open_reader(tmp_path) for _ in range(2)]
        seen: list[list[Row]] = [[], []]
        deadline = time.monotonic() + 20
        while min(map(len, seen)) < 1200 and time.monotonic() < deadline:
            for (journal, vectors), rows in zip(readers, seen, strict=True):
                if journal.changed() or not rows:
                    rows.extend(journal.rows_after(len(rows)))
                    vectors.view(len(rows))
        writer.stdout.read()
    for (journal, vectors), rows in zip(readers, seen, strict=True):
        assert len(rows) == 1200  # 400 batches of 1 to 5
        assert_sound(rows, vectors)
        journal.close()
        vectors.close()


def open_reader(directory: Path) -> tuple[Journal, VectorFile]:
    journal = Journal.open(directory, embedder="e", dimension=DIMENSION, read_only=True)
    return journal, VectorFile(directory / "vectors.f16", DIMENSION, read_only=True)


@pytest.mark.parametrize("size", [1, 3])
def test_a_crash_between_vectors_and_commit_leaves_an_orphan_that_is_overwritten(
    tmp_path: Path, size: int
) -> None:
    VectorFile(tmp_path / "vectors.f16", DIMENSION).append(
        0, np.ones((size, DIMENSION), np.float16)
    )
    with start_writer(tmp_path, batches=2) as writer:
        writer.communicate()
    with Journal.open(tmp_path, embedder="e", dimension=DIMENSION) as journal:
        vectors = VectorFile(tmp_path / "vectors.f16", DIMENSION)
        assert_sound(list(journal.rows_after(0)), vectors)
        vectors.close()
