"""Rows that grow: an immutable base in CSR form and a delta of chained entries."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels import csr
from .columns import Array, Table, prefixed


class Chains:
    """A sparse matrix by rows to which entries are appended in O(1).

    The base is a CSR (`indptr` int64 (rows+1,), one array of each column). An appended entry is
    row i of `delta`; `head[row]` is the newest one of a row (or -1) and `next` the one before it;
    `count[row]` counts a row's entries in the delta, and `place` those up to an entry.
    A column in which every entry of the base is its `absent` value is kept there as an empty one.
    A reader remembers how many entries there were and skips later ones; it needs no lock, but has
    to hold `next` with all its room, for the heads that it follows go on changing.
    """

    def __init__(
        self,
        dtypes: Mapping[str, npt.DTypeLike],
        arrays: Mapping[str, Array] | None = None,
        absent: Mapping[str, int] | None = None,
    ) -> None:
        self.dtypes = dict(dtypes)
        self._absent = dict(absent or {})
        self._set_base(arrays or {"indptr": np.zeros(1, np.int64), **self._no_entries()})

    def _set_base(self, arrays: Mapping[str, Array]) -> None:
        rows = len(arrays["indptr"]) - 1
        head, count = np.full(rows, -1, np.int32), np.zeros(rows, np.int32)
        heads = Table({"head": np.int32, "count": np.int32}, {"head": head, "count": count})
        delta = Table({"src": np.int32, "next": np.int32, "place": np.int32, **self.dtypes})
        # At once: a reader of a row must not meet the parts of two bases.
        self._parts = (dict(arrays), heads, delta)

    @property
    def base(self) -> dict[str, Array]:
        """The CSR that the last merge made."""
        return self._parts[0]

    @property
    def heads(self) -> Table:
        """`head` and `count` of each row in the delta."""
        return self._parts[1]

    @property
    def delta(self) -> Table:
        """The entries since the last merge, in order: `src`, `next`, `place` and the columns."""
        return self._parts[2]

    def _no_entries(self) -> dict[str, Array]:
        return {name: np.empty(0, dtype) for name, dtype in self.dtypes.items()}

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.heads)

    def grow(self, rows: int) -> None:
        """Have at least so many rows."""
        if rows > len(self.heads):
            self.heads.extend(head=np.full(rows - len(self.heads), -1, np.int32), count=0)

    def extend(self, src: Array, **columns: npt.ArrayLike) -> None:
        """Append entries to the rows `src` int32 (m,), in order; other columns (m,) or scalar."""
        if not len(src):
            return
        start, room = len(self.delta), self.delta.room
        self.delta.extend(src=src, next=np.full(len(src), -1, np.int32), place=0, **columns)
        if self.delta.room != room:
            # Readers have `next` in its old size: the heads that they follow must not change now.
            self.heads.detach()
        delta, heads = self.delta, self.heads
        csr.link(heads["head"], heads["count"], delta["next"], delta["place"], src, start)

    def degree(self, row: int) -> int:
        """Number of entries of a row; 0 for one that is yet to come."""
        base, heads, _ = self._parts
        indptr = base["indptr"]
        kept = int(indptr[row + 1] - indptr[row]) if row < len(indptr) - 1 else 0
        return kept + (int(heads["count"][row]) if row < len(heads) else 0)

    def row(self, row: int) -> dict[str, Array]:
        """Columns of one row's entries, oldest first; none of one that is yet to come."""
        base, heads, delta = self._parts
        low, high = base["indptr"][row : row + 2] if row < len(base["indptr"]) - 1 else (0, 0)
        newer = csr.chain(delta["next"], int(heads["head"][row]) if row < len(heads) else -1)
        return {
            name: np.concatenate([self._entries(base, name, low, high), delta[name][newer]])
            for name in self.dtypes
        }

    def merge(self) -> None:
        """Make the delta part of a new base; views of the old one stay valid."""
        if len(self.delta) or len(self) > len(self.base["indptr"]) - 1:
            self._set_base(self.merged())

    def merged(self) -> dict[str, Array]:
        """`indptr` and columns of all entries as one CSR, each row oldest first."""
        base, delta = self.base, self.delta
        indptr, order = csr.merge(base["indptr"], delta["src"], len(self))
        columns: dict[str, Any] = {}
        for name, dtype in self.dtypes.items():
            if self._all_absent(base[name], delta[name], name):
                columns[name] = np.empty(0, dtype)
            else:
                kept = self._entries(base, name, 0, int(base["indptr"][-1]))
                columns[name] = np.concatenate([kept, delta[name]])[order]
        return {"indptr": indptr, **columns}

    def _entries(self, base: Mapping[str, Array], name: str, low: int, high: int) -> Array:
        """Entries [low, high) of a column of the base."""
        if len(base[name]) or name not in self._absent:
            return base[name][low:high]
        return np.full(high - low, self._absent[name], self.dtypes[name])

    def _all_absent(self, base: Array, delta: Array, name: str) -> bool:
        return name in self._absent and not len(base) and bool((delta == self._absent[name]).all())

    def arrays(self, prefix: str) -> dict[str, Array]:
        """Arrays of `merged`, named for a snapshot."""
        return prefixed(prefix, self.merged())
