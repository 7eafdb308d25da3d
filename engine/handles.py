"""Open spaces, bounded in number: the least recently used one is closed to make room."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from .space import Space

MAX_OPEN = 64
"""Spaces open at once by default; each holds three files, and 1,024 is a common limit."""


class _Handle:
    """One owner's space, open or not, and how many are using it."""

    def __init__(self) -> None:
        self.space: Space | None = None
        self.users = 0
        self.dropped = False
        self.opening = threading.Lock()


class Handles:
    """Keeps at most `max_open` spaces open beyond those in use; callers may share one of these.

    A space that was closed to make room is opened again, from its snapshot, when it is asked for.
    """

    def __init__(self, max_open: int = MAX_OPEN) -> None:
        self.max_open = max_open
        self._handles: OrderedDict[Hashable, _Handle] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def lease(self, owner: Hashable, opener: Callable[[], Space]) -> Iterator[Space]:
        """The space of `owner`, opened by `opener` where it is not open; held while in use."""
        with self._lock:
            handle = self._handles.setdefault(owner, _Handle())
            self._handles.move_to_end(owner)
            handle.users += 1
        try:
            with handle.opening:
                space = handle.space = handle.space or opener()
            yield space
        finally:
            with self._lock:
                handle.users -= 1
                if handle.space is None and not handle.users and not handle.dropped:
                    del self._handles[owner]  # it could not be opened
                idle = self._surplus(handle)
            for space in idle:
                space.close()

    def drop(self, owner: Hashable) -> None:
        """Close the space of `owner`, as soon as nobody uses it."""
        with self._lock:
            handle = self._handles.pop(owner, None) or _Handle()
            handle.dropped = True
            idle = self._surplus(handle)
        for space in idle:
            space.close()

    def __len__(self) -> int:
        """Number of open spaces."""
        return sum(handle.space is not None for handle in self._handles.values())

    def _surplus(self, handle: _Handle) -> list[Space]:
        """Spaces to close now: a dropped one that is idle, and idle ones beyond the bound."""
        doomed = [handle] if handle.dropped and not handle.users else []
        idle = [h for h in self._handles.values() if h.space is not None and not h.users]
        doomed += idle[: max(len(self) - self.max_open, 0)]
        spaces = [h.space for h in doomed if h.space is not None]
        for h in doomed:
            h.space = None
        return spaces
