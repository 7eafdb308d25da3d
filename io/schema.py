"""The tables of a journal: made once, in one transaction, and checked on every open."""

import uuid

from .database import Database
from .durable import disk_errors, sync_directory
from .errors import StoreError, StoreMismatchError

FORMAT_VERSION = 1

_TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS record (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        digest BLOB NOT NULL,
        recorded_us INTEGER NOT NULL,
        agent TEXT,
        vector_row INTEGER,
        vector_crc INTEGER,
        body BLOB NOT NULL,
        UNIQUE (kind, key))""",
)
_META = ("format_version", "space", "embedder", "dimension", "vector_rows")


def create_if_missing(database: Database, embedder: str, dimension: int) -> None:
    """Make the tables of an empty file, whoever else is about to do the same.

    The space gets its random name here; of two concurrent creators, the first one's stands.
    """
    missing = not _has_tables(database)
    database.use_wal()
    if not missing:
        return
    values = (str(FORMAT_VERSION), uuid.uuid4().hex, embedder, str(dimension), "0")
    with database.writing() as db:
        for table in _TABLES:
            db.execute(table)
        pairs = zip(_META, values, strict=True)
        db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", pairs)
    with disk_errors("a folder that can be synced", database.path.parent):
        sync_directory(database.path.parent)


def checked_space(database: Database, embedder: str, dimension: int) -> str:
    """The space's random name, once format, embedder and dimension are found to be ours."""
    path = database.path
    if not _has_tables(database):
        raise StoreError(f"expected a cuegraph journal, got an empty database, at {path}")
    meta = dict(database.rows("SELECT key, value FROM meta"))
    lost = [key for key in _META if meta.get(key) is None]
    if lost:
        raise StoreError(f"expected {', '.join(_META)} in table meta, got no {lost[0]}, at {path}")
    ours = {
        "format_version": str(FORMAT_VERSION),
        "embedder": embedder,
        "dimension": str(dimension),
    }
    for key, expected in ours.items():
        if meta[key] != expected:
            what = key.replace("_", " ")
            raise StoreMismatchError(f"expected {what} {expected}, got {meta[key]}, at {path}")
    return str(meta["space"])


def _has_tables(database: Database) -> bool:
    """Whether our tables are there; StoreError where only a stranger's are."""
    names = {name for (name,) in database.rows("SELECT name FROM sqlite_master")}
    if names and not {"meta", "record"} <= names:
        got = f"a database with {', '.join(sorted(names))}"
        raise StoreError(f"expected a cuegraph journal, got {got}, at {database.path}")
    return bool(names)
