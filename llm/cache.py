"""Vectors kept in an SQLite file, so that a text is embedded once."""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ..io.errors import StoreBusyError, StoreError, StoreMismatchError
from .embedder import Embedder

Kind = Literal["passage", "query"]

APPLICATION_ID = 0x63676563  # "cgec", in the file's header: no other database is written to
FORMAT = 1
BUSY_S = 30.0
# Texts embedded between two commits: what an interrupted run has embedded stays embedded.
BATCH = 256

_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SCHEMA = """
CREATE TABLE vector (
    embedder TEXT NOT NULL,
    kind TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    row BLOB NOT NULL,
    PRIMARY KEY (embedder, kind, text_hash)
) WITHOUT ROWID
"""


class VectorCache:
    """Rows by (embedder name, "passage" or "query", hash of the text).

    path  file, made where there is none; None keeps the rows in memory

    Threads and processes may share it: readers never wait, a writer waits up to 30 s for another
    (then StoreBusyError). StoreError, with the path, where the file is damaged or of another kind;
    StoreMismatchError where it is of another format. It holds nothing that cannot be made again.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = ":memory:" if path is None else str(path)
        self._lock = threading.Lock()
        with self._errors():
            self._db = sqlite3.connect(
                self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
        try:
            with self._errors():
                self._prepare()
        except StoreError:
            self._db.close()
            raise

    def get(
        self, embedder: str, kind: Kind, hashes: Sequence[bytes], dimension: int
    ) -> dict[bytes, npt.NDArray[np.float32]]:
        """Those of the rows that are kept, float32 (dimension,), by hash."""
        found = {}
        with self._lock, self._errors():
            for key in hashes:
                hit = self._db.execute(
                    "SELECT row FROM vector WHERE embedder = ? AND kind = ? AND text_hash = ?",
                    (embedder, kind, key),
                ).fetchone()
                if hit is not None:
                    found[key] = self._decoded(hit[0], dimension)
        return found

    def put(self, embedder: str, kind: Kind, rows: Mapping[bytes, npt.NDArray[np.float32]]) -> None:
        """Keep rows by hash, all or none; a row that is kept already stays."""
        values = [(embedder, kind, k, row.astype("<f4").tobytes()) for k, row in rows.items()]
        with self._lock, self._errors(), self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?, ?, ?)", values)

    def close(self) -> None:
        """Close the file; the cache cannot be used after."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            if self._pragma("application_id") == 0 and not self._tables():
                self._db.execute(_SCHEMA)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {FORMAT}")
        if self._pragma("application_id") != APPLICATION_ID:
            raise StoreError(f"{self._path}: expected a vector cache, got another database")
        version = self._pragma("user_version")
        if version != FORMAT:
            raise StoreMismatchError(
                f"{self._path}: expected a vector cache of format {FORMAT}, got {version}; "
                "it may be deleted"
            )
        # Only now, since it is written into the file: another database is left as it was.
        self._use_wal()

    def _use_wal(self) -> None:
        # SQLite never waits in this switch, so the loop does.
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BUSY_CODES or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    def _tables(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])

    def _decoded(self, blob: bytes, dimension: int) -> npt.NDArray[np.float32]:
        if len(blob) == 4 * dimension:
            row = np.frombuffer(blob, "<f4").astype(np.float32)
            with np.errstate(invalid="ignore"):
                square = float(np.sum(row.astype(np.float64) ** 2))
            if abs(square - 1.0) < 1e-3:  # false for NaN too
                return row
        raise self._damaged(f"a row of {len(blob)} bytes that is no unit vector")

    def _damaged(self, got: object) -> StoreError:
        return StoreError(
            f"{self._path}: expected a sound vector cache, got: {got}; it may be deleted"
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # Errors of the Python module itself carry no SQLite code.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise self._damaged(error) from error
            kind = StoreBusyError if code in _BUSY_CODES else StoreError
            raise kind(
                f"{self._path}: expected to use the vector cache within {BUSY_S:g} s, got: {error}"
            ) from error


class Cached:
    """An embedder that asks another only for texts whose vectors are not kept.

    The other sees each text once, however often it stands in a call, and in the order of the call.
    """

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self.name = embedder.name

    @property
    def dimension(self) -> int:
        """Numbers in a vector of the wrapped embedder."""
        return self._embedder.dimension

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched, float32 (n, dimension)."""
        return self._embed("passage", self._embedder.passages, texts)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search, float32 (n, dimension)."""
        return self._embed("query", self._embedder.queries, texts)

    def _embed(
        self,
        kind: Kind,
        embed: Callable[[Sequence[str]], npt.NDArray[np.float32]],
        texts: Sequence[str],
    ) -> npt.NDArray[np.float32]:
        keys = [_text_hash(text) for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        rows = self._cache.get(self.name, kind, list(by_key), self.dimension)
        missing = [key for key in by_key if key not in rows]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            new = dict(zip(batch, embed([by_key[key] for key in batch]), strict=True))
            self._cache.put(self.name, kind, new)
            rows.update(new)
        out = np.empty((len(keys), self.dimension), np.float32)
        for row, key in zip(out, keys, strict=True):
            row[:] = rows[key]
        return out


def _text_hash(text: str) -> bytes:
    # A lone surrogate is legal in a str and must not keep a text from having a hash.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
