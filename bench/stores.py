"""A memory of invented turns on disk: kept between runs, and finished where it was interrupted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from cuegraph import InputError, Memory, Turn

from .spaces import Progress, silent
from .synthetic import SyntheticEmbedder, turns

MARKER = "synthetic.json"
"""File of a store that says for how many turns it was completed; no part of the memory."""
CHUNK = 256
"""Turns of one `add`, as an application that imports a history would give them."""
_TOLD = 64
"""Chunks between two lines of progress."""


class Marker(msgspec.Struct, frozen=True):
    """Whose store it is: turns and embedder must be those asked for."""

    turns: int
    embedder: str


@contextmanager
def synthetic_store(directory: Path | None, n: int, progress: Progress = silent) -> Iterator[Path]:
    """The directory of a memory of `turns(n)`; without a directory, a temporary one.

    A completed store is used as it is, an interrupted one is finished. InputError where another
    memory lives there, StoreMismatchError where it is of another embedder.
    """
    if directory is not None:
        complete(directory, n, progress)
        yield directory
        return
    with TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        complete(store, n, progress)
        yield store


def complete(directory: Path, n: int, progress: Progress = silent) -> int:
    """Bring the store in `directory` to `n` turns; how many were added."""
    marker = directory / MARKER
    wanted = Marker(n, SyntheticEmbedder(n).name)
    if marker.is_file():
        found = msgspec.json.decode(marker.read_bytes(), type=Marker)
        if found != wanted:
            expected = f"a store of {wanted.turns} turns of {wanted.embedder}"
            raise InputError(
                f"expected {expected}, got {found.turns} of {found.embedder}: {marker}"
            )
        return 0
    added = _fill(directory, n, progress)
    marker.write_bytes(msgspec.json.encode(wanted))
    return added


def _fill(directory: Path, n: int, progress: Progress) -> int:
    with Memory.open(directory, embedder=SyntheticEmbedder(n)) as memory:
        held = memory.stats().turns
        if held > n:
            raise InputError(f"expected a store of at most {n} turns, got {held}, at {directory}")
        missing = islice(turns(n), held, None)
        for start in range(held, n, CHUNK):
            if (start - held) % (_TOLD * CHUNK) == 0:
                progress(f"synthetic store: {start:,} of {n:,} turns")
            add(memory, list(islice(missing, CHUNK)))
    return n - held


def add(memory: Memory, made: Sequence[Turn]) -> None:
    """Add turns that must be new; InputError where they are not."""
    report = memory.add(made)
    if report.added != len(made):
        problem = report.problems[0].reason if report.problems else "turns that it has already"
        raise InputError(f"expected an unfinished synthetic store, got another memory: {problem}")
