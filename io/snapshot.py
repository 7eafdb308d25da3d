"""Snapshots: named arrays in one Arrow file each, derived from the journal, mapped on open.

A file holds one record batch of one row; each array is one large_list cell of it, so that arrays
of different lengths share a file and come back without a copy. A header in the schema's metadata
names every array with its dtype, length and crc32, and carries a crc32 of itself: whatever does
not match is reported and passed over, since a snapshot can always be made anew.
"""

import fcntl
import mmap
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .durable import disk_errors, make_directory, sync_directory
from .errors import InputError

SNAPSHOT_VERSION = 1
FOLDER = "snapshot"

_KEPT = 2  # the newest, and one to fall back on where it is damaged
_NAME = re.compile(r"\d{20}\.arrow")
_KINDS = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
_HEADER, _HEADER_CRC = b"cuegraph", b"cuegraph_crc32"


class Loaded(msgspec.Struct, frozen=True, eq=False):
    """A snapshot that was found sound.

    seq     the journal position that it stands for
    stamp   what its writer said about it
    arrays  1-d, read-only, mapped from the file at `path`
    """

    path: Path
    seq: int
    stamp: dict[str, str]
    arrays: dict[str, npt.NDArray[Any]]


class _Array(msgspec.Struct, frozen=True, array_like=True):
    name: str
    dtype: str
    length: int
    crc: int


class _Header(msgspec.Struct, frozen=True):
    version: int
    seq: int
    space: str
    stamp: dict[str, str]
    arrays: list[_Array]


class _Unusable(Exception):
    """Why a file is passed over; becomes a notice."""


def write_snapshot(
    directory: Path,
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    seq: int,
    space: str,
    stamp: Mapping[str, str],
) -> Path:
    """The path of a new snapshot below the space's `directory`, once it is safe on disk.

    arrays  1-d, of any integer or float dtype; InputError for others
    seq     the journal position that the arrays stand for
    space   the journal's random name
    stamp   whatever else a reader must agree with, as versions and the embedder

    Readers see the whole file or none. The two newest are kept; leftovers of crashed writers go.
    """
    batch = _batch({n: _native(n, a) for n, a in arrays.items()}, seq, space, dict(stamp))
    folder = directory / FOLDER
    make_directory(folder)
    with disk_errors("a snapshot folder that can be written", folder), _publishing(folder):
        path = folder / f"{seq:020d}.arrow"
        _write_file(path, batch)
        _remove_all_but_newest(folder, path)
        return path


def newest_snapshot(
    directory: Path, *, space: str, max_seq: int, expected_stamp: Mapping[str, str]
) -> tuple[Loaded | None, list[str]]:
    """The newest sound snapshot, or None, and a notice for each file that was passed over.

    expected_stamp  what its stamp must say; whatever else it says is for the caller to read

    Passed over: damaged files, those of another space or stamp, those beyond `max_seq`, the
    journal's last position. No snapshot at all is no notice.
    """
    notices: list[str] = []
    for path in _newest_first(directory / FOLDER):
        try:
            loaded = _load(path, space, max_seq, dict(expected_stamp))
        except FileNotFoundError:
            # A writer has just replaced it by a newer one: look again.
            return newest_snapshot(
                directory, space=space, max_seq=max_seq, expected_stamp=expected_stamp
            )
        except _Unusable as reason:
            notices.append(f"snapshot passed over: {reason}, at {path}")
        # What Arrow says of a damaged file spans its own errors and Python's.
        except (pa.ArrowException, OSError, ValueError, KeyError, msgspec.MsgspecError) as exc:
            notices.append(f"snapshot passed over: expected a sound file, got '{exc}', at {path}")
        else:
            return loaded, notices
    return None, notices


def _native(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in the machine's byte order, without gaps; InputError for what cannot be kept."""
    if array.ndim != 1 or array.dtype.str[1:] not in _KINDS:
        got = f"{array.dtype} of {array.ndim} dimensions"
        raise InputError(f"array {name}: expected 1-d of an integer or float dtype, got {got}")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _batch(
    arrays: Mapping[str, npt.NDArray[Any]], seq: int, space: str, stamp: dict[str, str]
) -> pa.RecordBatch:
    described = [_Array(n, a.dtype.str, len(a), zlib.crc32(a.data)) for n, a in arrays.items()]
    header = msgspec.json.encode(_Header(SNAPSHOT_VERSION, seq, space, stamp, described))
    columns = [_column(array) for array in arrays.values()]
    fields = [pa.field(n, c.type) for n, c in zip(arrays, columns, strict=True)]
    metadata = {_HEADER: header, _HEADER_CRC: str(zlib.crc32(header)).encode()}
    return pa.record_batch(columns, schema=pa.schema(fields, metadata))


def _column(array: npt.NDArray[Any]) -> pa.Array:
    """One large_list cell that holds the array, without a copy."""
    buffers = [None, pa.py_buffer(array)]
    values = pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), buffers)
    return pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), values)


@contextmanager
def _publishing(folder: Path) -> Iterator[None]:
    """Let one writer at a time publish; the lock goes with its process, however that ends."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _write_file(path: Path, batch: pa.RecordBatch) -> None:
    for leftover in path.parent.glob("*.tmp"):
        leftover.unlink()  # of a crashed writer: a living one would hold the lock
    temporary = path.with_name(f"{path.stem}.tmp")
    try:
        with temporary.open("xb") as file:
            with pa.ipc.new_file(file, batch.schema) as writer:
                writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _newest_first(folder: Path) -> list[Path]:
    files = [p for p in folder.glob("*.arrow") if _NAME.fullmatch(p.name) and p.is_file()]
    return sorted(files, key=lambda path: path.name, reverse=True)


def _remove_all_but_newest(folder: Path, written: Path) -> None:
    """Keep `written` in any case: a higher seq may be of a journal since put back in time."""
    for path in _newest_first(folder)[_KEPT:]:
        if path != written:
            path.unlink()


def _load(path: Path, space: str, max_seq: int, stamp: dict[str, str]) -> Loaded:
    batch = _mapped_batch(path)
    header = _read_header(batch.schema)
    for what, expected, got in (
        ("version", SNAPSHOT_VERSION, header.version),
        ("space", space, header.space),
        ("stamp", stamp, {name: header.stamp.get(name) for name in stamp}),
        ("seq as in the name", int(path.stem), header.seq),
    ):
        if got != expected:
            raise _Unusable(f"expected {what} {expected}, got {got}")
    if header.seq > max_seq:
        raise _Unusable(f"expected seq {max_seq} at most, got {header.seq}")
    if batch.num_columns != len(header.arrays):
        raise _Unusable(f"expected {len(header.arrays)} arrays, got {batch.num_columns}")
    arrays = {a.name: _read_array(batch, i, a) for i, a in enumerate(header.arrays)}
    return Loaded(path, header.seq, header.stamp, arrays)


def _mapped_batch(path: Path) -> pa.RecordBatch:
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    reader = pa.ipc.open_file(pa.py_buffer(mapped))
    if reader.num_record_batches != 1:
        raise _Unusable(f"expected 1 record batch, got {reader.num_record_batches}")
    batch = reader.get_batch(0)
    batch.validate(full=True)  # offsets within buffers: before anything follows them
    return batch


def _read_header(schema: pa.Schema) -> _Header:
    metadata = schema.metadata or {}
    header = metadata[_HEADER]
    if metadata[_HEADER_CRC] != str(zlib.crc32(header)).encode():
        raise _Unusable("expected a header that matches its crc32, got another")
    return msgspec.json.decode(header, type=_Header)


def _read_array(batch: pa.RecordBatch, i: int, expected: _Array) -> npt.NDArray[Any]:
    cells = batch.column(i)
    if cells.type != pa.large_list(pa.from_numpy_dtype(np.dtype(expected.dtype))):
        raise _Unusable(f"expected array {expected.name} of {expected.dtype}, got {cells.type}")
    array: npt.NDArray[Any] = cells.flatten().to_numpy(zero_copy_only=True)
    if len(array) != expected.length:
        raise _Unusable(f"expected {expected.length} in {expected.name}, got {len(array)}")
    if zlib.crc32(array.data) != expected.crc:
        raise _Unusable(f"expected array {expected.name} to match its crc32, got another")
    return array
