"""Nearest vectors: an exact scan of all rows, or of the tail behind an HNSW index of the rest."""

import os
import threading
import zlib
from pathlib import Path

import hnswlib
import numpy as np
import numpy.typing as npt

from ..io.durable import make_directory
from ..kernels.similarity import dots, dots_at, neighbours
from ..kernels.topk import topk

U16 = npt.NDArray[np.uint16]
F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
Near = tuple[I32, F32]
"""Rows int32 (m, k), padded with -1, and their similarities float32 (m, k)."""

EXACT_BELOW = 8192
"""Rows below which an exact scan is used alone. HNSW overtakes it at some 2,000 to 6,000 rows
(`bench/bench_vectors.py`), but up to here the scan takes a tenth of a recall and misses nothing."""
BLOCK = 1024
"""Rows enter the index in whole blocks, so that what it holds depends on their number alone."""
_M, _EF_CONSTRUCTION, _EF, _SEED = 16, 200, 128, 100


class VectorIndex:
    """Finds the nearest of the first n vectors, whose number and order alone decide the result."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._index: hnswlib.Index | None = None
        # hnswlib may neither be searched nor saved while rows are added.
        self._lock = threading.Lock()

    @property
    def indexed(self) -> int:
        """Rows in the HNSW index; the others are scanned exactly."""
        return 0 if self._index is None else int(self._index.get_current_count())

    def nearest(self, vectors: U16, query: F32, k: int, allowed: I32 | None = None) -> I32:
        """Up to k rows of `vectors` nearest to `query` f32 (d,), best first, ties by row.

        allowed  rows to choose from, scanned exactly; None = all
        """
        if allowed is not None:
            return allowed[topk(dots_at(vectors, allowed, query), k)]
        covered, near = self._approximate(query, k, len(vectors))
        tail = topk(dots(vectors[covered:], query), k) + np.int32(covered)
        if not covered:
            return tail
        rows = np.sort(np.concatenate([near, tail]))
        return rows[topk(dots_at(vectors, rows, query), k)]

    def neighbours(self, vectors: U16, start: int, stop: int, k: int, floor: float) -> Near:
        """The k most similar earlier rows of each row in [start, stop): rows and similarities."""
        if k and stop <= EXACT_BELOW:
            return neighbours(vectors, start, stop, k, floor)
        rows = np.full((stop - start, k), -1, np.int32)
        similarities = np.zeros((stop - start, k), np.float32)
        for i in range(start, stop if k else start):
            self.cover(vectors[:i])
            query = vectors[i].view(np.float16).astype(np.float32)
            found = self.nearest(vectors[:i], query, k)
            values = dots_at(vectors, found, query)
            found, values = found[values >= floor], values[values >= floor]
            rows[i - start, : len(found)] = found
            similarities[i - start, : len(found)] = values
        return rows, similarities

    def cover(self, vectors: U16) -> None:
        """Put all whole blocks of `vectors` into the index, once there are enough of them."""
        wanted = len(vectors) // BLOCK * BLOCK if len(vectors) >= EXACT_BELOW else 0
        have = self.indexed
        if wanted <= have:
            return
        with self._lock:
            if self._index is None:
                self._index = self._new(2 * wanted)
            elif wanted > self._index.get_max_elements():
                self._index.resize_index(2 * wanted)
        for start in range(have, wanted, BLOCK):
            numbers = np.arange(start, min(start + BLOCK, wanted))
            rows = vectors[numbers].view(np.float16).astype(np.float32)
            # One thread: with more, the graph depends on which of them comes first.
            with self._lock:
                self._index.add_items(rows, numbers, num_threads=1)

    def save(self, path: Path) -> str:
        """What `load` checks the file written at `path` by: rows and crc32; "" for no index."""
        if self._index is None:
            return ""
        make_directory(path.parent)
        temporary = path.with_suffix(f".{os.getpid()}.part")
        with self._lock:
            self._index.save_index(str(temporary))
        with temporary.open("rb+") as file:
            crc = zlib.crc32(file.read())
            os.fsync(file.fileno())
        temporary.replace(path)
        return f"{self.indexed}:{crc}"

    def load(self, path: Path, mark: str) -> str | None:
        """Read the index that `save` left; a notice where it is missing or damaged."""
        if not mark:
            return None
        count, crc = mark.split(":")
        if not path.is_file() or zlib.crc32(path.read_bytes()) != int(crc):
            return f"vector index rebuilt: expected {count} rows with crc {crc}, at {path}"
        index = hnswlib.Index(space="ip", dim=self._dimension)
        index.load_index(str(path), max_elements=2 * int(count))
        self._index = self._tuned(index)
        return None

    def _new(self, capacity: int) -> hnswlib.Index:
        index = hnswlib.Index(space="ip", dim=self._dimension)
        index.init_index(capacity, M=_M, ef_construction=_EF_CONSTRUCTION, random_seed=_SEED)
        return self._tuned(index)

    def _tuned(self, index: hnswlib.Index) -> hnswlib.Index:
        index.set_ef(_EF)
        index.set_num_threads(1)
        return index

    def _approximate(self, query: F32, k: int, n: int) -> tuple[int, I32]:
        """How many of the first n rows the index holds, and those of them near the query.

        None where it holds more than n: a reader of an older snapshot scans exactly instead.
        """
        with self._lock:
            covered = self.indexed
            if self._index is None or covered > n:
                return 0, np.empty(0, np.int32)
            self._index.set_ef(max(_EF, k))
            labels, _ = self._index.knn_query(query, k=min(k, covered), num_threads=1)
        return covered, labels[0].astype(np.int32)
