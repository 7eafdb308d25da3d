"""Checks: made in time, in pieces, and dropped when nobody waits for them any more."""

import threading
import time
from collections.abc import Iterator

import pytest

from cuegraph.engine import checks as checks_module
from cuegraph.engine.checks import Checks


def check(*found: str | None) -> Iterator[str | None]:
    yield from found


def broken() -> Iterator[str | None]:
    yield None
    raise OSError("no such disk")


def test_what_is_made_now_is_known_at_once() -> None:
    checks = Checks()
    checks.make("a", check(None, None))
    assert checks.passed
    checks.make("b", check(None, "bad"))
    assert checks.faults == {"b": "bad"}
    assert not checks.passed
    del checks.faults["b"]
    assert checks.passed


def test_what_is_put_off_is_made_by_the_time_it_is_needed() -> None:
    checks = Checks()
    checks.put_off("a", check(None))
    checks.put_off("b", check(None, "bad", None))
    checks.put_off("c", check())
    checks.start()
    assert not checks.passed
    checks.finish()
    assert checks.faults == {"b": "bad"}
    checks.faults.clear()
    assert checks.passed
    checks.close()


def test_what_no_thread_has_made_is_made_by_who_needs_it() -> None:
    """As in a process that was forked before the thread had come to it."""
    checks = Checks()
    checks.put_off("a", check(None, "bad"))
    checks.finish()
    assert checks.faults == {"a": "bad"}


def test_it_begins_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks_module, "_DELAY_S", 0.01)
    checks = Checks()
    checks.put_off("a", check(None))
    checks.start()
    deadline = time.monotonic() + 10
    while not checks.passed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert checks.passed


def test_what_cannot_be_checked_is_a_fault() -> None:
    checks = Checks()
    checks.put_off("a", broken())
    checks.put_off("b", check(None))
    checks.start()
    checks.finish()
    assert checks.faults == {"a": "a could not be checked: no such disk"}


def test_closing_ends_a_check_between_two_pieces() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def endless() -> Iterator[str | None]:
        while True:
            begun.set()
            go_on.wait(10)
            yield None

    checks = Checks()
    checks.put_off("a", endless())
    checks.start()
    checks._begin.set()
    assert begun.wait(10)
    closing = threading.Thread(target=checks.close)
    closing.start()
    go_on.set()
    closing.join(10)
    assert not closing.is_alive()
    assert not checks.passed


def test_nothing_to_check_needs_no_thread() -> None:
    checks = Checks()
    checks.start()
    assert checks._thread is None
    checks.finish()
    checks.close()
    assert checks.passed
