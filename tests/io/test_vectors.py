"""The vector file: rows on disk, checksums, damage and repair."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.io import InputError, StoreError, StoreMismatchError, VectorFile

DIMENSION = 4
ROW_BYTES = 2 * DIMENSION


def vectors(first: int, n: int) -> npt.NDArray[np.float16]:
    return np.arange(first * DIMENSION, (first + n) * DIMENSION, dtype=np.float16).reshape(n, -1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.f16"


def test_the_bytes_on_disk(path: Path) -> None:
    crcs = VectorFile(path, DIMENSION).append(0, vectors(0, 3))
    fields = struct.pack("<8sII44x", b"CUEGVEC\0", 1, DIMENSION)
    header = fields + struct.pack("<I", zlib.crc32(fields))
    assert path.read_bytes() == header + vectors(0, 3).tobytes()
    assert len(header) == 64
    assert crcs == [zlib.crc32(row.tobytes()) for row in vectors(0, 3)]


def test_view_is_read_only_and_earlier_views_stay_valid(path: Path) -> None:
    file = VectorFile(path, DIMENSION)
    assert file.view(0).shape == (0, DIMENSION)
    file.append(0, vectors(0, 2))
    early = file.view(2)
    file.append(2, vectors(2, 3))
    late = file.view(5)
    file.close()
    file.close()
    assert late.dtype == np.uint16
    assert not late.flags.writeable
    np.testing.assert_array_equal(early.view(np.float16), vectors(0, 2))
    np.testing.assert_array_equal(late.view(np.float16), vectors(0, 5))


def test_a_view_within_the_mapping_is_not_mapped_again(path: Path) -> None:
    file = VectorFile(path, DIMENSION)
    file.append(0, vectors(0, 5))
    assert np.shares_memory(file.view(5), file.view(2))


def test_an_orphan_tail_is_overwritten(path: Path) -> None:
    file = VectorFile(path, DIMENSION)
    file.append(0, vectors(0, 1))
    file.append(1, vectors(90, 4))  # its writer crashed: no journal row names these
    crcs = file.append(1, vectors(1, 2))
    np.testing.assert_array_equal(file.view(3).view(np.float16), vectors(0, 3))
    assert file.verify([1, 2], crcs) == []


def test_reopened_file_goes_on(path: Path) -> None:
    VectorFile(path, DIMENSION).append(0, vectors(0, 2))
    again = VectorFile(path, DIMENSION)
    assert (again.rows, again.notice) == (2, None)
    assert again.path.stat().st_size == 64 + 2 * ROW_BYTES


@pytest.mark.parametrize("lost", range(1, 3 * ROW_BYTES + 1))
def test_truncated_rows_are_reported(path: Path, lost: int) -> None:
    crcs = VectorFile(path, DIMENSION).append(0, vectors(0, 3))
    path.write_bytes(path.read_bytes()[:-lost])
    file = VectorFile(path, DIMENSION)
    whole = 3 - -(-lost // ROW_BYTES)
    assert file.verify(range(3), crcs) == list(range(whole, 3))
    with pytest.raises(StoreError, match=f"expected 3 vectors, got {whole}, at "):
        file.view(3)


def test_flipped_bits_are_found_and_repaired(path: Path) -> None:
    crcs = VectorFile(path, DIMENSION).append(0, vectors(0, 3))
    raw = path.read_bytes()
    for i in range(64, len(raw)):
        path.write_bytes(raw[:i] + bytes([raw[i] ^ 1]) + raw[i + 1 :])
        file = VectorFile(path, DIMENSION)
        row = (i - 64) // ROW_BYTES
        assert file.verify(range(3), crcs) == [row]
        assert file.repair(row, vectors(row, 1)[0]) == crcs[row]
        assert path.read_bytes() == raw
        file.close()


def whole_crc(file: VectorFile, rows: int) -> int:
    pieces = file.crc32(rows)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return int(end.value)


def test_the_crc_of_the_first_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuegraph.io.durable._PIECE_BYTES", 3000)
    file = VectorFile(path, DIMENSION)
    assert whole_crc(file, 0) == 0
    data = vectors(0, 2000)  # several pieces, whose ends are no ends of pages
    file.append(0, data)
    for rows in (0, 1, 374, 375, 376, 2000):
        assert whole_crc(file, rows) == zlib.crc32(data[:rows].tobytes())
    assert whole_crc(VectorFile(path.with_name("none"), DIMENSION, read_only=True), 0) == 0


def test_whether_the_rows_are_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = VectorFile(path, DIMENSION)
    assert not file.on_disk()
    monkeypatch.setattr("cuegraph.io.vectors.SMALL_BYTES", 0)
    file.append(0, np.zeros((1 << 18, DIMENSION), np.float16))
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    dropped = file.on_disk()
    if not dropped:
        pytest.skip("the file system keeps what it was told to drop")
    os.pread(fd, 1 << 22, 0)
    os.close(fd)
    assert not file.on_disk()
    file.close()
    assert not file.on_disk()


def test_a_lost_file_is_all_damage_and_can_be_refilled(path: Path) -> None:
    crcs = VectorFile(path, DIMENSION).append(0, vectors(0, 3))
    path.unlink()
    file = VectorFile(path, DIMENSION)
    assert file.verify(range(3), crcs) == [0, 1, 2]
    file.append(3, vectors(3, 1))  # a write before the repair leaves a gap, which is damage too
    assert file.verify(range(3), crcs) == [0, 1, 2]
    for row in range(3):
        file.repair(row, vectors(row, 1)[0])
    assert file.verify(range(3), crcs) == []


def test_read_only_makes_nothing(path: Path) -> None:
    file = VectorFile(path, DIMENSION, read_only=True)
    assert not path.exists()
    assert file.notice is not None
    assert file.verify([0], [1]) == [0]
    VectorFile(path, DIMENSION).append(0, vectors(0, 1))
    reader = VectorFile(path, DIMENSION, read_only=True)
    np.testing.assert_array_equal(reader.view(1).view(np.float16), vectors(0, 1))
    with pytest.raises(StoreError, match="expected a vector file that can be written"):
        reader.append(1, vectors(1, 1))


@pytest.mark.parametrize("i", range(64))
def test_a_damaged_header_is_noticed_and_written_anew(path: Path, i: int) -> None:
    crcs = VectorFile(path, DIMENSION).append(0, vectors(0, 2))
    raw = path.read_bytes()
    path.write_bytes(raw[:i] + bytes([raw[i] ^ 0x10]) + raw[i + 1 :])
    file = VectorFile(path, DIMENSION)
    assert file.notice is not None
    assert file.verify([0, 1], crcs) == []
    assert path.read_bytes() == raw


@pytest.mark.parametrize(("version", "dimension"), [(2, DIMENSION), (1, 8)])
def test_another_version_or_dimension(path: Path, version: int, dimension: int) -> None:
    fields = struct.pack("<8sII44x", b"CUEGVEC\0", version, dimension)
    path.write_bytes(fields + struct.pack("<I", zlib.crc32(fields)))
    with pytest.raises(StoreMismatchError) as error:
        VectorFile(path, DIMENSION)
    assert "expected version 1 and dimension 4" in str(error.value)
    assert f"got version {version} and dimension {dimension}" in str(error.value)


def test_what_cannot_be_kept(path: Path) -> None:
    file = VectorFile(path, DIMENSION)
    for array in (vectors(0, 1).astype(np.float32), vectors(0, 1)[0], vectors(0, 1)[:, :2]):
        with pytest.raises(InputError, match=r"^vectors: expected float16 \(n, 4\), got "):
            file.append(0, array)  # type: ignore[arg-type]


def test_a_path_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for bad in (tmp_path, tmp_path / "file" / "vectors.f16", tmp_path / "no" / "vectors.f16"):
        with pytest.raises(StoreError, match="expected a vector file that can be opened"):
            VectorFile(bad, DIMENSION)


def test_strided_input_is_kept_in_order(path: Path) -> None:
    file = VectorFile(path, DIMENSION)
    file.append(0, vectors(0, 6)[::2])
    np.testing.assert_array_equal(file.view(3).view(np.float16), vectors(0, 6)[::2])
