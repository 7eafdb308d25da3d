"""Checks that opening a space puts off: made on a thread of their own while the space is used."""

import threading

from ..io.snapshot import Check

_DELAY_S = 0.5
"""Before the checks begin: they read all of the files, and the first answers want the disk, too."""


class Checks:
    """The checks of one space, made one after the other.

    faults  what was found wrong, by the name of its check; whoever mends it takes it out
    """

    def __init__(self) -> None:
        self.faults: dict[str, str] = {}
        self._left: dict[str, Check] = {}
        self._begin, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def passed(self) -> bool:
        """Whether all have been made, and nothing is wrong any more."""
        return not self._left and not self.faults

    def make(self, name: str, check: Check) -> None:
        """Make a check now."""
        fault = next(filter(None, check), None)
        if fault:
            self.faults[name] = fault

    def put_off(self, name: str, check: Check) -> None:
        """Leave a check to the thread that `start` starts."""
        self._left[name] = check

    def start(self) -> None:
        """Have what was put off made soon, if anything was."""
        if self._left:
            # A daemon: a process that ends need not wait for what it will not use.
            self._thread = threading.Thread(target=self._work, name="cuegraph-checks", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Return once all have been made: before anything is derived from what they check."""
        self._begin.set()
        if self._thread is not None:
            self._thread.join()
        self._work()  # what a thread has left that was not taken along by a fork

    def close(self) -> None:
        """Stop within some ms; checks that are left are dropped."""
        self._stop.set()
        self._begin.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        self._begin.wait(_DELAY_S)
        for name, check in list(self._left.items()):
            try:
                for fault in check:
                    if self._stop.is_set():
                        return
                    if fault:
                        self.faults[name] = fault
            except Exception as problem:  # what cannot be checked cannot be relied on
                self.faults[name] = f"{name} could not be checked: {problem}"
            del self._left[name]
