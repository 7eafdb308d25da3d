"""Snapshots: what comes back, what is passed over, and what is left on disk."""

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.io import InputError, StoreError
from cuegraph.io.snapshot import Loaded, newest_snapshot, write_snapshot
from cuegraph.io.trust import Identity, trust

STAMP = {"embedder": "e"}
DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()

Arrays = dict[str, npt.NDArray[Any]]


def some_arrays(seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays: Arrays = {
        name: rng.integers(0, 100, size).astype(name) for size, name in enumerate(DTYPES)
    }
    return arrays | {"nan": np.array([np.nan, -0.0, np.inf], np.float32)}


def write(
    directory: Path, arrays: Arrays, seq: int = 1, max_seq: int | None = None, space: str = "s"
) -> Path:
    last = seq if max_seq is None else max_seq
    return write_snapshot(directory, arrays, seq=seq, max_seq=last, space=space, stamp=STAMP)


def load(
    directory: Path, max_seq: int = 100, read_only: bool = False
) -> tuple[Loaded | None, list[str]]:
    return newest_snapshot(
        directory, space="s", max_seq=max_seq, expected_stamp=STAMP, read_only=read_only
    )


def assert_same(loaded: Loaded | None, arrays: Arrays) -> None:
    assert loaded is not None
    assert list(loaded.arrays) == list(arrays)
    for name, array in arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].tobytes() == array.tobytes()  # NaN and -0.0 included


def test_arrays_come_back_read_only(tmp_path: Path) -> None:
    path = write(tmp_path, some_arrays(), seq=7)
    loaded, notices = load(tmp_path)
    assert_same(loaded, some_arrays())
    assert loaded is not None
    assert (loaded.seq, loaded.path, loaded.stamp, notices) == (7, path, STAMP, [])
    assert path == tmp_path / "snapshot" / "00000000000000000007.arrow"
    assert not any(array.flags.writeable for array in loaded.arrays.values())


def test_arrays_lie_in_the_mapped_file(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": np.arange(100_000)})
    loaded, _ = load(tmp_path)
    assert loaded is not None
    address = loaded.arrays["a"].__array_interface__["data"][0]
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(path) in line]
    ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in lines]
    assert any(start <= address < end for start, end in ranges)


def test_no_snapshot_is_no_notice(tmp_path: Path) -> None:
    assert load(tmp_path) == (None, [])
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "notes.arrow").touch()
    assert load(tmp_path) == (None, [])


def test_no_arrays_at_all(tmp_path: Path) -> None:
    write(tmp_path, {})
    loaded, notices = load(tmp_path)
    assert_same(loaded, {})
    assert notices == []


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "snapshot").iterdir())


def test_one_is_kept_and_leftovers_go(tmp_path: Path) -> None:
    for seq in (1, 2, 30):
        write(tmp_path, some_arrays(seq), seq)
        (tmp_path / "snapshot" / "00000000000000000009.tmp").touch()
    write(tmp_path, some_arrays(4), 40)
    assert names(tmp_path) == [f"{40:020d}.arrow"]


def test_a_newer_one_of_another_process_stays(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(60), 60)
    write(tmp_path, some_arrays(50), 50, max_seq=60)
    loaded, notices = load(tmp_path)
    assert_same(loaded, some_arrays(60))
    assert notices == []
    write(tmp_path, some_arrays(61), 61)
    assert names(tmp_path) == [f"{61:020d}.arrow"]


def test_one_beyond_the_end_of_the_journal_goes(tmp_path: Path) -> None:
    """The journal was put back in time; it may come to another row 60."""
    write(tmp_path, some_arrays(60), 60)
    loaded, notices = load(tmp_path, max_seq=10)
    assert loaded is None
    assert "expected seq 10 at most, got 60" in notices[0]
    write(tmp_path, some_arrays(7), 7, max_seq=10)
    assert names(tmp_path) == [f"{7:020d}.arrow"]


def test_a_snapshot_can_be_written_over_while_it_is_mapped(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(1))
    before, _ = load(tmp_path)
    write(tmp_path, some_arrays(2))
    after, _ = load(tmp_path)
    assert_same(before, some_arrays(1))
    assert_same(after, some_arrays(2))


def test_others_are_passed_over_with_a_notice(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(), space="other")
    loaded, notices = load(tmp_path)
    assert (loaded, len(notices)) == (None, 1)
    assert "expected space s, got other" in notices[0]
    write(tmp_path, some_arrays())
    stamped = {"embedder": "f"}
    loaded, notices = newest_snapshot(tmp_path, space="s", max_seq=9, expected_stamp=stamped)
    assert (loaded, len(notices)) == (None, 1)
    assert "expected stamp {'embedder': 'f'}, got {'embedder': 'e'}" in notices[0]


def test_a_newer_one_that_is_damaged_gives_way(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(2), 2).write_bytes(b"")
    write(tmp_path, some_arrays(1), 1, max_seq=2)
    loaded, notices = load(tmp_path)
    assert_same(loaded, some_arrays(1))
    assert len(notices) == 1


def test_a_renamed_file_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, some_arrays(), 1)
    path.rename(path.with_name(f"{2:020d}.arrow"))
    loaded, notices = load(tmp_path)
    assert loaded is None
    assert "expected seq as in the name 2, got 1" in notices[0]


SMALL: Arrays = {
    "a": np.arange(5),
    "b": np.array([], np.float16),
    "c": np.array([1, np.nan], np.float16),
    "d": np.arange(7, dtype=np.uint8),
}


def test_no_flipped_byte_gives_wrong_arrays(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL)
    raw = path.read_bytes()
    noticed = 0
    for i in range(len(raw)):
        mask = 1 << (i % 8) if i % 3 else 0xFF
        path.write_bytes(raw[:i] + bytes([raw[i] ^ mask]) + raw[i + 1 :])
        loaded, notices = load(tmp_path)
        noticed += len(notices)
        if not notices:  # padding, which holds nothing
            assert_same(loaded, SMALL)
    assert noticed > len(raw) // 3


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL)
    raw = path.read_bytes()
    for size in range(0, len(raw), 7):
        path.write_bytes(raw[:size])
        loaded, notices = load(tmp_path)
        assert (loaded, len(notices)) == (None, 1)


@pytest.mark.parametrize(
    "array", [np.zeros((2, 2)), np.array(1), np.array(["a"]), np.array([True])]
)
def test_what_cannot_be_kept(tmp_path: Path, array: npt.NDArray[Any]) -> None:
    with pytest.raises(InputError, match="array x: expected 1-d of an integer or float dtype"):
        write(tmp_path, {"x": array})
    assert not (tmp_path / "snapshot").exists()


def test_strided_and_foreign_byte_order(tmp_path: Path) -> None:
    write(tmp_path, {"a": np.arange(9)[::2], "b": np.arange(4, dtype=">i4")})
    loaded, _ = load(tmp_path)
    assert_same(loaded, {"a": np.array([0, 2, 4, 6, 8]), "b": np.arange(4, dtype=np.int32)})


def test_an_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "snapshot").touch()
    with pytest.raises(StoreError, match="expected a folder that exists or can be made"):
        write(tmp_path, some_arrays())


def test_concurrent_writers_and_readers(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(), 0)
    failed: list[object] = []

    def publish(start: int) -> None:
        for seq in range(start, 40, 2):
            write(tmp_path, some_arrays(seq), seq, max_seq=40)

    def read() -> None:
        for _ in range(60):
            loaded, notices = load(tmp_path)
            if notices or loaded is None:
                failed.append(notices)
            else:
                assert_same(loaded, some_arrays(loaded.seq))

    threads = [threading.Thread(target=publish, args=(start,)) for start in (1, 2)]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert f"{39:020d}.arrow" in names(tmp_path)  # with 38, where that came last


def test_reading_ahead_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, SMALL | {"large": np.arange(1_200_000)})
    loaded, _ = load(tmp_path)
    assert loaded is not None
    loaded.read_ahead(["large", "b", "a"])
    assert_same(loaded, SMALL | {"large": np.arange(1_200_000)})
    with pytest.raises(KeyError):
        loaded.read_ahead(["none"])


@pytest.fixture
def any_size_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuegraph.io.trust.SMALL_BYTES", 0)


def flip(path: Path, i: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[i] ^= 4
    path.write_bytes(raw)


def of_array(path: Path) -> int:
    """A byte in the middle of what `SMALL["a"]` takes up."""
    return path.read_bytes().index(SMALL["a"].tobytes()) + 20


@pytest.mark.usefixtures("any_size_trusted")
def test_what_its_writer_has_written_is_checked_later(tmp_path: Path) -> None:
    write(tmp_path, SMALL)
    loaded, notices = load(tmp_path, read_only=True)
    assert_same(loaded, SMALL)
    assert loaded is not None and loaded.check is not None
    assert notices == []
    assert not any(loaded.check)


def test_a_small_one_is_checked_at_once(tmp_path: Path) -> None:
    write(tmp_path, SMALL)
    loaded, _ = load(tmp_path)
    assert loaded is not None and loaded.check is None
    assert names(tmp_path) == [f"{1:020d}.arrow"]


@pytest.mark.usefixtures("any_size_trusted")
def test_a_touched_one_is_checked_at_once_even_with_its_time_put_back(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL)
    before = path.stat()
    time.sleep(0.03)  # a tick of the file system's clock
    flip(path, of_array(path))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    loaded, notices = load(tmp_path)
    assert (loaded, len(notices)) == (None, 1)
    assert "expected array a to match its crc32" in notices[0]


@pytest.mark.usefixtures("any_size_trusted")
def test_a_copy_is_checked_at_once_and_trusted_then(tmp_path: Path) -> None:
    write(tmp_path / "one", SMALL)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    time.sleep(0.03)
    for read_only, at_once in ((True, True), (True, True), (False, True), (True, False)):
        loaded, notices = load(tmp_path / "other", read_only=read_only)
        assert loaded is not None
        assert (loaded.check is None, notices) == (at_once, [])


@pytest.mark.usefixtures("any_size_trusted")
def test_what_has_just_been_changed_is_not_trusted_yet(tmp_path: Path) -> None:
    """A second change within one tick of the clock would look like this one."""
    path = write(tmp_path, SMALL)
    time.sleep(0.03)
    os.utime(path)
    for _ in range(2):
        loaded, _ = load(tmp_path)
        assert loaded is not None and loaded.check is None


@pytest.mark.usefixtures("any_size_trusted")
@pytest.mark.parametrize("read_only", [False, True])
def test_a_bit_that_the_disk_has_lost_is_found_by_the_check(
    tmp_path: Path, read_only: bool
) -> None:
    path = write(tmp_path, SMALL)
    flip(path, of_array(path))
    trust(path, Identity.of(path))  # as if nobody had touched the file
    loaded, notices = load(tmp_path, read_only=read_only)
    assert loaded is not None and loaded.check is not None
    assert notices == []
    found = [notice for notice in loaded.check if notice]
    assert found == [
        f"snapshot passed over: expected array a to match its crc32, got another, at {path}"
    ]
    # Whoever may write sees to it that the next one who opens looks first.
    again, notices = load(tmp_path)
    assert (again is None, bool(notices)) == (not read_only, not read_only)
