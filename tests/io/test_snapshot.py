"""Snapshots: what comes back, what is passed over, and what is left on disk."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.io import InputError, StoreError
from cuegraph.io.snapshot import Loaded, newest_snapshot, write_snapshot

STAMP = {"embedder": "e"}
DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()

Arrays = dict[str, npt.NDArray[Any]]


def some_arrays(seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays: Arrays = {
        name: rng.integers(0, 100, size).astype(name) for size, name in enumerate(DTYPES)
    }
    return arrays | {"nan": np.array([np.nan, -0.0, np.inf], np.float32)}


def write(directory: Path, arrays: Arrays, seq: int = 1, space: str = "s") -> Path:
    return write_snapshot(directory, arrays, seq=seq, space=space, stamp=STAMP)


def load(directory: Path, max_seq: int = 100) -> tuple[Loaded | None, list[str]]:
    return newest_snapshot(directory, space="s", max_seq=max_seq, expected_stamp=STAMP)


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


def test_the_two_newest_are_kept_and_leftovers_go(tmp_path: Path) -> None:
    for seq in (1, 2, 30):
        write(tmp_path, some_arrays(seq), seq)
        (tmp_path / "snapshot" / "00000000000000000009.tmp").touch()
    write(tmp_path, some_arrays(4), 40)
    names = sorted(path.name for path in (tmp_path / "snapshot").iterdir())
    assert names == [f"{seq:020d}.arrow" for seq in (30, 40)]


def test_the_one_just_written_is_kept_below_higher_ones(tmp_path: Path) -> None:
    for seq in (50, 60, 7):
        write(tmp_path, some_arrays(seq), seq)
    loaded, notices = load(tmp_path, max_seq=10)
    assert_same(loaded, some_arrays(7))
    assert len(notices) == 2
    assert "expected seq 10 at most, got 60" in notices[0]


def test_a_snapshot_can_be_written_over_while_it_is_mapped(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(1))
    before, _ = load(tmp_path)
    write(tmp_path, some_arrays(2))
    after, _ = load(tmp_path)
    assert_same(before, some_arrays(1))
    assert_same(after, some_arrays(2))


def test_others_are_passed_over_with_a_notice(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(), 1)
    write(tmp_path, some_arrays(), 2, space="other")
    loaded, notices = load(tmp_path)
    assert loaded is not None
    assert loaded.seq == 1
    assert len(notices) == 1
    assert "expected space s, got other" in notices[0]
    stamped = {"embedder": "f"}
    none, notices = newest_snapshot(tmp_path, space="s", max_seq=9, expected_stamp=stamped)
    assert none is None
    assert len(notices) == 2
    assert "expected stamp {'embedder': 'f'}, got {'embedder': 'e'}" in notices[1]


def test_a_renamed_file_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, some_arrays(), 1)
    path.rename(path.with_name(f"{2:020d}.arrow"))
    loaded, notices = load(tmp_path)
    assert loaded is None
    assert "expected seq as in the name 2, got 1" in notices[0]


def test_a_damaged_one_gives_way_to_the_older(tmp_path: Path) -> None:
    write(tmp_path, some_arrays(1), 1)
    write(tmp_path, some_arrays(2), 2).write_bytes(b"")
    loaded, notices = load(tmp_path)
    assert_same(loaded, some_arrays(1))
    assert len(notices) == 1


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
            write(tmp_path, some_arrays(seq), seq)

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
    assert len(list((tmp_path / "snapshot").iterdir())) == 2
