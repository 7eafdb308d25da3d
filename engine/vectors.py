"""The vectors of a space: embedded once, checked, and embedded anew where they are damaged."""

import zlib
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..io.durable import SMALL_BYTES
from ..io.errors import StoreError
from ..io.journal import Journal
from ..io.row import Row
from ..io.snapshot import Check
from ..io.turn import TurnRecord
from ..io.vectors import FILE_NAME, VectorFile
from ..llm.embedder import Embedder
from .checks import Checks

U16 = npt.NDArray[np.uint16]
Halves = npt.NDArray[np.float16]

_PAGE_ROWS = 4096  # of the journal, held in memory at a time


class Vectors:
    """Embeds turns, and keeps their vectors in the file that the journal's rows point into.

    tell  is given a sentence for whatever was found wrong and mended
    """

    def __init__(
        self,
        directory: Path,
        embedder: Embedder,
        journal: Journal,
        *,
        read_only: bool,
        tell: Callable[[str], None],
    ) -> None:
        self._path = directory / FILE_NAME
        self._embedder, self._journal, self._read_only = embedder, journal, read_only
        self._tell = tell
        self._file = self._open()
        self._summed, self._sum = 0, 0
        if self._file.notice:
            tell(self._file.notice)

    def _open(self) -> VectorFile:
        return VectorFile(self._path, self._embedder.dimension, read_only=self._read_only)

    def embed(self, records: Sequence[TurnRecord]) -> Halves:
        """Vectors of turns, float16 (n, d)."""
        return self._embedder.passages([passage(record) for record in records]).astype(np.float16)

    def append(self, first_row: int, vectors: Halves) -> list[int]:
        """Checksums of vectors, written from a row on and synced."""
        return self._file.append(first_row, vectors)

    def view(self, rows: int) -> U16:
        """The first rows as the bits of their float16, mapped."""
        return self._file.view(rows)

    def on_disk(self) -> bool:
        """Whether many vectors are likely to be on the disk alone."""
        return self._file.on_disk()

    def mark(self, rows: int) -> str:
        """What the first rows add up to: their number and a crc32 over all of them.

        Rows that a mark was `expected` of are not read again: they add up to what they should.
        """
        if rows < self._summed:
            self._summed, self._sum = 0, 0
        if rows > self._summed:
            added = self.view(rows)[self._summed :]
            self._summed, self._sum = rows, zlib.crc32(added.data, self._sum)
        return f"{rows}:{self._sum}"

    def expect(self, mark: str, checks: Checks) -> None:
        """Take the first rows to be what `mark` was told of, and leave it to `checks` whether so.

        Until then a damaged vector gives a wrong likeness, and no other harm: it is only numbers to
        multiply with. A small file is checked now, as is one that is too short.
        """
        self._summed, self._sum = map(int, mark.split(":"))
        now = self._file.nbytes <= SMALL_BYTES or self._file.rows < self._summed
        check = self._check(self._summed, self._sum)
        (checks.make if now else checks.put_off)("vectors", check)

    def _check(self, rows: int, crc: int) -> Check:
        if self._file.rows < rows:
            yield f"expected {rows} vectors, got {self._file.rows}, at {self._path}"
        elif (yield from self._file.crc32(rows)) != crc:
            yield f"expected vectors to match their crc32, got others, at {self._path}"

    def mend(self) -> None:
        """Repair whatever row of the journal has a vector that is damaged."""
        self._summed, self._sum = 0, 0
        rows, broken = self._journal.rows_after(0), list[Row]()
        while page := list(islice(rows, _PAGE_ROWS)):
            broken += self._broken(page)
        self.repair(broken)

    def repair(self, rows: Sequence[Row]) -> None:
        """Embed anew the vectors of journal rows that are lost or do not match their checksums.

        StoreError where that cannot be, because the space is only read.
        """
        broken = self._broken(rows)
        if broken and self._read_only and not self._file.rows:
            self._file = self._open()  # it was opened before the first vector came
            broken = self._broken(rows)
        if not broken:
            return
        if self._read_only:
            expected = f"sound vectors, or a memory opened for writing to embed {len(broken)} anew"
            raise StoreError(f"expected {expected}, got a read-only one, at {self._path}")
        self._tell(f"{len(broken)} damaged vectors embedded anew, at {self._path}")
        vectors = self.embed([row.turn() for row in broken])
        self._journal.replace_vector_crcs(
            {
                row.seq: self._file.repair(row.vector_row or 0, vector)
                for row, vector in zip(broken, vectors, strict=True)
            }
        )

    def _broken(self, rows: Sequence[Row]) -> list[Row]:
        stored = [row for row in rows if row.kind == "turn" and row.vector_row is not None]
        numbers = [row.vector_row or 0 for row in stored]
        damaged = set(self._file.verify(numbers, [row.vector_crc or 0 for row in stored]))
        return [row for row in stored if row.vector_row in damaged]

    def close(self) -> None:
        """Close the file; views stay valid."""
        self._file.close()


def passage(record: TurnRecord) -> str:
    """The text that an episode is embedded by: who said it, what, and what a shared image shows."""
    said = record.text if record.speaker is None else f"{record.speaker}: {record.text}"
    return said if record.caption is None else f"{said} [shares {record.caption}]"
