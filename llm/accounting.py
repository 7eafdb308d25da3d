"""What the calls of a model cost, by phase and purpose."""

import threading
from collections import Counter
from concurrent.futures import Future
from typing import get_args

import msgspec

from .model import Kind, Model, Phase, Reply, Request, failed


class Cost(msgspec.Struct, frozen=True):
    """What some calls cost together.

    calls              all of them, those that failed or were given up included
    failures           of them, by kind; a kind that never came is absent
    cancelled          of them, given up by the caller: what those used is not known
    prompt_tokens      of which `cached_tokens` were read before and cost next to nothing
    completion_tokens  of the replies, failures included
    seconds            from submission to reply, summed: calls at the same time count each in full
    """

    calls: int = 0
    failures: dict[Kind, int] = {}
    cancelled: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        """The cost of both.

        >>> (Cost(failures={"invalid": 1}) + Cost(failures={"invalid": 2})).failures
        {'invalid': 3}
        """
        return Cost(
            self.calls + other.calls,
            dict(Counter(self.failures) + Counter(other.failures)),
            self.cancelled + other.cancelled,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


class CostLine(msgspec.Struct, frozen=True):
    """The cost of one purpose in one phase."""

    phase: Phase
    purpose: str
    cost: Cost


class CostReport(msgspec.Struct, frozen=True):
    """Lines by phase (write, read, evaluate), then purpose; `msgspec.json.encode` writes it."""

    lines: tuple[CostLine, ...]

    def total(self, phase: Phase | None = None) -> Cost:
        """The cost of one phase, or of all."""
        return sum((line.cost for line in self.lines if phase in (None, line.phase)), Cost())


class Accounts:
    """Sums of calls, by phase and purpose. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._costs: dict[tuple[Phase, str], Cost] = {}

    def add(self, request: Request, reply: Reply | None) -> None:
        """Count a call; no reply means that the caller gave it up."""
        key: tuple[Phase, str] = (request.phase, request.purpose)
        cost = _cost(reply)
        with self._lock:
            self._costs[key] = self._costs.get(key, Cost()) + cost

    def report(self) -> CostReport:
        """The sums so far."""
        with self._lock:
            costs = list(self._costs.items())
        phases = get_args(Phase)
        costs.sort(key=lambda item: (phases.index(item[0][0]), item[0][1]))
        return CostReport(tuple(CostLine(*key, cost) for key, cost in costs))


class Accounted:
    """A model that counts each call of another before its caller sees the reply."""

    def __init__(self, model: Model, accounts: Accounts) -> None:
        self._model = model
        self._accounts = accounts

    @property
    def name(self) -> str:
        """The other's name."""
        return self._model.name

    def submit(self, request: Request) -> Future[Reply]:
        """The other's reply to come."""
        counted: Future[Reply] = Future()
        inner = self._model.submit(request)
        # A future wakes its waiters before it calls back. So the callers wait for one that is set
        # after the sums: whoever has a reply finds it in them.
        inner.add_done_callback(lambda done: self._pass_on(request, done, counted))
        counted.add_done_callback(lambda done: inner.cancel() if done.cancelled() else None)
        return counted

    def close(self) -> None:
        """Close the other."""
        self._model.close()

    def _pass_on(self, request: Request, done: Future[Reply], counted: Future[Reply]) -> None:
        if done.cancelled():
            self._accounts.add(request, None)
            counted.cancel()
            counted.set_running_or_notify_cancel()
            return
        error = done.exception()
        reply = failed("unavailable", repr(error)) if error else done.result()
        self._accounts.add(request, reply)
        if counted.set_running_or_notify_cancel():
            counted.set_result(reply)


def _cost(reply: Reply | None) -> Cost:
    if reply is None:
        return Cost(calls=1, cancelled=1)
    failures: dict[Kind, int] = {reply.failure.kind: 1} if reply.failure else {}
    tokens = (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens)
    return Cost(1, failures, 0, *tokens, reply.seconds)
