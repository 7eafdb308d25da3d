"""What was acknowledged stays: killed writers, other processes, held locks and damaged files."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cuegraph import Memory, Recall, StoreBusyError, StoreError, StoreMismatchError, Turn

KILLS = 50
DIMENSION = 256  # of the hash embedder
HEADER_BYTES = 64
BUSY_S = 0.3

# What turn n says, for the children; below it is said once more for the tests.
SAYS = """
from cuegraph import Memory, Turn
WORDS = "anchor basket candle drawer engine feather garden hammer island jacket".split()

def turn(n):
    what, beside = WORDS[n % 10], WORDS[n // 10 % 10]
    text = f"Box b{n}b holds the {what} and the {beside}." + " So it is." * (n % 4)
    return Turn(text, id=str(n), speaker="Ada" if n % 2 else "Ben", time=1_700_000_000_000_000 + n)
"""

# Forks a writer for each line "FIRST SIZE" that comes in: a fresh interpreter would spend most of
# its life in imports. A writer prints its process number, then the ids of each call once the call
# has returned, and publishes often, so that a kill may hit that too.
FORKS = (
    SAYS
    + """
import os, sys
import cuegraph.engine.space as space

space.PUBLISH_ROWS = 16
path = sys.argv[1]

def write(first, size):
    print("pid", os.getpid(), flush=True)
    while True:
        with Memory.open(path, embedder="hash") as memory:
            for _ in range(6):
                memory.add([turn(n) for n in range(first, first + size)])
                line = " ".join(map(str, range(first, first + size))) + "\\n"
                os.write(1, line.encode())  # in one piece: a kill may come between two
                first += size

for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if not child:
        write(*map(int, line.split()))
    os.waitpid(child, 0)
    print("gone", flush=True)
"""
)

# Answers each line "N" with the ids that a recall of box N finds.
READER = (
    SAYS
    + """
import sys
memory = Memory.open(sys.argv[1], embedder="hash", read_only=True)
for line in iter(sys.stdin.readline, ""):
    found = memory.recall(f"What is in box b{int(line)}b?", k=10).evidence
    print(*(piece.id for piece in found), flush=True)
"""
)

WRITER = (
    SAYS
    + """
import sys
memory = Memory.open(sys.argv[1], embedder="hash")
for n in range(1, 61):
    memory.add([turn(n)])
    print(n, flush=True)
"""
)

HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("ROLLBACK")
"""

WORDS = "anchor basket candle drawer engine feather garden hammer island jacket".split()


def text_of(n: int) -> str:
    what, beside = WORDS[n % 10], WORDS[n // 10 % 10]
    return f"Box b{n}b holds the {what} and the {beside}." + " So it is." * (n % 4)


def turn(n: int) -> Turn:
    """What the children call turn n."""
    speaker = "Ada" if n % 2 else "Ben"
    return Turn(text_of(n), id=str(n), speaker=speaker, time=1_700_000_000_000_000 + n)


@contextmanager
def child(code: str, path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs `code` with the path as its argument, ended with the block."""
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=60)


def tell(process: "subprocess.Popen[str]", line: object) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")


def hear(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def store(path: Path, turns: int = 60) -> Path:
    """A memory that was closed twice."""
    for first in range(0, turns, turns // 2):
        with Memory.open(path, embedder="hash") as memory:
            memory.add([turn(n) for n in range(first, first + turns // 2)])
    return path


def said(recall: Recall) -> bytes:
    """A recall without its timings, which differ between runs."""
    fields: dict[str, Any] = msgspec.to_builtins(recall)
    return msgspec.json.encode({**fields, "timings_ms": None})


def answers(memory: Memory) -> list[bytes]:
    queries = [f"What is in box b{n}b with the {word}?" for n, word in enumerate(WORDS)]
    return [said(recall) for recall in memory.recall_batch(queries)]


# --- killed writers


def rows_of(path: Path) -> list[tuple[int, int, list[Any]]]:
    """Vector row, its crc32 and the fields of each turn, read without cuegraph."""
    db = sqlite3.connect(f"file:{path}/journal.sqlite?mode=ro", uri=True)
    rows = db.execute("SELECT vector_row, vector_crc, body FROM record ORDER BY seq").fetchall()
    db.close()
    return [(row, crc, msgspec.msgpack.decode(body)) for row, crc, body in rows]


def assert_whole(path: Path, acknowledged: set[int]) -> int:
    """The number of turns kept: all that were acknowledged, each of them whole, with its vector."""
    rows = rows_of(path)
    kept = [int(fields[1]) for _, _, fields in rows]
    assert acknowledged <= set(kept)
    assert kept == list(range(len(kept)))
    assert [fields[0] for _, _, fields in rows] == [text_of(n) for n in kept]
    data = (path / "vectors.f16").read_bytes()[HEADER_BYTES:] if rows else b""
    for row, crc, _ in rows:
        assert zlib.crc32(data[row * 2 * DIMENSION : (row + 1) * 2 * DIMENSION]) == crc
    return len(kept)


def kill_once(forks: "subprocess.Popen[str]", first: int, size: int, delay: float) -> set[int]:
    """Ids that a writer acknowledged before it was killed `delay` seconds after its start."""
    tell(forks, f"{first} {size}")
    number = int(hear(forks).removeprefix("pid "))
    time.sleep(delay)
    os.kill(number, signal.SIGKILL)
    acknowledged: set[int] = set()
    while (line := hear(forks)) != "gone":
        acknowledged |= set(map(int, line.split()))
    return acknowledged


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    path, moments = tmp_path / "store", random.Random(7)
    acknowledged: set[int] = set()
    kept = 0
    with child(FORKS, path) as forks:
        for kill in range(KILLS):
            # Each fourth early: while the files are made or opened.
            delay = moments.uniform(0, 0.05 if kill % 4 == 0 else 0.2)
            acknowledged |= kill_once(forks, kept, kill % 5 + 1, delay)
            with Memory.open(path, embedder="hash") as memory:
                kept = assert_whole(path, acknowledged)
                assert memory.stats().turns == kept
                newest = memory.recall(f"What is in box b{kept - 1}b?", k=3).evidence
                assert not kept or str(kept - 1) in {piece.id for piece in newest}
    assert len(acknowledged) > 100


# --- other processes


def test_two_processes_read_what_a_third_has_just_written(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.add([turn(0)])
    with (
        child(READER, tmp_path) as one,
        child(READER, tmp_path) as other,
        child(WRITER, tmp_path) as writer,
    ):
        for n in range(1, 61):
            assert hear(writer) == str(n)
            for reader in (one, other):
                tell(reader, n)
                assert str(n) in hear(reader).split()


def test_a_held_lock_is_reported_within_the_bound(tmp_path: Path) -> None:
    store(tmp_path)
    with Memory.open(tmp_path, embedder="hash", busy_timeout_s=BUSY_S) as memory:
        with child(HOLDER, tmp_path / "journal.sqlite") as holder:
            assert hear(holder) == "held"
            start = time.monotonic()
            with pytest.raises(StoreBusyError, match=rf"free within {BUSY_S:g} s"):
                memory.add([turn(60)])
            assert BUSY_S * 0.5 < time.monotonic() - start < BUSY_S + 2
            assert memory.recall("What is in box b7b?", k=1).evidence[0].id == "7"
            with Memory.open(tmp_path, embedder="hash", busy_timeout_s=BUSY_S) as other:
                assert other.stats().turns == 60
            tell(holder, "release")
        assert memory.add([turn(60)]).added == 1
        assert memory.stats().turns == 61


def test_two_memories_of_one_path_take_turns(tmp_path: Path) -> None:
    with (
        Memory.open(tmp_path, embedder="hash") as one,
        Memory.open(tmp_path, embedder="hash") as other,
    ):
        for n in range(0, 20, 2):
            assert one.add([turn(n)]).added == other.add([turn(n + 1)]).added == 1
            assert one.add([turn(n + 1)]).unchanged == 1
        assert answers(one) == answers(other)
        assert assert_whole(tmp_path, set(range(20))) == 20


# --- damaged and foreign files


def newest(path: Path) -> Path:
    return max((path / "snapshot").glob("*.arrow"))


def flip(at: float) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[int(at * (len(data) - 1))] ^= 0x55
        file.write_bytes(data)

    return damage


def truncate(share: float) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, int(share * file.stat().st_size))


DAMAGES = {
    "flipped": flip(0.5),
    "emptied": truncate(0.0),
    "halved": truncate(0.5),
    "cut short": truncate(0.99),
}


def test_a_sound_store_opens_without_a_notice(tmp_path: Path) -> None:
    with Memory.open(store(tmp_path), embedder="hash") as memory:
        assert memory.stats().notices == ()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "reading"])
def test_a_damaged_snapshot_changes_no_answer(
    tmp_path: Path, damage: Callable[[Path], None], read_only: bool
) -> None:
    with Memory.open(store(tmp_path), embedder="hash") as memory:
        before = answers(memory)
    damage(newest(tmp_path))
    with Memory.open(tmp_path, embedder="hash", read_only=read_only) as memory:
        assert answers(memory) == before
        (notice,) = memory.stats().notices
    assert "snapshot passed over" in notice


def test_no_flipped_byte_of_a_snapshot_changes_an_answer(tmp_path: Path) -> None:
    """Arrow pads its files with bytes that mean nothing: not each flip is noticed."""
    with Memory.open(store(tmp_path), embedder="hash") as memory:
        before = answers(memory)
    file = newest(tmp_path)
    content = file.read_bytes()
    for step in range(41):
        flip(step / 40)(file)
        with Memory.open(tmp_path, embedder="hash", read_only=True) as memory:
            assert answers(memory) == before
        file.write_bytes(content)


def test_a_lost_snapshot_changes_no_answer(tmp_path: Path) -> None:
    with Memory.open(store(tmp_path), embedder="hash") as memory:
        before = answers(memory)
    for file in (tmp_path / "snapshot").iterdir():
        file.unlink()
    (tmp_path / "snapshot").rmdir()
    with Memory.open(tmp_path, embedder="hash") as memory:
        assert answers(memory) == before


@pytest.mark.parametrize("lost", ["nothing", "snapshot"])
@pytest.mark.parametrize(
    "damage",
    [truncate(0.0), truncate(0.5), flip(0.7), Path.unlink],
    ids=["emptied", "halved", "flipped", "lost"],
)
def test_lost_vectors_are_embedded_anew(
    tmp_path: Path, damage: Callable[[Path], None], lost: str
) -> None:
    """Whether the graph comes from the snapshot or from the journal."""
    with Memory.open(store(tmp_path), embedder="hash") as memory:
        before = answers(memory)
    damage(tmp_path / "vectors.f16")
    if lost == "snapshot":
        for file in (tmp_path / "snapshot").glob("*.arrow"):
            file.unlink()
    with Memory.open(tmp_path, embedder="hash") as memory:
        assert answers(memory) == before
        assert any("vector" in notice for notice in memory.stats().notices)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(store(tmp_path) / "journal.sqlite")
    with db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'format_version'")
    db.close()
    with pytest.raises(StoreMismatchError, match="expected format version 1, got 99"):
        Memory.open(tmp_path, embedder="hash")


def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    content = b"Dear diary, this is no database. " * 100
    (tmp_path / "journal.sqlite").write_bytes(content)
    with pytest.raises(StoreError, match=r"not a database.*journal\.sqlite"):
        Memory.open(tmp_path, embedder="hash")
    assert (tmp_path / "journal.sqlite").read_bytes() == content


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "journal.sqlite")
    with db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    with pytest.raises(StoreError, match="recipes"):
        Memory.open(tmp_path, embedder="hash")


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no folder")
    for path in (tmp_path / "notes.txt", tmp_path / "notes.txt" / "store"):
        with pytest.raises(StoreError, match=r"notes\.txt"):
            Memory.open(path, embedder="hash")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="folder"):
        Memory.open(tmp_path / "store", embedder="hash")


def test_a_folder_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(StoreError, match=r"expected a folder.*cuegraph-store"):
        Memory.open("/proc/cuegraph-store", embedder="hash")


def test_derived_files_that_cannot_be_written_cost_no_turn(tmp_path: Path) -> None:
    (tmp_path / "snapshot").write_text("stands where the folder of snapshots would be")
    memory = Memory.open(tmp_path, embedder="hash")
    assert memory.add([turn(1)]).added == 1
    with pytest.raises(StoreError, match="snapshot"):
        memory.close()
    with Memory.open(tmp_path, embedder="hash", read_only=True) as again:
        assert again.recall("What is in box b1b?", k=1).evidence[0].id == "1"
