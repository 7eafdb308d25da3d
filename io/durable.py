"""The few steps that all files share: safe on disk before a call returns, and read for checks."""

import mmap
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import StoreError

SMALL_BYTES = 8 << 20
"""Files up to this size are read whole, in some ms, where others are read in parts or later."""

_PIECE_BYTES = 4 << 20
_AHEAD_BYTES = 1 << 20  # the system may read no more at a time, and forget the rest


@contextmanager
def disk_errors(expected: str, path: Path) -> Iterator[None]:
    """Turn every OSError of the block into a StoreError that says what was expected of `path`."""
    try:
        yield
    except OSError as exc:
        raise StoreError(f"expected {expected}, got '{exc.strerror or exc}', at {path}") from exc


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` survive a power failure; a file's own sync does not."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(directory: Path) -> None:
    """Create `directory` and its missing parents, each synced into the one above it."""
    with disk_errors("a folder that exists or can be made", directory):
        missing = [d for d in (directory, *directory.parents) if not d.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        for made in missing:
            sync_directory(made.parent)


def write_at(fd: int, data: bytes, offset: int) -> None:
    """Write all of `data` at byte `offset`; one pwrite may stop short of it."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, offset)
        rest, offset = rest[written:], offset + written


def map_scattered(fd: int) -> mmap.mmap:
    """A read-only mapping of a whole file of which some bytes here and there will be read.

    The system would read some hundred kB around each of them, or even MB, where it may read ahead.
    """
    mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    if len(mapped) > SMALL_BYTES:
        mapped.madvise(mmap.MADV_RANDOM)
    return mapped


def read_ahead(mapped: mmap.mmap, start: int, stop: int) -> None:
    """Have the system begin to read the bytes [start, stop), and do not wait for it."""
    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    for low in range(first, stop, _AHEAD_BYTES):
        mapped.madvise(mmap.MADV_WILLNEED, low, min(_AHEAD_BYTES, stop - low))


def map_once(fd: int) -> mmap.mmap:
    """A read-only mapping of a whole file that will be read from its start to its end."""
    mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    mapped.madvise(mmap.MADV_SEQUENTIAL)
    return mapped


def crc32_in_pieces(mapped: mmap.mmap, start: int, stop: int) -> Generator[None, None, int]:
    """Return the crc32 of the bytes [start, stop); yields between pieces of a ms or so.

    Pages are let go of as soon as they are read: the process does not grow by them.
    """
    crc, data = 0, memoryview(mapped)
    for low in range(start, stop, _PIECE_BYTES):
        high = min(low + _PIECE_BYTES, stop)
        crc = zlib.crc32(data[low:high], crc)
        page = low // mmap.PAGESIZE * mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, page, high - page)
        yield
    return crc
