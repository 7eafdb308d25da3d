"""Columns that grow: tables of typed arrays and tables of strings, mapped or in memory."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Table:
    """Columns of equal length; row i of all of them is one thing. Appending is O(1) amortised.

    Arrays given at the start may be read-only (mapped from a file): a column is copied the first
    time that it is written to. A view taken earlier stays valid and keeps its length; only cells
    written by `put` change under it.
    """

    def __init__(
        self, dtypes: Mapping[str, npt.DTypeLike], arrays: Mapping[str, Array] | None = None
    ) -> None:
        if arrays is None:
            arrays = {name: np.empty(0, dtype) for name, dtype in dtypes.items()}
        self._columns = {name: arrays[name] for name in dtypes}
        self._n = self.room
        self._writable = 0  # rows for which every column has room and may be written to

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, name: str) -> Array:
        """Rows in use of one column, a view."""
        return self._columns[name][: self._n]

    def arrays(self) -> dict[str, Array]:
        """Views of all columns by name."""
        return {name: column[: self._n] for name, column in self._columns.items()}

    def whole(self, name: str) -> Array:
        """One column with the room behind its rows, for those who follow links that may come."""
        return self._columns[name]

    @property
    def room(self) -> int:
        """Rows that fit before the columns are moved to larger arrays."""
        return min((len(column) for column in self._columns.values()), default=0)

    def detach(self) -> None:
        """Go on in copies: what earlier views show no longer changes."""
        self._columns = {name: column.copy() for name, column in self._columns.items()}

    def append(self, **values: Any) -> int:
        """Row of the appended thing; every column must be given."""
        row = self._n
        self._reserve(row + 1)
        for name, column in self._columns.items():
            column[row] = values[name]
        self._n = row + 1
        return row

    def extend(self, **columns: npt.ArrayLike) -> None:
        """Append many rows, given as columns of equal length or as scalars for all of them."""
        sizes = [np.size(values) for values in columns.values() if np.ndim(values) == 1]
        stop = self._n + sizes[0]
        self._reserve(stop)
        for name, column in self._columns.items():
            column[self._n : stop] = columns[name]
        self._n = stop

    def put(self, name: str, row: int, value: Any) -> None:
        """Write one cell in place: readers that hold a view see it."""
        column = self._columns[name]
        if not column.flags.writeable:
            column = self._columns[name] = column.copy()
        column[row] = value

    def _reserve(self, size: int) -> None:
        if size <= self._writable:
            return
        for name, column in self._columns.items():
            if size > len(column) or not column.flags.writeable:
                grown = np.empty(max(size, 2 * self._n, 16), column.dtype)
                grown[: self._n] = column[: self._n]
                self._columns[name] = grown
        self._writable = self.room


class Strings:
    """An append-only list of byte strings: a blob with offsets, and a tail in memory."""

    def __init__(self, data: Array | None = None, indptr: Array | None = None) -> None:
        self._data = np.empty(0, np.uint8) if data is None else data
        self._indptr = np.zeros(1, np.int64) if indptr is None else indptr
        self._tail: list[bytes] = []

    def __len__(self) -> int:
        return len(self._indptr) - 1 + len(self._tail)

    def __getitem__(self, row: int) -> bytes:
        base = len(self._indptr) - 1
        if row >= base:
            return self._tail[row - base]
        return self._data[self._indptr[row] : self._indptr[row + 1]].tobytes()

    def append(self, value: bytes) -> int:
        """Row of the appended string."""
        self._tail.append(value)
        return len(self) - 1

    def arrays(self) -> dict[str, Array]:
        """`data` uint8 (bytes,) and `indptr` int64 (n+1,) of all strings."""
        lengths = np.fromiter(map(len, self._tail), np.int64, len(self._tail))
        indptr = np.concatenate([self._indptr, self._indptr[-1] + np.cumsum(lengths)])
        tail = np.frombuffer(b"".join(self._tail), np.uint8)
        return {"data": np.concatenate([self._data, tail]), "indptr": indptr}


class Names:
    """Distinct names, each with a number: the vocabulary, the keys of nodes.

    The part that came from a file is found by binary search over sorted 64-bit hashes, so that
    opening a large store decodes nothing; later names are in a dictionary, and so are some of
    those found: a search takes ten times as long.
    """

    _REMEMBERED = 1 << 16

    def __init__(self, arrays: Mapping[str, Array] | None = None) -> None:
        self._strings = Strings(arrays["data"], arrays["indptr"]) if arrays else Strings()
        self._hashes = arrays["hashes"] if arrays else np.empty(0, np.uint64)
        self._order = arrays["order"] if arrays else np.empty(0, np.int32)
        self._new: dict[bytes, int] = {}
        self._found: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._strings)

    def __getitem__(self, number: int) -> str:
        return self._strings[number].decode()

    def find(self, name: str) -> int:
        """Number of a name, or -1."""
        key = name.encode(errors="surrogatepass")  # a question may hold what no name can
        number = self._new.get(key, -1)
        return number if number >= 0 or not len(self._hashes) else self._find_old(key)

    def find_all(self, names: Sequence[str]) -> list[int]:
        """`find` of each name, by one search for all."""
        keys = [name.encode(errors="surrogatepass") for name in names]
        numbers = [self._new.get(key, -1) for key in keys]
        if not len(self._hashes):
            return numbers
        hashes = np.array([_hash(key) for key in keys], np.uint64)
        at = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        for i in np.flatnonzero(self._hashes[at] == hashes).tolist():
            if numbers[i] < 0:
                numbers[i] = self._find_old(keys[i])
        return numbers

    def add(self, name: str) -> int:
        """Number of a name, new or known."""
        number = self.find(name)
        if number < 0:
            key = name.encode()
            number = self._new[key] = self._strings.append(key)
        return number

    def arrays(self) -> dict[str, Array]:
        """Arrays that `Names(arrays)` reads: the strings, sorted hashes and their numbers."""
        fresh = np.array([_hash(key) for key in self._new], np.uint64)
        hashes = np.concatenate([self._hashes, fresh])
        numbers = np.concatenate([self._order, np.fromiter(self._new.values(), np.int32)])
        order = np.argsort(hashes, kind="stable")
        return {**self._strings.arrays(), "hashes": hashes[order], "order": numbers[order]}

    def _find_old(self, key: bytes) -> int:
        number = self._found.get(key, -1)
        if number < 0 and (number := self._find_mapped(key)) >= 0:
            if len(self._found) >= self._REMEMBERED:
                self._found = {}
            self._found[key] = number
        return number

    def _find_mapped(self, key: bytes) -> int:
        wanted = _hash(key)
        at = int(np.searchsorted(self._hashes, np.uint64(wanted)))
        while at < len(self._hashes) and int(self._hashes[at]) == wanted:
            number = int(self._order[at])
            if self._strings[number] == key:
                return number
            at += 1
        return -1


def prefixed(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays with `prefix.` before each name."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def below(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays named `prefix.*`, without the prefix."""
    start = prefix + "."
    return {name[len(start) :]: a for name, a in arrays.items() if name.startswith(start)}


def _hash(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
