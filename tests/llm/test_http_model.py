"""The HTTP back end against a real server on the loopback that does as it is told."""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from cuegraph.io.errors import InputError, ModelError
from cuegraph.llm import http_model
from cuegraph.llm.http_model import HttpModel
from cuegraph.llm.model import Failure, Kind, Reply, generate

from .chat_requests import PICK, Pick, completion, good, request, said
from .scripted import (
    Action,
    Handler,
    Server,
    broken,
    busy,
    cut,
    echo_key,
    empty,
    endless,
    hang,
    html,
    redirect,
    reset,
    serving,
)

KEY = "sk-secret-0123456789"
Open = Callable[..., tuple[Server, HttpModel]]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("CUEGRAPH_API_KEY", raising=False)


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens a server with a script and a model on it."""
    with ExitStack() as stack:

        def open_both(*script: Action, **options: Any) -> tuple[Server, HttpModel]:
            server = stack.enter_context(serving(*script))
            options = {"back_off_s": 0.001} | options
            return server, stack.enter_context(HttpModel(server.url, "m", **options))

        yield open_both


def by_name(**actions: Action) -> Action:
    """What the request's last message names; `good` where that is no name of these."""

    def act(handler: Handler, body: Any) -> None:
        actions.get(said(body), good)(handler, body)

    return act


def always(status: int, body: str = "", **headers: str) -> Action:
    return lambda handler, _: handler.reply(status, body.encode(), **headers)


def saying(content: str | None, finish: str = "stop", **message: Any) -> Action:
    return lambda handler, _: handler.reply_json(completion(content, finish, **message))


def failure_of(reply: Reply) -> Failure:
    assert reply.value is None
    assert reply.failure is not None
    return reply.failure


def ask(model: HttpModel, text: str = "good", **limits: Any) -> Reply:
    return model.submit(request(text, **limits)).result(10)


# Requests and replies


def test_a_reply_has_its_value_and_its_cost(opened: Open) -> None:
    server, model = opened(good)
    reply = ask(model, "when?", temperature=0.5, seed=7)
    assert (reply.value, reply.failure) == (Pick(("h1",), "when?"), None)
    assert (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens) == (11, 5, 7)
    assert 0 < reply.seconds < 10
    path, key, body = server.requests[0]
    assert (path, key) == ("/v1/chat/completions", None)
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Choose."},
            {"role": "user", "content": "when?"},
        ],
        "max_tokens": 64,
        "temperature": 0.5,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "pick", "strict": True, "schema": PICK.json},
        },
    }
    assert (model.name, model.constrained) == ("m", True)


def test_replies_come_in_the_order_of_the_requests(opened: Open) -> None:
    def later_is_sooner(handler: Handler, body: Any) -> None:
        time.sleep(0.002 * (20 - int(said(body))))
        good(handler, body)

    _, model = opened(later_is_sooner)
    replies = generate(model, [request(str(i)) for i in range(20)])
    assert [reply.value.note for reply in replies] == [str(i) for i in range(20)]


def test_no_question_waits_for_the_slowest(opened: Open) -> None:
    _, model = opened(by_name(slow=hang))
    slow = model.submit(request("slow"))
    assert ask(model).failure is None
    assert not slow.done()


def test_connections_are_kept(opened: Open) -> None:
    server, model = opened(good, concurrency=2)
    generate(model, [request() for _ in range(30)])
    assert len(server.requests) == 30
    assert len(server.connections) <= 2


def test_no_more_requests_at_once_than_that(opened: Open) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def count(handler: Handler, body: Any) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        good(handler, body)

    _, model = opened(count, concurrency=3)
    generate(model, [request() for _ in range(30)])
    assert most == 3


def test_hard_texts_are_made_plain(opened: Open) -> None:
    _, model = opened(good)
    assert ask(model, "a\0b\ud800汉😀").value.note == "a b?汉😀"


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, (0, 0, 0)),
        ("many", (0, 0, 0)),
        ({"prompt_tokens": 3, "completion_tokens": None}, (3, 0, 0)),
        ({"prompt_tokens": 3, "prompt_tokens_details": None}, (3, 0, 0)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}, (3, 2, 0)),
        ({"prompt_tokens_details": {}, "completion_tokens": 4, "extra": 1}, (0, 0, 4)),
    ],
)
def test_usage_is_read_as_far_as_it_goes(
    opened: Open, usage: Any, tokens: tuple[int, int, int]
) -> None:
    body = completion('{"keep": []}') | {"usage": usage}
    _, model = opened(lambda handler, _: handler.reply_json(body))
    reply = ask(model)
    assert reply.value == Pick(())
    assert (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens) == tokens


# The fault drill


def wrong_schema(handler: Handler, body: Any) -> None:
    handler.reply_json(completion('{"relevant": ["h1"]}'))


def repetition(handler: Handler, body: Any) -> None:
    handler.reply_json(completion('{"keep": ["h1"], "note": "' + "and " * 8192, "length"))


def bad_utf8(handler: Handler, body: Any) -> None:
    text = json.dumps(completion('{"keep": ["h1"], "note": "###"}'))
    handler.reply(200, text.encode().replace(b"###", b"\xff\xfe\xc0"))


FAULTS: dict[str, tuple[Action, Kind, str]] = {
    "empty": (empty, "invalid", ""),
    "html": (html, "invalid", "<html>Please log in</html>"),
    "busy": (busy, "unavailable", "slow down"),
    "broken": (broken, "unavailable", "out of memory"),
    "cut": (cut, "unavailable", '{"choices": [{"message": {"content": "half of it'),
    "repetition": (repetition, "truncated", '{"keep": ["h1"], "note": "' + "and " * 8192),
    "hang": (hang, "timed_out", ""),
    "wrong_schema": (wrong_schema, "invalid", '{"relevant": ["h1"]}'),
    "reset": (reset, "unavailable", ""),
    "bad_utf8": (bad_utf8, "invalid", "\ufffd"),
    "redirect": (redirect, "refused", ""),
    "endless": (endless, "invalid", "blah blah"),
}


def test_a_drill_of_faults_among_good_replies(opened: Open) -> None:
    server, model = opened(by_name(**{name: action for name, (action, _, _) in FAULTS.items()}))
    texts = [text for i, name in enumerate(FAULTS) for text in (name, f"good {i}", name)]
    began = time.monotonic()
    replies = generate(model, [request(text, timeout_s=3) for text in texts])
    assert time.monotonic() - began < 8
    assert len(replies) == len(texts)
    for text, reply in zip(texts, replies, strict=True):
        if text not in FAULTS:
            assert (reply.value, reply.failure) == (Pick(("h1",), text), None)
            continue
        failure = failure_of(reply)
        _, kind, raw = FAULTS[text]
        assert (text, failure.kind) == (text, kind)
        assert raw in failure.raw
        assert "expected" in failure.message
        assert reply.seconds < 4
    sent = [said(body) for _, _, body in server.requests]
    tried = {name for name in FAULTS if sent.count(name) > 2}
    assert tried == {"busy", "broken", "cut", "reset"}
    assert {sent.count(name) for name in tried} == {2 * 4}


@pytest.mark.parametrize("fault", [busy, broken, cut, reset])
def test_a_fault_that_passes_is_tried_again(opened: Open, fault: Action) -> None:
    server, model = opened(fault, fault, fault, good)
    assert ask(model).failure is None
    assert len(server.requests) == 4


@pytest.mark.parametrize("headers", [{}, {"Retry_After": "0"}])
def test_a_server_that_is_busy_after_the_fifth_call(opened: Open, headers: dict[str, str]) -> None:
    refusing = always(429, "too many", **headers)
    server, model = opened(*[good] * 5, *[refusing] * 3, good, concurrency=1)
    assert [reply.failure for reply in generate(model, [request()] * 9)] == [None] * 9
    server.script = [*[good] * 5, refusing]
    kinds = [reply.failure and reply.failure.kind for reply in generate(model, [request()] * 9)]
    assert kinds == [None] * 5 + ["unavailable"] * 4


def test_retry_after_is_waited_for(opened: Open) -> None:
    server, model = opened(always(429, Retry_After="1"), good)
    assert ask(model).seconds >= 1
    assert len(server.requests) == 2


@pytest.mark.parametrize("asked", ["3600", "9" * 400])
def test_a_wait_beyond_the_deadline_is_not_begun(opened: Open, asked: str) -> None:
    server, model = opened(always(429, Retry_After=asked))
    reply = ask(model, timeout_s=5)
    assert failure_of(reply).kind == "unavailable"
    assert (reply.seconds < 2, len(server.requests)) == (True, 1)


@pytest.mark.parametrize("asked", ["-1", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "１"])
def test_a_wait_that_is_no_number_is_the_back_off(opened: Open, asked: str) -> None:
    _, model = opened(always(503, Retry_After=asked.encode().decode("latin-1")), good)
    assert ask(model, timeout_s=5).seconds < 0.9


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 204, 301])
def test_other_statuses_are_final(opened: Open, status: int) -> None:
    said = "" if status == 204 else "the prompt is too long"
    server, model = opened(always(status, said))
    failure = failure_of(ask(model))
    assert (failure.kind, failure.raw) == ("refused", said)
    assert f"got status {status}: '{said}'" in failure.message
    assert len(server.requests) == 1


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with HttpModel(url, "m", back_off_s=0.001) as model:
            failure = failure_of(ask(model))
        assert failure.kind == "unavailable"
        assert f"{url}: expected status 200, got ConnectError" in failure.message
        with pytest.raises(ModelError, match=f"{url}: expected a server .*ConnectError"):
            HttpModel(url, back_off_s=0.001)


def test_what_the_back_end_does_not_foresee_is_a_failure(opened: Open) -> None:
    _, model = opened(good)
    mad = msgspec.structs.replace(PICK, json={"enum": [object()]})
    bad = msgspec.structs.replace(request(), schema=mad)
    replies = generate(model, [request(), bad, request()])
    assert [reply.failure is None for reply in replies] == [True, False, True]
    assert (failure_of(replies[1]).kind, model.constrained) == ("unavailable", True)


# What a reply says


@pytest.mark.parametrize(
    ("action", "kind", "raw"),
    [
        (saying('{"keep": ["h1"]}', "length"), "truncated", '{"keep": ["h1"]}'),
        (saying(None, "length"), "truncated", ""),
        (saying('{"keep": ["h1"', "stop"), "truncated", '{"keep": ["h1"'),
        (saying(None), "refused", ""),
        (saying(None, refusal="I cannot help."), "refused", "I cannot help."),
        (saying("{}", "content_filter"), "refused", "{}"),
        (saying(""), "invalid", ""),
        (saying("I am not sure."), "invalid", "I am not sure."),
        (saying('{"keep": ["h9"]}'), "invalid", '{"keep": ["h9"]}'),
    ],
)
def test_a_reply_that_is_no_value_costs_what_it_costs(
    opened: Open, action: Action, kind: Kind, raw: str
) -> None:
    _, model = opened(action)
    reply = ask(model)
    assert (failure_of(reply).kind, failure_of(reply).raw) == (kind, raw)
    assert (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens) == (11, 5, 7)


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": {"content": ["parts"]}}]},
        {"error": {"message": "overloaded"}},
    ],
)
def test_a_body_that_is_no_completion_is_invalid(opened: Open, body: Any) -> None:
    _, model = opened(lambda handler, _: handler.reply_json(body))
    failure = failure_of(ask(model))
    assert (failure.kind, failure.raw) == ("invalid", json.dumps(body))
    assert "expected a chat completion" in failure.message


def test_a_body_of_brackets_is_invalid(opened: Open) -> None:
    _, model = opened(always(200, "[" * 500_000))
    assert failure_of(ask(model)).kind == "invalid"


def test_a_body_is_read_up_to_its_bound(opened: Open) -> None:
    server, model = opened(endless)
    failure = failure_of(ask(model, timeout_s=30))
    assert (failure.kind, "1,048,576 bytes" in failure.message) == ("invalid", True)
    assert len(failure.raw) < 2 * http_model.MAX_BODY_BYTES
    server.script = [good]
    assert ask(model).failure is None


def test_surrogates_cost_no_reply(opened: Open) -> None:
    inner = '{"keep": ["h1"], "note": "a\\ud800b"}'
    _, model = opened(saying(inner), saying(inner.replace("\\ud800", "\ud800")))
    assert [reply.value.note for reply in generate(model, [request()] * 2)] == ["a?b"] * 2
    assert model.constrained


# Servers that cannot constrain


def without_format(handler: Handler, body: Any) -> None:
    if "response_format" in body:
        handler.reply(400, b'{"error": "Unsupported parameter: response_format"}')
    else:
        good(handler, body)


def test_a_server_that_refuses_the_format_is_asked_without(opened: Open) -> None:
    server, model = opened(without_format)
    assert model.constrained
    assert ask(model).value == Pick(("h1",), "good")
    assert not model.constrained
    assert ask(model).value == Pick(("h1",), "good")
    bodies = [body for _, _, body in server.requests]
    assert ["response_format" in body for body in bodies] == [True, False, False]
    first, last = bodies[-1]["messages"]
    instructions, _, schema = first["content"].partition("\n\nReply with JSON alone")
    assert (instructions, last["content"]) == ("Choose.", "good")
    assert json.loads(schema.partition("\n")[2]) == PICK.json


def test_one_schema_that_is_refused_leaves_the_others(opened: Open) -> None:
    def refuses_one(handler: Handler, body: Any) -> None:
        form = body.get("response_format", {}).get("json_schema", {})
        act = without_format if form.get("name") == "odd" else good
        act(handler, body)

    server, model = opened(refuses_one)
    odd = msgspec.structs.replace(PICK, name="odd")
    ask(model)
    assert model.submit(msgspec.structs.replace(request(), schema=odd)).result(10).failure is None
    assert not model.constrained
    ask(model)
    asked = ["response_format" in body for _, _, body in server.requests]
    assert asked == [True, True, False, True]


def test_a_refusal_that_only_quotes_the_format_is_a_refusal(opened: Open) -> None:
    server, model = opened(always(400, "too long: {'response_format': {}, ...}"))
    assert failure_of(ask(model)).kind == "refused"
    assert len(server.requests) == 2
    assert model.constrained


def test_a_server_that_ignores_the_schema_is_noticed(opened: Open) -> None:
    fenced = 'Sure:\n```json\n{"keep": ["h2"]}\n```'
    server, model = opened(saying(fenced))
    assert ask(model).value == Pick(("h2",))
    assert not model.constrained
    # It costs nothing to go on asking, and one odd reply must not spoil those to come.
    server.script = [good]
    ask(model)
    assert "response_format" in server.requests[-1][2]


def test_never_asks_for_no_schema(opened: Open) -> None:
    server, model = opened(good, constrained="never")
    assert ask(model).failure is None
    assert "response_format" not in server.requests[0][2]
    assert not model.constrained


# Time, cancelling, the end


def test_time_counts_from_submission(opened: Open) -> None:
    server, model = opened(by_name(hang=hang), concurrency=1)
    replies = generate(
        model, [request("hang", timeout_s=0.6), request(timeout_s=0.2), request(timeout_s=5)]
    )
    kinds = [reply.failure and reply.failure.kind for reply in replies]
    assert kinds == ["timed_out", "timed_out", None]
    assert 0.2 <= replies[1].seconds < 0.6 <= replies[0].seconds < 2
    assert [said(body) for _, _, body in server.requests] == ["hang", "good"]
    assert "within 0.2 s" in failure_of(replies[1]).message


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
def test_no_time_is_no_reply(opened: Open, timeout_s: float) -> None:
    _, model = opened(good)
    assert failure_of(ask(model, timeout_s=timeout_s)).kind == "timed_out"


def test_all_the_time_there_is(opened: Open) -> None:
    _, model = opened(good)
    assert ask(model, timeout_s=float("inf")).failure is None


def test_a_running_request_can_be_given_up(opened: Open) -> None:
    gone = threading.Event()

    def watch(handler: Handler, body: Any) -> None:
        handler.connection.settimeout(10)
        if handler.connection.recv(1) == b"":
            gone.set()
        handler.close_connection = True

    server, model = opened(by_name(watch=watch), concurrency=1)
    future = model.submit(request("watch"))
    while not server.requests:
        time.sleep(0.001)
    assert future.cancel()
    assert gone.wait(5)
    assert ask(model).failure is None
    with pytest.raises(CancelledError):
        future.result(5)


def test_a_waiting_request_can_be_given_up(opened: Open) -> None:
    server, model = opened(by_name(hang=hang), concurrency=1)
    model.submit(request("hang", timeout_s=0.5))
    waiting, last = model.submit(request("given up")), model.submit(request("last"))
    assert waiting.cancel()
    assert last.result(10).failure is None
    assert [said(body) for _, _, body in server.requests] == ["hang", "last"]


def test_submit_waits_when_all_places_are_taken(opened: Open) -> None:
    _, model = opened(by_name(hang=hang), concurrency=1, waiting=1)
    began = time.monotonic()
    futures = [model.submit(request("hang", timeout_s=0.3)), model.submit(request(timeout_s=5))]
    assert time.monotonic() - began < 0.2
    futures.append(model.submit(request(timeout_s=5)))
    assert 0.2 < time.monotonic() - began < 2
    kinds = [reply.failure and reply.failure.kind for reply in (f.result(10) for f in futures)]
    assert kinds == ["timed_out", None, None]


def test_a_place_that_does_not_come_is_a_timeout(opened: Open) -> None:
    _, model = opened(hang, concurrency=1, waiting=0)
    model.submit(request())
    reply = ask(model, timeout_s=0.1)
    assert (failure_of(reply).kind, reply.seconds >= 0.1) == ("timed_out", True)
    assert "expected a place within 0.1 s" in failure_of(reply).message


def test_places_come_back(opened: Open) -> None:
    _, model = opened(by_name(broken=broken), concurrency=2, waiting=0)
    for i in range(20):
        future = model.submit(request("broken" if i % 2 else "good", timeout_s=5))
        if i % 3 == 0:
            future.cancel()
    assert ask(model, timeout_s=5).failure is None


def test_a_reply_may_lead_to_the_next_request(opened: Open) -> None:
    _, model = opened(good, concurrency=1, waiting=0)
    last: Future[Reply] = Future()

    def follow(_: Future[Reply]) -> None:
        model.submit(request("next")).add_done_callback(lambda f: last.set_result(f.result()))

    model.submit(request()).add_done_callback(follow)
    assert last.result(10).value == Pick(("h1",), "next")


def test_a_callback_never_waits_for_a_place(opened: Open) -> None:
    _, model = opened(by_name(hang=hang), concurrency=1, waiting=0)
    replies: list[Reply] = []
    ended = threading.Event()

    def follow(_: Future[Reply]) -> None:
        model.submit(request("hang", timeout_s=0.2))
        replies.append(model.submit(request()).result(0))
        ended.set()

    model.submit(request()).add_done_callback(follow)
    assert ended.wait(5)
    assert failure_of(replies[0]).kind == "unavailable"
    assert "expected a free place" in failure_of(replies[0]).message


def test_many_threads_submit(opened: Open) -> None:
    _, model = opened(good, concurrency=4, waiting=4)
    notes: list[str] = []

    def ask_some(name: str) -> None:
        texts = [f"{name} {i}" for i in range(20)]
        replies = generate(model, [request(text) for text in texts])
        assert [reply.value.note for reply in replies] == texts
        notes.extend(texts)

    threads = [threading.Thread(target=ask_some, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(notes) == 120


def test_closing_ends_what_is_pending(opened: Open) -> None:
    server, model = opened(by_name(hang=hang), concurrency=2, waiting=2)
    futures = [model.submit(request("hang")) for _ in range(4)]
    blocked: list[Reply] = []
    thread = threading.Thread(target=lambda: blocked.append(ask(model)))
    thread.start()
    while len(server.requests) < 2:
        time.sleep(0.001)
    began = time.monotonic()
    model.close()
    thread.join(10)
    assert time.monotonic() - began < 2
    assert wait(futures, 5).not_done == set()
    for reply in [*(future.result(0) for future in futures), *blocked]:
        assert failure_of(reply).kind == "unavailable"
        assert "closed" in failure_of(reply).message
    assert len(blocked) == 1


def test_closing_at_once_loses_nothing(opened: Open) -> None:
    _, model = opened(good)
    futures = [model.submit(request()) for _ in range(200)]
    model.close()
    model.close()
    kinds = {reply.failure and reply.failure.kind for reply in (f.result(0) for f in futures)}
    assert kinds <= {None, "unavailable"}
    assert failure_of(ask(model)).kind == "unavailable"
    assert not any(thread.name == "cuegraph-requests" for thread in threading.enumerate())


# Which model


def models(*names: str) -> Action:
    body = {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
    return lambda handler, _: handler.reply_json(body)


def test_the_first_listed_model_is_taken() -> None:
    with (
        serving(models("org/model-a", "b"), good) as server,
        HttpModel(server.url + "/") as model,
    ):
        assert model.name == "org/model-a"
        assert ask(model).failure is None
        paths = [path for path, _, _ in server.requests]
        assert paths == ["/v1/models", "/v1/chat/completions"]
        assert server.requests[1][2]["model"] == "org/model-a"


@pytest.mark.parametrize(
    ("action", "got"),
    [
        (models(), r"status 200: '\{\"object\": \"list\", \"data\": \[\]\}'"),
        (html, ".*status 200: '<html>Please log in"),
        (echo_key, "status 401: 'wrong key: None'"),
        (broken, "status 500: 'out of memory'"),
        (hang, "nothing within 0.2 s"),
        (reset, "ReadError"),
    ],
)
def test_a_server_that_lists_no_model_is_an_error(
    action: Action, got: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_model, "MODELS_S", 0.2)
    with (
        serving(action) as server,
        pytest.raises(ModelError, match=f"{server.url}: expected a server that lists .*got {got}"),
    ):
        HttpModel(server.url, back_off_s=0.001)
    assert not any(thread.name == "cuegraph-requests" for thread in threading.enumerate())


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000/v1", "ftp://h/v1", "http://h/v1#m", "http://h:x/v1", "http://u:p@h"]
)
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="http://HOST:PORT/v1"):
        HttpModel(url, "m")


@pytest.mark.parametrize("number", [{"concurrency": 0}, {"tries": 0}, {"waiting": -1}])
def test_a_number_that_cannot_be_used_is_refused(number: dict[str, int]) -> None:
    with pytest.raises(InputError, match="concurrency and tries from 1"):
        HttpModel("http://127.0.0.1:1/v1", "m", **number)  # type: ignore[arg-type]


def test_the_key_is_sent_and_never_shown(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CUEGRAPH_API_KEY", f" {KEY}\n")
    caplog.set_level(logging.DEBUG)
    repeats = by_name(refused=echo_key, html=always(200, f"<b>{KEY}"), said=saying(KEY))
    server, model = opened(repeats)
    replies = generate(model, [request(text) for text in ("good", "refused", "html", "said")])
    assert {key for _, key, _ in server.requests} == {f"Bearer {KEY}"}
    for reply in replies[1:]:
        assert "[key]" in failure_of(reply).raw
    seen = [model.name, repr(model), *map(repr, replies), *map(str, vars(model).values())]
    assert caplog.records
    assert KEY not in " ".join([*seen, caplog.text])
