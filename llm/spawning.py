"""Processes that a program spawns without its main module, and ends when it ends."""

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import spawn
from typing import Any

_lock = threading.Lock()


@contextmanager
def without_main() -> Iterator[None]:
    """Whatever this thread spawns in the block does not import the program's main module.

    A spawned process imports it by default, in case what it shall run is defined there. A script
    that is not guarded by `if __name__ == "__main__"` would run again, and what it imports comes
    into a process that has no use for it: vLLM's engine for CPUs looks at every object of every
    module, and breaks on those of llvmlite, which numba brings. Other threads spawn as ever.
    """
    here = threading.get_ident()
    with _lock:
        ordinary = spawn.get_preparation_data

        def prepared(name: str) -> dict[str, Any]:
            data: dict[str, Any] = ordinary(name)
            if threading.get_ident() == here:
                data.pop("init_main_from_name", None)
                data.pop("init_main_from_path", None)
            return data

        spawn.get_preparation_data = prepared
        try:
            yield
        finally:
            spawn.get_preparation_data = ordinary


def at_exit(end: Callable[[], object]) -> None:
    """Call `end` when this process, and no fork of it, ends.

    `multiprocessing` waits at exit for what was spawned and was not told to end. What is registered
    by now comes before that; a finalizer may come after it, and the wait would have no end.
    """
    process = os.getpid()
    atexit.register(lambda: end() if os.getpid() == process else None)
