"""Requests answered side by side on one thread of their own, each in its time."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from msgspec.structs import replace

from .model import Reply, Request, failed

T = TypeVar("T")
# Answers a request by the second argument, in the loop's time.
Answer = Callable[[Request, float], Awaitable[Reply]]


class RequestLoop:
    """An asyncio loop on a thread: `answer` for each request, a future for its caller.

    name         in messages
    concurrency  requests answered at once, those first that came first
    waiting      further ones that wait for their turn; `submit` waits beyond that

    No future holds an exception. The reply is "timed_out" when the request's time is up, wherever
    it is by then, and "unavailable" where the loop is closed or `answer` raises. `answer` is
    cancelled when its future is, when the time is up and at the end.
    """

    def __init__(self, name: str, answer: Answer, *, concurrency: int, waiting: int) -> None:
        self._name = name
        self._answer = answer
        self._turns = asyncio.Semaphore(concurrency)
        self._places = threading.BoundedSemaphore(concurrency + waiting)
        self._pending: set[asyncio.Task[Any]] = set()  # the loop's thread alone touches it
        self._lock = threading.Lock()
        self._is_closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="cuegraph-requests", daemon=True
        )
        self._thread.start()

    def time(self) -> float:
        """Seconds on the clock of the deadlines."""
        return self._loop.time()

    def submit(self, request: Request) -> Future[Reply]:
        """The reply to come.

        It may be called in the callback of a reply. There it cannot wait, because the loop would
        wait with it: without a free place the request is "unavailable".
        """
        started = self.time()
        is_inside = threading.current_thread() is self._thread
        wait_s = 0.0 if is_inside else min(max(request.timeout_s, 0.0), threading.TIMEOUT_MAX)
        if not self._places.acquire(timeout=wait_s):
            return _done(self._no_place(request, is_inside))
        with self._lock:
            if self._is_closed:
                future = _done(self._closed())
            else:
                task = self._served(request, started)
                future = asyncio.run_coroutine_threadsafe(task, self._loop)
        future.add_done_callback(lambda _: self._places.release())
        return future

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns on the loop, waited for."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Answer what is pending with "unavailable", await `last`, end the thread. Repeatable.

        Not in the callback of a reply: the thread cannot wait for its own end.
        """
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            # Tasks start in the order of their submission: each is inside its `try` by then.
            try:
                self.run(self._end(last))
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()
        self._thread.join()

    async def _served(self, request: Request, started: float) -> Reply:
        task = asyncio.current_task()
        assert task is not None
        self._pending.add(task)
        try:
            reply = await self._in_time(request, started + request.timeout_s)
        finally:
            self._pending.discard(task)
        return replace(reply, seconds=self.time() - started)

    async def _in_time(self, request: Request, deadline: float) -> Reply:
        try:
            async with asyncio.timeout_at(deadline), self._turns:
                return await self._answer(request, deadline)
        except TimeoutError:
            return failed("timed_out", f"{self._name}: expected a reply within {_s(request)}")
        except asyncio.CancelledError:
            if not self._is_closed:
                raise
            return self._closed()
        except Exception as error:  # one request's trouble must stay its own
            got = f"{type(error).__name__} ({error})"
            return failed("unavailable", f"{self._name}: expected a reply, got {got}")

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # Not all the loop's tasks: one that a library has made and not begun must not be cancelled.
        pending = list(self._pending)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        await last()
        await self._loop.shutdown_asyncgens()

    def _closed(self) -> Reply:
        return failed("unavailable", f"{self._name}: expected an open model, got a closed one")

    def _no_place(self, request: Request, is_inside: bool) -> Reply:
        if is_inside:
            return failed("unavailable", f"{self._name}: expected a free place, got none")
        reply = failed("timed_out", f"{self._name}: expected a place within {_s(request)}")
        return replace(reply, seconds=max(request.timeout_s, 0.0))


def _s(request: Request) -> str:
    return f"{request.timeout_s:g} s"


def _done(reply: Reply) -> Future[Reply]:
    future: Future[Reply] = Future()
    future.set_result(reply)
    return future
