"""Trust: a file that was found sound is taken to be sound until it changes.

What it was then stands beside it: inode, size, and the times of its last change, of which nobody
can put back `ctime`. So a writer that was killed, a disk that was full, a copy and an edit are all
seen, at the price of one stat. A bit that flips on the disk by itself is not: for that the bytes
have to be read, which can wait until after the opening.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from .durable import SMALL_BYTES

_RECORD = "checked.json"
_TICK_NS = 20_000_000  # `ctime` may lag behind the clock by a tick of the system, 10 ms at most


class Identity(msgspec.Struct, frozen=True):
    """Which file it is and when it was changed last; equal where nobody has touched it since."""

    name: str
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, path: Path, fd: int | None = None) -> Self:
        """Identity of the file at `path`, or of the one that `fd` was opened for there."""
        found = os.stat(path if fd is None else fd)
        return cls(path.name, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def settled(self) -> bool:
        """Whether a further change would show: two within a tick of the system look like one."""
        return time.time_ns() > self.ctime_ns + _TICK_NS


def trusted(path: Path, identity: Identity) -> bool:
    """Whether the file was found sound when it was just this one; never a small one."""
    if identity.size <= SMALL_BYTES:
        return False
    try:
        record = msgspec.json.decode((path.parent / _RECORD).read_bytes(), type=Identity)
    except (OSError, msgspec.MsgspecError):
        return False
    return record == identity


def trust(path: Path, identity: Identity) -> None:
    """Record that the file at `path` was found sound; in place of what was recorded before."""
    if identity.size <= SMALL_BYTES:
        return
    # Where this fails, the next opening reads the file again: nothing depends on it.
    with suppress(OSError):
        temporary = path.parent / f"{os.getpid()}-{time.monotonic_ns()}.tmp"
        temporary.write_bytes(msgspec.json.encode(identity))
        temporary.replace(path.parent / _RECORD)


def distrust(path: Path) -> None:
    """Forget what was recorded of the files beside `path`."""
    with suppress(OSError):
        (path.parent / _RECORD).unlink(missing_ok=True)
