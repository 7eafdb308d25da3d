"""The snapshot: all that is derived from the journal, as one file that is mapped on open.

Whatever does not match its checksums, or is of another space or stamp, is reported and passed over,
since a snapshot can always be made anew.

Kernels follow the numbers in these arrays without a look at their bounds. So arrays are handed out
only where all their bytes were found to match: either now, or when the file was written or last
read whole, and has not been touched since (see `trust`). What was only trusted comes with a check
of the bytes that is still to be made: a bit that the disk itself has lost shows no earlier.
"""

import fcntl
import mmap
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from . import arrays as named
from .arrays import Array, Described, Header, Unusable
from .durable import (
    crc32_in_pieces,
    disk_errors,
    make_directory,
    map_once,
    map_scattered,
    read_ahead,
    sync_directory,
)
from .trust import Identity, distrust, trust, trusted

SNAPSHOT_VERSION = 1
FOLDER = "snapshot"

#: Made piece by piece, some ms each: gives None after a piece, and in the end what is wrong, if
#: anything is.
Check = Iterator[str | None]

_NAME = re.compile(r"\d{20}\.arrow")


class Loaded(msgspec.Struct, frozen=True, eq=False):
    """A snapshot that was found sound.

    seq     the journal position that it stands for
    stamp   what its writer said about it
    arrays  1-d, read-only, mapped from the file at `path`
    check   compares all arrays with their crc32 and gives a notice where one does not match; None
            where that has just been done
    starts  where in `mapped`, the file, each array begins
    """

    path: Path
    seq: int
    stamp: dict[str, str]
    arrays: dict[str, Array]
    check: Check | None
    mapped: mmap.mmap
    starts: dict[str, int]

    def read_ahead(self, names: Iterable[str]) -> None:
        """Have the system begin to read some arrays, of which many parts will be needed soon.

        What else is needed of a large file is read page by page, and waited for.
        """
        for name in names:
            start = self.starts[name]
            read_ahead(self.mapped, start, start + self.arrays[name].nbytes)


class _Ours(NamedTuple):
    """What a header must say."""

    space: str
    max_seq: int
    stamp: dict[str, str]


def write_snapshot(
    directory: Path,
    arrays: Mapping[str, Array],
    *,
    seq: int,
    max_seq: int,
    space: str,
    stamp: Mapping[str, str],
) -> Path:
    """The path of a new snapshot below the space's `directory`, once it is safe on disk.

    arrays   1-d, of any integer or float dtype; InputError for others
    seq      the journal position that the arrays stand for
    max_seq  the journal's last position
    space    the journal's random name
    stamp    whatever else a reader must agree with, as versions and the embedder

    Readers see the whole file or none. It is trusted from now on, and takes the place of the one
    before; one that another process has written since then stays. Leftovers of crashed writers go.
    """
    batch = named.packed(arrays, SNAPSHOT_VERSION, seq, space, stamp)
    folder = directory / FOLDER
    make_directory(folder)
    with disk_errors("a snapshot folder that can be written", folder), _publishing(folder):
        path = folder / f"{seq:020d}.arrow"
        _write_file(path, batch)
        trust(path, Identity.of(path))
        _remove_others(path, range(seq, max_seq + 1))
        return path


def newest_snapshot(
    directory: Path,
    *,
    space: str,
    max_seq: int,
    expected_stamp: Mapping[str, str],
    read_only: bool = False,
) -> tuple[Loaded | None, list[str]]:
    """The newest sound snapshot, or None, and a notice for each file that was passed over.

    expected_stamp  what its stamp must say; whatever else it says is for the caller to read
    read_only       do not record that a file was found sound

    Passed over: damaged files, those of another space or stamp, those beyond `max_seq`, the
    journal's last position. No snapshot at all is no notice.
    """
    return _newest(directory, _Ours(space, max_seq, dict(expected_stamp)), read_only)


@contextmanager
def _publishing(folder: Path, lock: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Let one writer at a time publish; the lock goes with its process, however that ends.

    With fcntl.LOCK_SH, wait until nobody does.
    """
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, lock)
        yield
    finally:
        os.close(fd)


def _write_file(path: Path, batch: Any) -> None:
    for leftover in path.parent.glob("*.tmp"):
        leftover.unlink()  # of a crashed writer: a living one would hold the lock
    temporary = path.with_name(f"{path.stem}.tmp")
    try:
        with temporary.open("xb") as file:
            named.write(batch, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_others(written: Path, kept: range) -> None:
    """Older snapshots, and those beyond the journal's end: it was put back in time since."""
    for path in _newest_first(written.parent):
        if int(path.stem) not in kept:
            path.unlink()


def _newest_first(folder: Path) -> list[Path]:
    files = _files(folder)
    if not files and folder.is_dir():
        # A writer may have put the one file in place of another while they were listed.
        with _publishing(folder, fcntl.LOCK_SH):
            files = _files(folder)
    return sorted(files, key=lambda path: path.name, reverse=True)


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.glob("*.arrow") if _NAME.fullmatch(p.name) and p.is_file()]


def _newest(directory: Path, ours: _Ours, read_only: bool) -> tuple[Loaded | None, list[str]]:
    notices: list[str] = []
    for path in _newest_first(directory / FOLDER):
        try:
            return _load(path, ours, read_only), notices
        except FileNotFoundError:
            # A writer has just replaced it by a newer one: look again.
            return _newest(directory, ours, read_only)
        except Unusable as reason:
            notices.append(_passed_over(path, str(reason)))
        except (OSError, ValueError) as exc:  # what cannot be opened or mapped
            notices.append(_passed_over(path, f"expected a sound file, got '{exc}'"))
    return None, notices


def _load(path: Path, ours: _Ours, read_only: bool) -> Loaded:
    with path.open("rb") as file:
        identity = Identity.of(path, file.fileno())
        settled = identity.settled()  # before anything is read
        mapped = map_scattered(file.fileno())
        once = map_once(file.fileno())
    header, arrays = named.read(mapped)
    _expect(header, path, ours)
    starts = _starts(arrays, mapped)
    check = _check(once, header.arrays, starts)
    later: Check | None = None
    if trusted(path, identity):
        later = _made_later(check, path, read_only)
    elif fault := next(filter(None, check), None):
        raise Unusable(fault)
    elif settled and not read_only:
        trust(path, identity)
    return Loaded(path, header.seq, header.stamp, arrays, later, mapped, starts)


def _expect(header: Header, path: Path, ours: _Ours) -> None:
    for what, expected, got in (
        ("version", SNAPSHOT_VERSION, header.version),
        ("space", ours.space, header.space),
        ("stamp", ours.stamp, {name: header.stamp.get(name) for name in ours.stamp}),
        ("seq as in the name", int(path.stem), header.seq),
    ):
        if got != expected:
            raise Unusable(f"expected {what} {expected}, got {got}")
    if header.seq > ours.max_seq:
        raise Unusable(f"expected seq {ours.max_seq} at most, got {header.seq}")


def _starts(arrays: Mapping[str, Array], mapped: mmap.mmap) -> dict[str, int]:
    """Where in the file each array begins."""
    start = np.frombuffer(mapped, np.uint8).ctypes.data
    return {name: array.ctypes.data - start if len(array) else 0 for name, array in arrays.items()}


def _check(once: mmap.mmap, arrays: Sequence[Described], starts: Mapping[str, int]) -> Check:
    for array in arrays:
        start = starts[array.name]
        crc = yield from crc32_in_pieces(once, start, start + array.nbytes)
        if crc != array.crc:
            yield f"expected array {array.name} to match its crc32, got another"
            return


def _made_later(check: Check, path: Path, read_only: bool) -> Check:
    """The check of a file that was trusted; what it finds is a notice, and ends the trust."""
    for fault in check:
        if fault and not read_only:
            distrust(path)
        yield _passed_over(path, fault) if fault else None


def _passed_over(path: Path, reason: str) -> str:
    return f"snapshot passed over: {reason}, at {path}"
