"""A SQLite file with one write transaction at a time, bounded waits and our own errors."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import StoreBusyError, StoreError

_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_RETRY_S = 0.01


class Database:
    """One connection to a SQLite file in WAL mode, shared by threads under a lock."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float) -> None:
        """Connect; the file is created where missing unless `read_only`."""
        self.path = path
        self._read_only = read_only
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        with self._errors():
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
                uri=True,
                timeout=busy_timeout_s,
                isolation_level=None,  # transactions begin and end where the code says so
                check_same_thread=False,
            )

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """All rows of one statement that reads."""
        with self._lock, self._errors():
            return self._connection.execute(query, parameters).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: committed and synced when the block ends, undone when it raises.

        Raises StoreBusyError where another connection keeps the lock for `busy_timeout_s`.
        """
        if self._read_only:
            raise StoreError(f"expected a store opened for writing, got read_only, at {self.path}")
        with self._begun():
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite undoes some failures by itself
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _begun(self) -> Iterator[None]:
        """The lock, with a write transaction begun.

        While another process writes, the lock is free between the attempts, so that this one's
        readers go on.
        """
        start = time.monotonic()
        while True:
            with self._lock, self._errors():
                if self._begin():
                    yield
                    return
            if time.monotonic() > start + self._busy_timeout_s:
                raise self._busy(start)
            time.sleep(_RETRY_S)

    def _begin(self) -> bool:
        try:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * self._busy_timeout_s)}")
        return True

    def use_wal(self) -> None:
        """Set the modes of a durable log; SQLite never waits in this switch, so the loop does."""
        deadline = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                mode = self.rows("PRAGMA journal_mode = WAL")[0][0]
                break
            except StoreBusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_S)
        if mode != "wal":
            raise StoreError(f"expected a disk that allows WAL mode, got {mode}, at {self.path}")
        self.rows("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._lock, self._errors():
            self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        except sqlite3.Error as exc:
            # Errors of the Python module itself carry no SQLite code.
            if getattr(exc, "sqlite_errorcode", 0) & 0xFF in _BUSY_CODES:
                raise self._busy(start) from exc
            raise StoreError(f"expected a sound SQLite file, got '{exc}', at {self.path}") from exc

    def _busy(self, start: float) -> StoreBusyError:
        waited = f"expected the store to be free within {self._busy_timeout_s:g} s"
        held = f"got it held by another writer after {time.monotonic() - start:.2f} s"
        return StoreBusyError(f"{waited}, {held}, at {self.path}")
