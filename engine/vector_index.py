"""Nearest vectors: a graph over whole blocks of rows, and an exact scan of the rows behind it."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from ..kernels import hnsw
from ..kernels.hnsw import Index
from ..kernels.similarity import dots_at
from ..kernels.topk import topk

U16 = npt.NDArray[np.uint16]
F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
Near = tuple[I32, F32]
"""Rows int32 (m, k), padded with -1, and their similarities float32 (m, k)."""

EXACT_BELOW = 8192
"""Rows below which an exact scan is used alone. The graph overtakes it at some 2,000 to 6,000 rows
(`bench/bench_vectors.py`), but up to here the scan takes a tenth of a recall and misses nothing."""
BLOCK = 1024
"""Rows enter the graph in whole blocks, so that what it holds depends on their number alone. More
at a time would make the scan behind it longer, fewer the copies of the graph dearer."""
_M, _EF_CONSTRUCTION, _EF, _EF_NEIGHBOURS = 16, 100, 128, 64
"""Links of a row and candidates for them; rows that a search keeps, for anchors and for neighbours.
Of 1e6 clustered rows the ten nearest are found to 0.999 or more at 128 and to 0.995 at 64."""

_NO_ROWS = hnsw.empty(_M)


def due(n: int) -> int:
    """Rows that the graph holds once there are n: one block less than the whole ones.

    So the newest whole block is linked in the background while the next one comes.
    """
    return max(0, n // BLOCK - 1) * BLOCK if n >= EXACT_BELOW else 0


def rules() -> str:
    """What else than the vectors decides what is found: a stamp of all that is derived from it."""
    return f"hnsw-1 {_M} {_EF_CONSTRUCTION} {_EF} {_EF_NEIGHBOURS} {EXACT_BELOW} {BLOCK}"


class VectorIndex:
    """Finds the nearest of the first n vectors, whose number and order alone decide the result.

    One thread at a time calls `neighbours`, `cover` and `arrays`; any number call `nearest`
    meanwhile. A graph is never changed: the next one is made from a copy, on a thread of its own,
    and put in place whole.
    """

    def __init__(
        self,
        arrays: Mapping[str, I32] | None = None,
        *,
        on_disk: Callable[[], bool] = lambda: False,
    ) -> None:
        """An empty index, or the one that `arrays()` gave; ValueError where sizes do not fit.

        on_disk  whether many of the vectors are likely to be read from the disk yet
        """
        self._on_disk = on_disk
        index = hnsw.from_arrays(_M, **arrays) if arrays else _NO_ROWS
        # Readers use that of the last `cover` or, with a snapshot of before, of the last but one.
        self._shown = index
        self._held: tuple[Index, ...] = (index,)
        self._worker = ThreadPoolExecutor(1, "cuegraph-vectors")
        self._next: Future[Index] | None = None

    @property
    def indexed(self) -> int:
        """Rows in the graph; the others are scanned exactly."""
        return len(self._held[-1].twins)

    def arrays(self) -> dict[str, I32]:
        """The graph as 1-d arrays: what a snapshot holds, some 140 bytes a row."""
        index = self._held[-1]
        return {
            "links": index.links.reshape(-1),
            "upper": index.upper.reshape(-1),
            "twins": index.twins,
            "entries": index.entries,
        }

    def nearest(self, vectors: U16, query: F32, k: int, allowed: I32 | None = None) -> I32:
        """Up to k rows of `vectors` nearest to `query` f32 (d,), best first, ties by row.

        allowed  rows to choose from, scanned exactly; None = all
        """
        if allowed is not None:
            return allowed[topk(dots_at(vectors, allowed, query), k)]
        n = len(vectors)
        k, stops = min(k, n), np.array([n])
        index, ef = self._for_reader(n), max(_EF, k)
        rows, _ = hnsw.nearest(index, vectors, query[None], stops, k, ef, ahead=self._on_disk())
        return rows.reshape(-1)

    def neighbours(self, vectors: U16, start: int, stop: int, k: int, floor: float) -> Near:
        """The k most similar earlier rows of each row in [start, stop): rows and similarities."""
        rows = np.full((stop - start, k), -1, np.int32)
        similarities = np.zeros((stop - start, k), np.float32)
        first = start
        while k and first < stop:
            last = min((first // BLOCK + 1) * BLOCK, stop)
            if first < EXACT_BELOW:
                last = min(last, EXACT_BELOW)
            part = slice(first - start, last - start)
            index = self._grown(vectors, due(first))
            self._grow_ahead(vectors, first)
            rows[part], similarities[part] = _similar(index, vectors, first, last, k, floor)
            first = last
        return rows, similarities

    def cover(self, vectors: U16) -> None:
        """Make the graph for `vectors` that `nearest` uses, and begin the next one."""
        self._held = (self._shown, self._grown(vectors, due(len(vectors))))
        self._shown = self._held[-1]
        self._grow_ahead(vectors, len(vectors))

    def close(self) -> None:
        """Let go of the thread that builds; a graph that it has begun is dropped."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _for_reader(self, n: int) -> Index:
        """The graph due for n rows; if it is gone, an older or else the oldest one.

        A search in a graph of more than n rows passes over the newer ones.
        """
        rows = due(n)
        if not rows:
            return _NO_ROWS
        older = [index for index in self._held if len(index.twins) <= rows]
        return older[-1] if older else self._held[0]

    def _grown(self, vectors: U16, rows: int) -> Index:
        """The graph of `rows` rows, which is the newest from now on."""
        if self._next is not None and self.indexed < rows:
            ahead, self._next = self._next, None
            self._hold(ahead.result())
        if self.indexed < rows:
            self._hold(_extended(self._held[-1], vectors, rows))
        return self._held[-1]

    def _hold(self, index: Index) -> None:
        self._held = (self._shown, index)

    def _grow_ahead(self, vectors: U16, n: int) -> None:
        """Begin the graph that is due one block after n rows."""
        rows = due(n + BLOCK)
        if self._next is None and self.indexed < rows:
            self._next = self._worker.submit(_extended, self._held[-1], vectors, rows)


def _extended(index: Index, vectors: U16, rows: int) -> Index:
    return hnsw.extend(index, vectors, rows, ef=_EF_CONSTRUCTION, block=BLOCK)


def _similar(index: Index, vectors: U16, first: int, last: int, k: int, floor: float) -> Near:
    queries = vectors[first:last].view(np.float16).astype(np.float32)
    stops, ef = np.arange(first, last), max(_EF_NEIGHBOURS, k)
    rows, similarities = hnsw.nearest(index, vectors, queries, stops, k, ef)
    rows[similarities < np.float32(floor)] = -1
    similarities[rows < 0] = 0
    return rows, similarities
