"""What the disk must have done before a call may return: the few steps that all files share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import StoreError


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
