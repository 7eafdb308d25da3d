"""Named arrays as one Arrow record batch of one row, with a header that tells of each of them.

Each array is one large_list cell, so that arrays of different lengths share a file and come back
without a copy. The header lies in the schema's metadata: it names every array with its dtype,
length and crc32, and carries a crc32 of itself.
"""

import mmap
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .errors import InputError

Array = npt.NDArray[Any]

_KINDS = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
_HEADER, _HEADER_CRC = b"cuegraph", b"cuegraph_crc32"


class Unusable(Exception):
    """Why a file is passed over; becomes a notice."""


class Described(msgspec.Struct, frozen=True, array_like=True):
    """What the header says of one array."""

    name: str
    dtype: str
    length: int
    crc: int

    @property
    def nbytes(self) -> int:
        """Bytes that it takes in the file."""
        return self.length * np.dtype(self.dtype).itemsize


class Header(msgspec.Struct, frozen=True):
    """Whose arrays they are; see `snapshot`."""

    version: int
    seq: int
    space: str
    stamp: dict[str, str]
    arrays: list[Described]


def packed(
    arrays: Mapping[str, Array], version: int, seq: int, space: str, stamp: Mapping[str, str]
) -> pa.RecordBatch:
    """The batch that holds the arrays, 1-d of any integer or float dtype; InputError for others."""
    arrays = {name: _native(name, array) for name, array in arrays.items()}
    described = [Described(n, a.dtype.str, len(a), zlib.crc32(a.data)) for n, a in arrays.items()]
    header = msgspec.json.encode(Header(version, seq, space, dict(stamp), described))
    columns = [_column(array) for array in arrays.values()]
    fields = [pa.field(n, c.type) for n, c in zip(arrays, columns, strict=True)]
    metadata = {_HEADER: header, _HEADER_CRC: str(zlib.crc32(header)).encode()}
    return pa.record_batch(columns, schema=pa.schema(fields, metadata))


def write(batch: pa.RecordBatch, file: BinaryIO) -> None:
    """Write an Arrow file."""
    with pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def read(mapped: mmap.mmap) -> tuple[Header, dict[str, Array]]:
    """The header and, by name, the arrays of a mapped file, whose bytes were not looked at yet.

    Raises Unusable for what is not as written, as far as that shows without reading the arrays.
    """
    try:
        batch = _only_batch(mapped)
        header = _header(batch.schema)
        if batch.num_columns != len(header.arrays):
            raise Unusable(f"expected {len(header.arrays)} arrays, got {batch.num_columns}")
        return header, {a.name: _array(batch.column(i), a) for i, a in enumerate(header.arrays)}
    # What Arrow says of a damaged file spans its own errors and Python's.
    except (pa.ArrowException, OSError, ValueError, KeyError, msgspec.MsgspecError) as exc:
        raise Unusable(f"expected a sound file, got '{exc}'") from exc


def _native(name: str, array: Array) -> Array:
    """The array in the machine's byte order, without gaps; InputError for what cannot be kept."""
    if array.ndim != 1 or array.dtype.str[1:] not in _KINDS:
        got = f"{array.dtype} of {array.ndim} dimensions"
        raise InputError(f"array {name}: expected 1-d of an integer or float dtype, got {got}")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _column(array: Array) -> pa.Array:
    """One large_list cell that holds the array, without a copy."""
    buffers = [None, pa.py_buffer(array)]
    values = pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), buffers)
    return pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), values)


def _only_batch(mapped: mmap.mmap) -> pa.RecordBatch:
    reader = pa.ipc.open_file(pa.py_buffer(mapped))
    if reader.num_record_batches != 1:
        raise Unusable(f"expected 1 record batch, got {reader.num_record_batches}")
    batch = reader.get_batch(0)
    batch.validate(full=True)  # lengths within buffers: before anything follows them
    return batch


def _header(schema: pa.Schema) -> Header:
    metadata = schema.metadata or {}
    header = metadata[_HEADER]
    if metadata[_HEADER_CRC] != str(zlib.crc32(header)).encode():
        raise Unusable("expected a header that matches its crc32, got another")
    return msgspec.json.decode(header, type=Header)


def _array(cells: pa.Array, expected: Described) -> Array:
    if cells.type != pa.large_list(pa.from_numpy_dtype(np.dtype(expected.dtype))):
        raise Unusable(f"expected array {expected.name} of {expected.dtype}, got {cells.type}")
    array: Array = cells.values.to_numpy(zero_copy_only=True)
    if len(array) != expected.length:
        raise Unusable(f"expected {expected.length} in {expected.name}, got {len(array)}")
    return array
