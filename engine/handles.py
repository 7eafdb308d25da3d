"""Open spaces, bounded in number: the least recently used one is closed to make room."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .space import Space

MAX_OPEN = 64
"""Spaces open at once by default; each holds three files, and 1,024 is a common limit."""


class Handles:
    """Keeps at most `max_open` spaces open that nobody is using; a caller may share one of these.

    A space that was closed to make room is opened again, from its snapshot, when it is asked for.
    """

    def __init__(self, max_open: int = MAX_OPEN) -> None:
        self.max_open = max_open
        self._spaces: OrderedDict[Path, Space] = OrderedDict()
        self._users: dict[Path, int] = {}
        self._lock = threading.Lock()
        self._opening: dict[Path, threading.Lock] = {}

    @contextmanager
    def lease(self, path: Path, opener: Callable[[], Space]) -> Iterator[Space]:
        """The space at `path`, opened by `opener` where it is not open; held while in use."""
        space = self._take(path, opener)
        try:
            yield space
        finally:
            with self._lock:
                self._users[path] -= 1
                surplus = self._surplus()
            for idle in surplus:
                idle.close()

    def drop(self, path: Path) -> None:
        """Close the space at `path`, if it is open."""
        with self._lock:
            space = self._spaces.pop(path, None)
        if space is not None:
            space.close()

    def __len__(self) -> int:
        """Number of open spaces."""
        return len(self._spaces)

    def _take(self, path: Path, opener: Callable[[], Space]) -> Space:
        with self._lock:
            opening = self._opening.setdefault(path, threading.Lock())
        with opening:
            with self._lock:
                space = self._spaces.get(path)
                if space is not None:
                    return self._used(path, space)
            space = opener()
            with self._lock:
                return self._used(path, space)

    def _used(self, path: Path, space: Space) -> Space:
        self._spaces[path] = space
        self._spaces.move_to_end(path)
        self._users[path] = self._users.get(path, 0) + 1
        return space

    def _surplus(self) -> list[Space]:
        """Idle spaces beyond the bound, least recently used first, taken out of the table."""
        idle = [path for path in self._spaces if not self._users[path]]
        excess = max(len(self._spaces) - self.max_open, 0)
        return [self._spaces.pop(path) for path in idle[:excess]]
