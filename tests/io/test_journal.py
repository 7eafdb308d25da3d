"""The journal: what is kept, told again, refused, and seen by other connections."""

import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.io import (
    InputError,
    Journal,
    StoreBusyError,
    StoreError,
    StoreMismatchError,
    Turn,
    TurnRecord,
    VectorFile,
    normalise,
)


def turn(text: str, **fields: Any) -> TurnRecord:
    return normalise(Turn(text, **fields), zone=None)


def open_journal(directory: Path, **options: Any) -> Journal:
    return Journal.open(directory, **{"embedder": "e", "dimension": 4, **options})


def crcs_only(first: int, new: list[int]) -> list[int]:
    return [100 * first + i for i in new]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with open_journal(tmp_path, clock=iter(range(1000)).__next__) as opened:
        yield opened


def test_turns_come_back_as_they_went_in(journal: Journal) -> None:
    turns = [turn("a", id="1", agent="x", time=5), turn("日本 \x00", session='q"uo,te')]
    outcomes = journal.append_turns(turns, crcs_only)
    assert [(o.status, o.seq) for o in outcomes] == [("added", 1), ("added", 2)]
    rows = list(journal.rows_after(0))
    assert [row.turn() for row in rows] == turns
    assert [(r.seq, r.kind, r.recorded_us, r.agent) for r in rows] == [
        (1, "turn", 0, "x"),
        (2, "turn", 1, None),
    ]
    assert [(r.vector_row, r.vector_crc) for r in rows] == [(0, 0), (1, 1)]
    assert rows[0].key == '["main","1"]'


def test_vector_rows_go_on_and_only_new_items_get_one(journal: Journal) -> None:
    calls: list[tuple[int, list[int]]] = []

    def write(first: int, new: list[int]) -> list[int]:
        calls.append((first, new))
        return crcs_only(first, new)

    journal.append_turns([turn("a"), turn("b")], write)
    journal.append_turns([turn("b"), turn("c"), turn("c"), turn("d")], write)
    journal.append_turns([turn("a")], write)
    assert calls == [(0, [0, 1]), (2, [1, 3])]
    assert [row.vector_row for row in journal.rows_after(0)] == [0, 1, 2, 3]


def test_rows_without_vectors_leave_the_numbers_alone(journal: Journal) -> None:
    journal.append_turns([turn("a")], crcs_only)
    journal.append_turns([turn("b")], None)
    journal.append_turns([turn("c")], crcs_only)
    assert [row.vector_row for row in journal.rows_after(0)] == [0, None, 1]


def test_told_again_is_unchanged_and_other_content_is_a_conflict(journal: Journal) -> None:
    journal.append_turns([turn("a", id="1"), turn("b", id="2")], None)
    again = [turn("b", id="2", agent="another"), turn("B", id="2"), turn("c", id="3")]
    outcomes = journal.append_turns([*again, turn("C", id="3"), turn("c", id="3")], None)
    assert [(o.status, o.seq) for o in outcomes] == [
        ("unchanged", 2),
        ("conflict", 2),
        ("added", 3),
        ("conflict", 3),
        ("unchanged", 3),
    ]
    assert [row.turn().text for row in journal.rows_after(0)] == ["a", "b", "c"]
    assert journal.append_turns([], None) == []


def test_session_and_id_are_never_mixed_up(journal: Journal) -> None:
    turns = [turn("a", session="s", id='t","u'), turn("a", session='s","t', id="u")]
    assert [o.status for o in journal.append_turns(turns, None)] == ["added", "added"]
    assert journal.lookup('s","t', "u") == 2
    assert journal.lookup("s", "u") is None


@pytest.mark.parametrize("crcs", [[], [1, 2, 3], None])
def test_a_failed_append_leaves_nothing(journal: Journal, crcs: list[int] | None) -> None:
    def write(first: int, new: list[int]) -> list[int]:
        if crcs is None:
            raise StoreError("disk full")
        return crcs

    with pytest.raises((StoreError, ValueError)):
        journal.append_turns([turn("a"), turn("b")], write)
    assert list(journal.rows_after(0)) == []
    assert journal.append_turns([turn("a")], crcs_only)[0].seq == 1
    assert next(journal.rows_after(0)).vector_row == 0


def test_deletion_marks(journal: Journal) -> None:
    journal.append_turns([turn("a"), turn("b"), turn("c")], None)
    assert journal.append_delete([3, 1, 3], agent="x") == [3, 1]
    assert journal.append_delete([1, 2], agent=None) == [2]
    marks = list(journal.rows_after(3))
    assert [(m.kind, m.target(), m.agent) for m in marks] == [
        ("delete", 3, "x"),
        ("delete", 1, "x"),
        ("delete", 2, None),
    ]
    assert journal.counts() == {"delete": 3, "turn": 3}


@pytest.mark.parametrize("seq", [0, 3, 99])
def test_only_turns_can_be_deleted(journal: Journal, seq: int) -> None:
    journal.append_turns([turn("a"), turn("b")], None)
    journal.append_delete([2], None)
    with pytest.raises(InputError, match=f"expected the seq of a turn, got {seq}, at "):
        journal.append_delete([1, seq], None)
    assert journal.last_seq() == 3


def test_pages_and_limits(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuegraph.io.journal._PAGE_ROWS", 3)
    journal.append_turns([turn(str(i)) for i in range(10)], None)
    for seq in range(11):
        for limit in (None, *range(12)):
            stop = 10 if limit is None else min(10, seq + limit)
            seqs = [row.seq for row in journal.rows_after(seq, limit)]
            assert seqs == list(range(seq + 1, stop + 1))


def test_turns_by_seq(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuegraph.io.journal._PAGE_SEQS", 3)
    turns = [turn(str(i)) for i in range(10)]
    journal.append_turns(turns, None)
    assert journal.turns([]) == []
    for seqs in ([7], [10, 1, 5], [3, 3, 10, 3], list(range(10, 0, -1))):
        assert journal.turns(seqs) == [turns[seq - 1] for seq in seqs]
    assert journal.turns(np.array([2, 9], np.int64)) == [turns[1], turns[8]]  # type: ignore[arg-type]


def test_turns_of_more_seqs_than_one_statement_takes(journal: Journal) -> None:
    turns = [turn(str(i)) for i in range(900)]
    journal.append_turns(turns, None)
    assert journal.turns(range(1, 901)) == turns


@pytest.mark.parametrize("seq", [0, 3, 4])
def test_a_seq_that_is_no_turn_is_named(journal: Journal, seq: int) -> None:
    journal.append_turns([turn("a"), turn("b")], None)
    journal.append_delete([2], None)
    with pytest.raises(StoreError, match=f"expected a turn in journal row {seq}, got none, at "):
        journal.turns([1, seq, 2])


def test_another_kind_of_body_is_refused(journal: Journal) -> None:
    journal.append_turns([turn("a")], None)
    with pytest.raises(StoreError, match=r"expected a DeleteRecord, got .*journal row 1 \(turn\)"):
        next(journal.rows_after(0)).target()


def test_changed_tells_of_others_only(journal: Journal, tmp_path: Path) -> None:
    with open_journal(tmp_path) as other:
        journal.append_turns([turn("a")], None)
        assert (journal.changed(), other.changed(), other.changed()) == (False, True, False)
        other.append_turns([turn("b")], None)
        journal.append_turns([turn("c")], None)  # sees the other's commit on the way
        assert (journal.changed(), journal.changed(), other.changed()) == (True, False, True)
        assert [row.turn().text for row in other.rows_after(0)] == ["a", "b", "c"]


def test_repaired_vectors_get_their_checksum(journal: Journal) -> None:
    journal.append_turns([turn("a"), turn("b")], crcs_only)
    journal.append_turns([turn("c")], None)
    journal.replace_vector_crcs({2: 77, 3: 88})
    assert [row.vector_crc for row in journal.rows_after(0)] == [0, 77, None]


def test_reopening_keeps_space_and_rows(tmp_path: Path) -> None:
    with open_journal(tmp_path) as first:
        first.append_turns([turn("a")], None)
        space = first.space
    with open_journal(tmp_path) as again:
        assert (again.space, again.last_seq()) == (space, 1)
        assert (again.embedder, again.dimension) == ("e", 4)
    with open_journal(tmp_path / "other") as other:
        assert re.fullmatch("[0-9a-f]{32}", other.space)
        assert other.space != space


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format_version", "2", "expected format version 1, got 2, at "),
        ("embedder", "f", "expected embedder e, got f, at "),
        ("dimension", "8", "expected dimension 4, got 8, at "),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_mismatch_names_both(
    tmp_path: Path, key: str, value: str, message: str, read_only: bool
) -> None:
    open_journal(tmp_path).close()
    change(tmp_path, "UPDATE meta SET value = ? WHERE key = ?", value, key)
    with pytest.raises(StoreMismatchError, match=message):
        open_journal(tmp_path, read_only=read_only)


def test_damaged_meta(tmp_path: Path) -> None:
    open_journal(tmp_path).close()
    change(tmp_path, "DELETE FROM meta WHERE key = 'space'")
    with pytest.raises(StoreError, match="got no space, at "):
        open_journal(tmp_path)


def change(directory: Path, statement: str, *parameters: str) -> None:
    db = sqlite3.connect(directory / "journal.sqlite", isolation_level=None)
    db.execute(statement, parameters)
    db.close()


def test_a_strangers_database_is_left_alone(tmp_path: Path) -> None:
    change(tmp_path, "CREATE TABLE cats (name)")
    before = (tmp_path / "journal.sqlite").read_bytes()
    with pytest.raises(StoreError, match="expected a cuegraph journal, got a database with cats"):
        open_journal(tmp_path)
    assert (tmp_path / "journal.sqlite").read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_database(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"no database at all" * 99)
    with pytest.raises(StoreError, match=r"got 'file is not a database', at .*journal\.sqlite$"):
        open_journal(tmp_path, read_only=read_only)


def test_an_empty_file_is_a_creator_that_crashed(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").touch()
    with pytest.raises(StoreError, match="expected a cuegraph journal, got an empty database"):
        open_journal(tmp_path, read_only=True)
    with open_journal(tmp_path) as journal:
        assert journal.last_seq() == 0


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing")):
        with pytest.raises(StoreError, match=f"expected a folder .*, at {re.escape(str(bad))}"):
            open_journal(bad)
    (tmp_path / "space" / "journal.sqlite").mkdir(parents=True)
    with pytest.raises(StoreError, match="unable to open database file"):
        open_journal(tmp_path / "space")


def test_names_with_special_characters(tmp_path: Path) -> None:
    directory = tmp_path / "a?b#c%20d é" / "deep"
    with open_journal(directory) as journal:
        journal.append_turns([turn("a")], None)
    assert (directory / "journal.sqlite").is_file()


def test_read_only(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="expected a journal to read, got no file"):
        open_journal(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    with open_journal(tmp_path) as writer, open_journal(tmp_path, read_only=True) as reader:
        writer.append_turns([turn("a")], None)
        assert reader.changed()
        assert reader.last_seq() == 1
        with pytest.raises(StoreError, match="expected a store opened for writing"):
            reader.append_turns([turn("b")], None)
        with pytest.raises(StoreError, match="expected a store opened for writing"):
            reader.append_delete([1], None)


def test_a_second_writer_waits_no_longer_than_told(tmp_path: Path) -> None:
    with open_journal(tmp_path, busy_timeout_s=0.2) as journal:
        other = sqlite3.connect(journal.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        with pytest.raises(StoreBusyError, match=r"free within 0\.2 s, got it held .* after 0\.\d"):
            journal.append_turns([turn("a")], None)
        assert 0.15 < time.monotonic() - start < 2
        assert journal.last_seq() == 0  # reading goes on
        other.execute("ROLLBACK")
        assert journal.append_turns([turn("a")], None)[0].status == "added"
        other.close()


def test_a_held_file_cannot_be_created_in(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusyError):
        open_journal(tmp_path, busy_timeout_s=0.1)
    other.execute("ROLLBACK")
    other.close()


@pytest.mark.parametrize("freed_after_s", [0.05, 5])
def test_the_switch_to_wal_waits_for_a_lock(tmp_path: Path, freed_after_s: float) -> None:
    path = tmp_path / "journal.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # lets others read, so that they get as far as the switch
    timer = threading.Timer(freed_after_s, other.execute, ("ROLLBACK",))
    timer.start()
    if freed_after_s < 1:
        with open_journal(tmp_path, busy_timeout_s=2) as journal:
            assert journal.last_seq() == 0
    else:
        with pytest.raises(StoreBusyError):
            open_journal(tmp_path, busy_timeout_s=0.1)
    timer.cancel()
    timer.join()
    other.close()


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(StoreError, match="closed database"):
        journal.last_seq()


def test_commits_are_synced(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        assert journal._database.rows("PRAGMA journal_mode") == [("wal",)]
        assert journal._database.rows("PRAGMA synchronous") == [(2,)]


@pytest.mark.parametrize("attempt", range(8))
def test_concurrent_creators_agree_on_one_space(tmp_path: Path, attempt: int) -> None:
    spaces: list[str] = []
    barrier = threading.Barrier(6)

    def create(i: int) -> None:
        barrier.wait()
        with open_journal(tmp_path / "space") as journal:
            spaces.append(journal.space)
            journal.append_turns([turn(f"hello from {i}")], None)

    in_threads(create, 6)
    assert len(spaces) == 6
    assert len(set(spaces)) == 1
    with open_journal(tmp_path / "space") as journal:
        assert journal.counts() == {"turn": 6}


def test_threads_share_one_journal_and_vector_file(tmp_path: Path) -> None:
    vectors = VectorFile(tmp_path / "vectors.f16", 4)
    with open_journal(tmp_path) as journal:

        def store(vector: npt.NDArray[np.float16], first: int, new: list[int]) -> list[int]:
            return vectors.append(first, vector[new])

        def work(i: int) -> None:
            for j in range(20):
                vector = np.full((1, 4), 100 * i + j, np.float16)
                record = turn(f"{100 * i + j}")
                journal.append_turns([record], partial(store, vector))
                assert journal.lookup("main", record.id) is not None

        in_threads(work, 4)
        rows = list(journal.rows_after(0))
        assert [row.vector_row for row in rows] == list(range(80))
        data = vectors.view(80).view(np.float16)
        assert [int(row.turn().text) for row in rows] == data[:, 0].tolist()
    vectors.close()


def in_threads(work: Any, n: int) -> None:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
