"""The journal: the source of truth of one memory space, an append-only table in SQLite.

Whatever is said later about an earlier row (an enrichment, a correction, a deletion) is a further
row. SQLite gives durability, locks between processes and recovery after a crash.
"""

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from .database import Database
from .durable import make_directory
from .errors import InputError, StoreError
from .row import Appended, DeleteRecord, Row, turn_key
from .schema import checked_space, create_if_missing
from .turn import TurnRecord, content_digest

FILE_NAME = "journal.sqlite"

#: Writes the vectors of the new items at the rows from the first argument on, synced, and returns
#: one crc32 each. The second argument holds the items' positions in the appended sequence.
WriteVectors = Callable[[int, list[int]], list[int]]

_SELECT = "SELECT seq, kind, key, recorded_us, agent, vector_row, vector_crc, body FROM record"
_PAGE_ROWS = 4096  # read under one lock: enough to be fast, few enough not to hold up a writer
_PAGE_SEQS = 500  # parameters of one statement, of which old SQLites take 999


def now_us() -> int:
    """The wall clock in microseconds UTC."""
    return time.time_ns() // 1000


class Journal:
    """The journal of one space. Safe to use from several threads and several processes.

    space      random hex name of the space, made with the journal; stamps derived files
    embedder, dimension  as given at `open`, equal to what the journal keeps
    """

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        embedder: str,
        dimension: int,
        read_only: bool = False,
        busy_timeout_s: float = 5.0,
        clock: Callable[[], int] = now_us,
    ) -> Self:
        """The journal in `directory`, made where missing unless `read_only`.

        Raises StoreMismatchError for a newer format, another embedder or dimension (both sides
        named), StoreBusyError after `busy_timeout_s`, StoreError for whatever else the disk holds.
        """
        path = directory / FILE_NAME
        if not read_only:
            make_directory(directory)
        elif not path.is_file():
            raise StoreError(f"expected a journal to read, got no file, at {path}")
        database = Database(path, read_only=read_only, busy_timeout_s=busy_timeout_s)
        try:
            if not read_only:
                create_if_missing(database, embedder, dimension)
            return cls(database, embedder, dimension, clock)
        except BaseException:
            database.close()
            raise

    def __init__(
        self, database: Database, embedder: str, dimension: int, clock: Callable[[], int]
    ) -> None:
        """Use `open`."""
        self.path = database.path
        self.embedder = embedder
        self.dimension = dimension
        self.space = checked_space(database, embedder, dimension)
        self._database = database
        self._clock = clock
        self._seen_version = self._data_version()

    def __enter__(self) -> Self:
        """The journal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def append_turns(
        self, turns: Sequence[TurnRecord], write_vectors: WriteVectors | None
    ) -> list[Appended]:
        """What became of each turn, in order, once all of it is safe on disk; or an error and none.

        Under SQLite's write lock: find which turns are known, let `write_vectors` put the vectors
        of the others at the next free rows and sync them, insert the rows, commit. A crash before
        the commit leaves vectors that no row names; the next writer overwrites them. Without
        `write_vectors` the rows have no vector.
        """
        if not turns:
            return []
        entries = [_turn_entry(turn) for turn in turns]
        with self._database.writing() as db:
            standing = _standing(db, entries)
            new = _first_of_each(entries, standing)
            vectors = _write_vectors(db, new, write_vectors)
            for i, (row, crc) in zip(new, vectors, strict=True):
                seq = self._insert(db, entries[i], row, crc)
                standing[entries[i].key] = (seq, entries[i].digest)
        added = set(new)
        return [_outcome(e, *standing[e.key], added=i in added) for i, e in enumerate(entries)]

    def append_delete(self, seqs: Sequence[int], agent: str | None) -> list[int]:
        """The seqs among `seqs` that are newly marked as deleted, in order.

        Marks that stand already are left alone. InputError for a seq that is no turn; then no
        mark at all is written.
        """
        marked: list[int] = []
        with self._database.writing() as db:
            for seq in dict.fromkeys(seqs):
                query = "SELECT 1 FROM record WHERE seq = ? AND kind = 'turn'"
                if db.execute(query, (seq,)).fetchone() is None:
                    raise InputError(f"expected the seq of a turn, got {seq}, at {self.path}")
                entry = _delete_entry(seq, agent)
                if not _standing(db, [entry]):
                    self._insert(db, entry, None, None)
                    marked.append(seq)
        return marked

    def replace_vector_crcs(self, crcs: Mapping[int, int]) -> None:
        """Set the checksums of repaired vectors, by seq.

        The one change to a written row: a vector embedded anew on another machine may differ in
        its last bits, and a checksum is no part of what was said.
        """
        with self._database.writing() as db:
            db.executemany(
                "UPDATE record SET vector_crc = ? WHERE seq = ? AND vector_row IS NOT NULL",
                [(crc, seq) for seq, crc in crcs.items()],
            )

    def rows_after(self, seq: int, limit: int | None = None) -> Iterator[Row]:
        """The rows after `seq` in order, `limit` at most; rows committed meanwhile are part of it.

        Read page by page, so that a long iteration holds up neither writers nor checkpoints.
        """
        left = limit
        while left is None or left > 0:
            size = _PAGE_ROWS if left is None else min(left, _PAGE_ROWS)
            query = f"{_SELECT} WHERE seq > ? ORDER BY seq LIMIT ?"
            page = self._database.rows(query, seq, size)
            for values in page:
                yield Row(*values)
            if len(page) < size:
                return
            seq = page[-1][0]
            left = None if left is None else left - size

    def turns(self, seqs: Sequence[int]) -> list[TurnRecord]:
        """The turns that rows hold, in the order of `seqs`, which may name one twice.

        StoreError for a seq that is no turn's.
        """
        found: dict[int, TurnRecord] = {}
        for start in range(0, len(seqs), _PAGE_SEQS):
            page = [int(seq) for seq in seqs[start : start + _PAGE_SEQS]]
            # Not by kind: SQLite would rather walk its index of all turns than look up these.
            query = f"{_SELECT} WHERE seq IN ({','.join('?' * len(page))})"
            rows = (Row(*values) for values in self._database.rows(query, *page))
            found |= {row.seq: row.turn() for row in rows if row.kind == "turn"}
        try:
            return [found[seq] for seq in seqs]
        except KeyError as missing:
            expected = f"expected a turn in journal row {int(missing.args[0])}, got none"
            raise StoreError(f"{expected}, at {self.path}") from None

    def last_seq(self) -> int:
        """The newest row's seq, 0 in an empty journal."""
        return int(self._database.rows("SELECT coalesce(max(seq), 0) FROM record")[0][0])

    def changed(self) -> bool:
        """Whether another connection has committed since the last call (or since `open`).

        Costs microseconds. True comes once a change: whoever gets it reads `rows_after`.
        """
        version = self._data_version()
        changed = version != self._seen_version
        self._seen_version = version
        return changed

    def lookup(self, session: str, turn_id: str) -> int | None:
        """The seq of a turn, or None."""
        query = "SELECT seq FROM record WHERE kind = 'turn' AND key = ?"
        found = self._database.rows(query, turn_key(session, turn_id))
        return int(found[0][0]) if found else None

    def counts(self) -> dict[str, int]:
        """The number of rows of each kind."""
        query = "SELECT kind, count(*) FROM record GROUP BY kind ORDER BY kind"
        return {kind: count for kind, count in self._database.rows(query)}

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._database.close()

    def _data_version(self) -> int:
        return int(self._database.rows("PRAGMA data_version")[0][0])

    def _insert(
        self, db: sqlite3.Connection, entry: "_Entry", vector_row: int | None, crc: int | None
    ) -> int:
        cursor = db.execute(
            "INSERT INTO record"
            " (kind, key, digest, recorded_us, agent, vector_row, vector_crc, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(entry.kind, entry.key, entry.digest, self._clock(), entry.agent),
                *(vector_row, crc, entry.body),
            ),
        )
        assert cursor.lastrowid is not None  # set by every INSERT that does not raise
        return cursor.lastrowid


class _Entry(msgspec.Struct, frozen=True):
    """What is known of a row before it is written."""

    kind: str
    key: str
    digest: bytes
    agent: str | None
    body: bytes


def _turn_entry(turn: TurnRecord) -> _Entry:
    body = msgspec.msgpack.encode(turn)
    return _Entry("turn", turn_key(turn.session, turn.id), content_digest(turn), turn.agent, body)


def _delete_entry(target: int, agent: str | None) -> _Entry:
    body = msgspec.msgpack.encode(DeleteRecord(target))
    digest = hashlib.blake2b(body, digest_size=16).digest()
    return _Entry("delete", str(target), digest, agent, body)


def _standing(db: sqlite3.Connection, entries: Sequence[_Entry]) -> dict[str, tuple[int, bytes]]:
    """Seq and digest of the rows that stand already, by key."""
    query = "SELECT seq, digest FROM record WHERE kind = ? AND key = ?"
    found = ((e.key, db.execute(query, (e.kind, e.key)).fetchone()) for e in entries)
    return {key: row for key, row in found if row is not None}


def _first_of_each(entries: Sequence[_Entry], standing: Mapping[str, object]) -> list[int]:
    """Positions of the first entry of each key that is not standing, in order."""
    first: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if entry.key not in standing:
            first.setdefault(entry.key, i)
    return list(first.values())


def _write_vectors(
    db: sqlite3.Connection, new: list[int], write_vectors: WriteVectors | None
) -> list[tuple[int | None, int | None]]:
    """Vector row and crc32 of each new entry, once its vector is safe on disk."""
    if not new or write_vectors is None:
        return [(None, None)] * len(new)
    # A counter, since max(vector_row) would scan; it commits and rolls back with the rows.
    first = int(db.execute("SELECT value FROM meta WHERE key = 'vector_rows'").fetchone()[0])
    rows = range(first, first + len(new))
    crcs = write_vectors(first, new)
    db.execute("UPDATE meta SET value = ? WHERE key = 'vector_rows'", (str(rows.stop),))
    return list(zip(rows, crcs, strict=True))


def _outcome(entry: _Entry, seq: int, digest: bytes, *, added: bool) -> Appended:
    if added:
        return Appended("added", seq)
    return Appended("unchanged" if digest == entry.digest else "conflict", seq)
