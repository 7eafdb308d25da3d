"""Trust: what is taken for the file that was found sound, and what is not."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cuegraph.io.durable import SMALL_BYTES
from cuegraph.io.trust import Identity, distrust, trust, trusted

TICK_S = 0.03


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is trusted whatever its size."""
    monkeypatch.setattr("cuegraph.io.trust.SMALL_BYTES", 0)
    file = tmp_path / "file"
    file.write_bytes(bytes(100))
    trust(file, Identity.of(file))
    time.sleep(TICK_S)
    return file


def edit(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"x")


def edit_and_put_back_the_time(path: Path) -> None:
    before = path.stat()
    edit(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_a_copy(path: Path) -> None:
    shutil.copy2(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def cut(path: Path) -> None:
    os.truncate(path, 50)


def is_trusted(path: Path) -> bool:
    return trusted(path, Identity.of(path))


def test_it_is_trusted_until_somebody_touches_it(path: Path) -> None:
    assert is_trusted(path)
    path.read_bytes()
    assert is_trusted(path)
    with path.open("rb") as file:
        assert Identity.of(path, file.fileno()) == Identity.of(path)


@pytest.mark.parametrize("touch", [edit, edit_and_put_back_the_time, replace_by_a_copy, cut])
def test_whoever_touches_it_ends_the_trust(path: Path, touch: Callable[[Path], None]) -> None:
    touch(path)
    assert not is_trusted(path)


def test_trust_in_one_file_takes_the_place_of_that_in_another(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"x")
    assert not is_trusted(other)
    trust(other, Identity.of(other))
    assert (is_trusted(other), is_trusted(path)) == (True, False)
    distrust(path)
    assert not is_trusted(other)
    distrust(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_a_damaged_record_is_no_trust(path: Path, content: bytes) -> None:
    (path.parent / "checked.json").write_bytes(content)
    assert not is_trusted(path)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(SMALL_BYTES + 1))
    identity = Identity.of(tmp_path / "file")
    trust(tmp_path / "gone" / "file", identity)
    distrust(tmp_path / "gone" / "file")
    assert not trusted(tmp_path / "gone" / "file", identity)


def test_small_files_are_never_trusted(tmp_path: Path) -> None:
    for size, expected in ((SMALL_BYTES, False), (SMALL_BYTES + 1, True)):
        file = tmp_path / str(size)
        file.touch()
        os.truncate(file, size)
        trust(file, Identity.of(file))
        assert is_trusted(file) is expected


def test_a_change_shows_once_the_clock_has_moved_on(path: Path) -> None:
    assert Identity.of(path).settled()
    edit(path)
    assert not Identity.of(path).settled()
