"""What calls cost, summed."""

import threading
from concurrent.futures import CancelledError, Future
from itertools import product
from typing import Any, get_args

import msgspec
import pytest

from cuegraph.llm.accounting import Accounted, Accounts, Cost, CostLine, CostReport
from cuegraph.llm.http_model import HttpModel
from cuegraph.llm.model import Failure, Kind, Phase, Reply, Request, generate

from .chat_requests import completion, good, request, said
from .scripted import Handler, hang, serving


def call(phase: Phase, purpose: str) -> Request:
    return msgspec.structs.replace(request(), phase=phase, purpose=purpose)


def reply(seconds: float = 0.5, kind: Kind | None = None) -> Reply:
    failure = Failure(kind, "expected, got") if kind else None
    return Reply(None, failure, 100, 60, 20, seconds)


def test_costs_are_summed_by_phase_and_purpose() -> None:
    accounts = Accounts()
    accounts.add(call("read", "route"), reply(0.5))
    accounts.add(call("read", "answer"), reply(2.0))
    accounts.add(call("read", "route"), reply(0.25, "invalid"))
    accounts.add(call("read", "route"), reply(0.25, "invalid"))
    accounts.add(call("read", "route"), reply(1.0, "truncated"))
    accounts.add(call("read", "route"), None)
    accounts.add(call("evaluate", "judge"), reply(4.0))
    accounts.add(call("write", "extract"), reply(8.0))
    route = Cost(5, {"invalid": 2, "truncated": 1}, 1, 400, 240, 80, 2.0)
    assert accounts.report().lines == (
        CostLine("write", "extract", Cost(1, {}, 0, 100, 60, 20, 8.0)),
        CostLine("read", "answer", Cost(1, {}, 0, 100, 60, 20, 2.0)),
        CostLine("read", "route", route),
        CostLine("evaluate", "judge", Cost(1, {}, 0, 100, 60, 20, 4.0)),
    )
    assert accounts.report().total("read") == Cost(6, route.failures, 1, 500, 300, 100, 4.0)
    assert accounts.report().total() == Cost(8, route.failures, 1, 700, 420, 140, 16.0)
    assert accounts.report().total("write").seconds == 8.0


def test_nothing_costs_nothing() -> None:
    report = Accounts().report()
    assert (report.lines, report.total(), report.total("read")) == ((), Cost(), Cost())


def test_a_report_is_json_and_stays_as_it_was() -> None:
    accounts = Accounts()
    accounts.add(call("read", "route"), reply(0.5, "timed_out"))
    report = accounts.report()
    accounts.add(call("read", "route"), reply())
    cost = {
        "calls": 1,
        "failures": {"timed_out": 1},
        "cancelled": 0,
        "prompt_tokens": 100,
        "cached_tokens": 60,
        "completion_tokens": 20,
        "seconds": 0.5,
    }
    lines = {"lines": [{"phase": "read", "purpose": "route", "cost": cost}]}
    text = msgspec.json.encode(report)
    assert msgspec.json.decode(text) == lines
    assert msgspec.json.decode(text, type=CostReport) == report


def test_threads_lose_no_call() -> None:
    accounts = Accounts()

    def add_some(phase: Phase) -> None:
        for _ in range(500):
            accounts.add(call(phase, "p"), reply(0.25, "refused"))

    threads = [
        threading.Thread(target=add_some, args=(phase,))
        for phase, _ in product(get_args(Phase), range(3))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = accounts.report().total()
    assert (total.calls, total.failures, total.seconds) == (4500, {"refused": 4500}, 1125.0)
    assert [line.cost.calls for line in accounts.report().lines] == [1500] * 3


def act(handler: Handler, body: Any) -> None:
    if said(body) == "hang":
        hang(handler, body)
    elif said(body) == "nonsense":
        handler.reply_json(completion("nonsense"))
    else:
        good(handler, body)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_who_has_a_reply_finds_it_in_the_sums() -> None:
    accounts = Accounts()
    with serving(act) as server, HttpModel(server.url, "m") as plain:
        model = Accounted(plain, accounts)
        assert model.name == "m"
        for n in range(1, 101):
            one = model.submit(request("nonsense" if n % 2 else "good")).result(10)
            assert (one.failure is None) == (n % 2 == 0)
            assert accounts.report().total().calls == n
        replies = generate(model, [request(str(i)) for i in range(50)])
    assert [one.value.note for one in replies] == [str(i) for i in range(50)]
    total = accounts.report().total()
    assert (total.calls, total.failures, total.cancelled) == (150, {"invalid": 50}, 0)
    assert (total.prompt_tokens, total.cached_tokens) == (150 * 11, 150 * 5)
    assert total.completion_tokens == 150 * 7


def test_a_call_that_is_given_up_is_counted() -> None:
    accounts = Accounts()
    with serving(act) as server, HttpModel(server.url, "m", concurrency=1) as plain:
        model = Accounted(plain, accounts)
        running, waiting = model.submit(request("hang")), model.submit(request("hang"))
        assert waiting.cancel()
        assert running.cancel()
        assert model.submit(request()).result(10).failure is None
        with pytest.raises(CancelledError):
            running.result(10)
        assert (accounts.report().total().calls, accounts.report().total().cancelled) == (3, 2)
        last = model.submit(request("hang"))
        model.close()
        failure = last.result(10).failure
        assert failure is not None
        assert failure.kind == "unavailable"
    assert accounts.report().total().failures == {"unavailable": 1}


class Raising:
    """A model that breaks its promise."""

    name = "raising"

    def submit(self, request: Request) -> Future[Reply]:
        future: Future[Reply] = Future()
        future.set_exception(ZeroDivisionError())
        return future

    def close(self) -> None:
        pass


def test_a_model_that_raises_is_unavailable() -> None:
    accounts = Accounts()
    failure = Accounted(Raising(), accounts).submit(request()).result(1).failure
    assert failure == Failure("unavailable", "ZeroDivisionError()")
    assert accounts.report().total().failures == {"unavailable": 1}
