"""The cache of vectors: what is embedded, what is kept, and what a damaged file does."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.io.errors import ModelError, StoreBusyError, StoreError, StoreMismatchError
from cuegraph.llm import Cached, VectorCache, cache, open_embedder

from .conftest import Counting

TEXTS = ["a dog", "a cat", "a dog", "", "\ud800"]
UNIQUE = ["a dog", "a cat", "", "\ud800"]


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorCache]:
    with VectorCache(tmp_path / "c.sqlite" if request.param == "file" else None) as opened:
        yield opened


def test_rows_are_those_of_the_embedder(store: VectorCache, counting: Counting) -> None:
    cached = Cached(counting, store)
    for _ in range(2):
        assert cached.passages(TEXTS).tobytes() == counting.passages(TEXTS).tobytes()
        assert cached.queries(TEXTS).tobytes() == counting.queries(TEXTS).tobytes()
    assert (cached.name, cached.dimension) == (counting.name, counting.dimension)
    assert cached.passages([]).shape == (0, counting.dimension)


def test_each_text_is_embedded_once_for_each_kind(store: VectorCache, counting: Counting) -> None:
    cached = Cached(counting, store)
    cached.passages(TEXTS)
    cached.passages([*TEXTS, "a fox"])
    cached.queries(["a dog"])
    cached.queries(["a dog"])
    assert counting.calls == [("passage", UNIQUE), ("passage", ["a fox"]), ("query", ["a dog"])]


def test_another_embedder_has_rows_of_its_own(store: VectorCache) -> None:
    first, second = Counting("one"), Counting("two")
    Cached(first, store).passages(["a dog"])
    Cached(second, store).passages(["a dog"])
    assert second.calls == [("passage", ["a dog"])]


def test_a_file_outlives_its_process(tmp_path: Path, counting: Counting) -> None:
    path = tmp_path / "c.sqlite"
    with VectorCache(path) as store:
        before = Cached(counting, store).passages(TEXTS)
    with VectorCache(path) as store:
        after = Cached(counting, store).passages(TEXTS)
    assert before.tobytes() == after.tobytes()
    assert len(counting.calls) == 1


def test_what_was_embedded_before_a_failure_is_kept(store: VectorCache) -> None:
    class Failing(Counting):
        def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            if len(self.calls) == 1:
                self.calls.clear()
                raise ModelError("the server has gone")
            return super().passages(texts)

    failing = Failing()
    texts = [f"text {i}" for i in range(cache.BATCH + 10)]
    with pytest.raises(ModelError, match="gone"):
        Cached(failing, store).passages(texts)
    Cached(failing, store).passages(texts)
    assert failing.calls == [("passage", texts[cache.BATCH :])]


_FILL = """
import sys
from cuegraph.llm import Cached, VectorCache, open_embedder
path, *texts = sys.argv[1:]
with VectorCache(path) as store:
    sys.stdout.buffer.write(Cached(open_embedder("hash"), store).passages(texts).tobytes())
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    path, texts = str(tmp_path / "c.sqlite"), [f"text {i}" for i in range(600)]
    children = [
        subprocess.Popen([sys.executable, "-c", _FILL, path, *said], stdout=subprocess.PIPE)
        for said in (texts, texts[::-1], texts)
    ]
    results = [child.communicate(timeout=60)[0] for child in children]
    assert results[0] == results[2] == open_embedder("hash").passages(texts).tobytes()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM vector").fetchone() == (600,)
    db.close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough" * 40, b"SQLite"])
def test_a_file_that_is_no_database_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"c\.sqlite.*it may be deleted"):
        VectorCache(path)
    assert path.read_bytes() == content


def test_damaged_pages_are_an_error(tmp_path: Path, counting: Counting) -> None:
    path = tmp_path / "c.sqlite"
    texts = [f"text {i}" for i in range(100)]
    with VectorCache(path) as store:
        Cached(counting, store).passages(texts)
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))
    with (
        VectorCache(path) as store,
        pytest.raises(StoreError, match=r"c\.sqlite.*it may be deleted"),
    ):
        Cached(counting, store).passages(texts)


@pytest.mark.parametrize(
    "row", [b"", b"123", b"\0" * 1024, b"\x7f" * 1024, b"\1\0\xa0\x7f" * 256, b"\0\0\x80\x3f"]
)
def test_a_damaged_row_is_an_error(tmp_path: Path, counting: Counting, row: bytes) -> None:
    path = tmp_path / "c.sqlite"
    with VectorCache(path) as store:
        Cached(counting, store).passages(["a dog"])
        with sqlite3.connect(path) as db:
            db.execute("UPDATE vector SET row = ?", (row,))
        db.close()
        with pytest.raises(StoreError, match=r"c\.sqlite.*no unit vector.*may be deleted"):
            Cached(counting, store).passages(["a dog"])


def test_another_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE precious (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"other\.sqlite.*another database"):
        VectorCache(path)
    assert path.read_bytes() == before


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    VectorCache(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    with pytest.raises(StoreMismatchError, match="expected a vector cache of format 1, got 7"):
        VectorCache(path)


def test_a_writer_that_stays_is_busy_not_damage(
    tmp_path: Path, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BUSY_S", 0.05)
    path = tmp_path / "c.sqlite"
    with VectorCache(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match=r"c\.sqlite"):
            Cached(counting, store).passages(["a dog"])
        other.execute("ROLLBACK")
        other.close()
        assert Cached(counting, store).passages(["a dog"]).shape == (1, counting.dimension)


def test_a_closed_cache_says_so(counting: Counting) -> None:
    store = VectorCache()
    store.close()
    with pytest.raises(StoreError, match=r":memory:.*closed database"):
        Cached(counting, store).passages(["a dog"])


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"absent.*unable to open"):
        VectorCache(tmp_path / "absent" / "c.sqlite")
