"""The vectors of one space: float16 rows in one file, each written once, before it is named.

64 bytes of header, then the rows without gaps. The journal holds each row's number and crc32, so
that the file needs no index and damage is found row by row.
"""

import os
import struct
import threading
import zlib
from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .durable import (
    SMALL_BYTES,
    crc32_in_pieces,
    disk_errors,
    map_once,
    map_scattered,
    sync_directory,
    write_at,
)
from .errors import InputError, StoreError, StoreMismatchError

FILE_NAME = "vectors.f16"
VECTORS_VERSION = 1
HEADER_BYTES = 64

_PROBES = 16

_MAGIC = b"CUEGVEC\0"
_FIELDS = struct.Struct("<8sII44x")  # magic, version, dimension, zeros; then the crc32 of these
_CRC = struct.Struct("<I")


class VectorFile:
    """The vector file at `path`. Many may read while one writes under the journal's lock.

    notice  what was found wrong with the header, or None. The header holds nothing that the
            journal does not know, so it is written anew; `verify` tells which rows are sound.
    """

    def __init__(self, path: Path, dimension: int, *, read_only: bool = False) -> None:
        """Open the file, made where missing unless `read_only`.

        A missing file has no rows: `verify` reports every row that the journal names. Raises
        StoreMismatchError for a newer format or another dimension.
        """
        self.path = path
        self.dimension = dimension
        self._row_bytes = 2 * dimension
        self._lock = threading.Lock()
        self._in_memory = not hasattr(os, "RWF_NOWAIT")
        self._mapped = np.empty((0, dimension), np.uint16)
        missing = not path.exists()
        self._fd = -1
        if missing and read_only:
            self.notice: str | None = f"expected a vector file, got none, at {path}"
            return
        with disk_errors("a vector file that can be opened", path):
            self._fd = os.open(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self.notice = self._check_header()
            if not read_only and (self.notice or self._size() < HEADER_BYTES):
                self._write_header()
        except BaseException:
            self.close()
            raise

    @property
    def rows(self) -> int:
        """The whole rows that the file holds, orphans of a crashed writer included."""
        return max(0, self._size() - HEADER_BYTES) // self._row_bytes

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return self._size()

    def append(self, first_row: int, vectors: npt.NDArray[np.float16]) -> list[int]:
        """The crc32 of each row of `vectors`, once they are safe on disk from `first_row` on.

        vectors  float16 (n, d)

        Whatever lay there is overwritten: the journal's lock holder says which rows are free.
        """
        if vectors.dtype != np.float16 or vectors.shape[1:] != (self.dimension,):
            got = f"{vectors.dtype} {vectors.shape}"
            raise InputError(f"vectors: expected float16 (n, {self.dimension}), got {got}")
        data = np.ascontiguousarray(vectors).view(np.uint16)
        with disk_errors("a vector file that can be written", self.path):
            write_at(self._fd, data.tobytes(), HEADER_BYTES + first_row * self._row_bytes)
            os.fdatasync(self._fd)
        return [zlib.crc32(row) for row in data]

    def repair(self, row: int, vector: npt.NDArray[np.float16]) -> int:
        """The crc32 of `vector`, float16 (d,), once it is safe on disk in place of `row`."""
        return self.append(row, vector[None])[0]

    def view(self, rows: int) -> npt.NDArray[np.uint16]:
        """The first `rows` rows as the bits of their float16, uint16 (rows, d), read-only.

        The array is the file itself, mapped. Earlier views stay valid. StoreError where the file
        holds fewer rows.
        """
        with self._lock:
            if rows > len(self._mapped):
                self._mapped = self._map(rows)
            return self._mapped[:rows]

    def verify(self, rows: Iterable[int], crcs: Iterable[int]) -> list[int]:
        """Those of `rows` that are missing or do not match their crc32, in order."""
        held = self.rows
        data = self.view(held)
        return [
            row
            for row, crc in zip(rows, crcs, strict=True)
            if row >= held or zlib.crc32(data[row]) != crc
        ]

    def crc32(self, rows: int) -> Generator[None, None, int]:
        """Return the crc32 over the first `rows` rows; yields every ms or so."""
        if not rows:
            return 0
        with disk_errors("a vector file that can be mapped", self.path):
            once = map_once(self._fd)
        stop = HEADER_BYTES + rows * self._row_bytes
        return (yield from crc32_in_pieces(once, HEADER_BYTES, stop))

    def on_disk(self) -> bool:
        """Whether many rows are likely to be on the disk alone, by a look at a few of them.

        Costs some us until all of those are in memory; from then on they count as staying there.
        """
        size = self._size()
        if not self._in_memory and size > SMALL_BYTES:
            step = size // _PROBES
            if any(self._is_missing(offset) for offset in range(step // 2, size, step)):
                return True
            self._in_memory = True
        return False

    def _is_missing(self, offset: int) -> bool:
        """Whether a byte would have to be read from the disk; no where the system cannot tell."""
        try:
            os.preadv(self._fd, [bytearray(1)], offset, os.RWF_NOWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the file; views stay valid. A second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _size(self) -> int:
        return os.fstat(self._fd).st_size if self._fd >= 0 else 0

    def _map(self, rows: int) -> npt.NDArray[np.uint16]:
        held = self.rows
        if rows > held:
            raise StoreError(f"expected {rows} vectors, got {held}, at {self.path}")
        with disk_errors("a vector file that can be mapped", self.path):
            mapped = map_scattered(self._fd)
        data = np.frombuffer(mapped, np.uint16, held * self.dimension, HEADER_BYTES)
        return data.reshape(held, self.dimension)

    def _write_header(self) -> None:
        fields = _FIELDS.pack(_MAGIC, VECTORS_VERSION, self.dimension)
        with disk_errors("a vector file that can be written", self.path):
            write_at(self._fd, fields + _CRC.pack(zlib.crc32(fields)), 0)
            os.fsync(self._fd)
            sync_directory(self.path.parent)

    def _check_header(self) -> str | None:
        """What is wrong with the header; None for a sound one and for a file just made."""
        with disk_errors("a vector file that can be read", self.path):
            header = os.pread(self._fd, HEADER_BYTES, 0)
        if not header:
            return None
        fields, crc = header[: _FIELDS.size], header[_FIELDS.size :]
        if crc != _CRC.pack(zlib.crc32(fields)) or not fields.startswith(_MAGIC):
            return f"expected a sound header, got a damaged one, at {self.path}"
        _, version, dimension = _FIELDS.unpack(fields)
        ours, theirs = (VECTORS_VERSION, self.dimension), (version, dimension)
        if theirs != ours:
            expected = f"version {ours[0]} and dimension {ours[1]}"
            got = f"version {theirs[0]} and dimension {theirs[1]}"
            raise StoreMismatchError(f"expected {expected}, got {got}, at {self.path}")
        return None
