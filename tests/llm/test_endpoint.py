"""The endpoint back end against a real server on the loopback that does as it is told."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.io.errors import InputError, ModelError
from cuegraph.llm import open_embedder
from cuegraph.llm.endpoint import EndpointEmbedder
from cuegraph.llm.server import api_key

from .scripted import (
    Action,
    Handler,
    Server,
    broken,
    busy,
    echo_key,
    hang,
    html,
    redirect,
    reset,
    serving,
)

KEY = "sk-secret-0123456789"


def _items(body: Any) -> list[dict[str, Any]]:
    return [
        {"object": "embedding", "index": i, "embedding": [float(len(text)), 1, 0.5]}
        for i, text in enumerate(body["input"])
    ]


def _json(handler: Handler, items: list[dict[str, Any]]) -> None:
    handler.reply_json({"object": "list", "data": items})


def good(handler: Handler, body: Any) -> None:
    _json(handler, _items(body))


def shuffled(handler: Handler, body: Any) -> None:
    _json(handler, _items(body)[::-1])


def one_short(handler: Handler, body: Any) -> None:
    _json(handler, _items(body)[:-1])


def same_index(handler: Handler, body: Any) -> None:
    _json(handler, [item | {"index": 0} for item in _items(body)])


def longer_vectors(handler: Handler, body: Any) -> None:
    _json(handler, [item | {"embedding": [1.0] * 4} for item in _items(body)])


def ragged(handler: Handler, body: Any) -> None:
    _json(handler, [item | {"embedding": [1.0] * (i + 1)} for i, item in enumerate(_items(body))])


def not_a_number(handler: Handler, body: Any) -> None:
    _json(handler, [item | {"embedding": [float("nan"), 1.0, 1.0]} for item in _items(body)])


def too_large(handler: Handler, body: Any) -> None:
    text = json.dumps({"data": _items(body)}).replace("0.5", "1e999")
    handler.reply(200, text.encode())


def zeros(handler: Handler, body: Any) -> None:
    _json(handler, [item | {"embedding": [0.0, 0.0, 0.0]} for item in _items(body)])


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("CUEGRAPH_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(good) as server:
        yield server


def _open(server: Server, timeout_s: float = 5.0) -> EndpointEmbedder:
    return EndpointEmbedder(server.url, "m", timeout_s=timeout_s, back_off_s=0.001)


def _unit(texts: list[str]) -> npt.NDArray[np.float32]:
    rows = np.array([[len(text), 1.0, 0.5] for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_rows_come_in_batches_and_in_order(server: Server) -> None:
    embedder = open_embedder(f"{server.url}#m")
    texts = ["x" * (i + 1) for i in range(130)]
    assert embedder.dimension == 3
    np.testing.assert_array_equal(embedder.passages(texts), _unit(texts))
    np.testing.assert_array_equal(embedder.queries(texts[:2]), _unit(texts[:2]))
    assert [len(body["input"]) for _, _, body in server.requests] == [1, 64, 64, 2, 2]
    assert {path for path, _, _ in server.requests} == {"/v1/embeddings"}
    assert {body["model"] for _, _, body in server.requests} == {"m"}
    assert embedder.name == "endpoint:m"


def test_no_texts_give_no_rows(server: Server) -> None:
    assert _open(server).passages([]).shape == (0, 3)


def test_indices_order_the_rows(server: Server) -> None:
    server.script = [good, shuffled]
    texts = ["a", "bb", "ccc"]
    np.testing.assert_array_equal(_open(server).passages(texts), _unit(texts))


def test_hard_texts_are_made_plain(server: Server) -> None:
    _open(server).passages(["", "a\0b", "\ud800", "y" * 100_000])
    sent = server.requests[-1][2]["input"]
    assert sent[:3] == [" ", "a b", "?"]
    assert len(sent[3]) == 32_768


@pytest.mark.parametrize("fault", [busy, broken, hang, reset])
def test_a_fault_that_passes_is_tried_again(server: Server, fault: Action) -> None:
    embedder = _open(server, timeout_s=0.2)
    assert embedder.dimension == 3
    server.script = [fault, fault, fault, good]
    np.testing.assert_array_equal(embedder.passages(["abc"]), _unit(["abc"]))
    assert len(server.requests) == 1 + 4


@pytest.mark.parametrize(
    ("fault", "got"),
    [(busy, "429"), (broken, "500.*out of memory"), (hang, "ReadTimeout"), (reset, "Error")],
)
def test_a_fault_that_stays_is_an_error_after_four_tries(
    server: Server, fault: Action, got: str
) -> None:
    server.script = [fault]
    with pytest.raises(ModelError, match=f"status 200 within 4 tries, got in the last .*{got}"):
        _open(server, timeout_s=0.1).passages(["abc"])
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (one_short, "expected 2 vectors with indices 0 to 1, got 1"),
        (same_index, "expected 2 vectors with indices 0 to 1, got 2"),
        (longer_vectors, r"expected vectors of 3 numbers, got lengths \[4\]"),
        (ragged, r"expected vectors of 3 numbers, got lengths \[1, 2\]"),
        (not_a_number, "expected a JSON reply"),
        (too_large, "expected"),
        (zeros, "expected finite vectors that are not zero"),
        (html, "expected a JSON reply.*Please log in"),
        (redirect, "expected status 200, got status 302"),
        (echo_key, "expected status 200, got status 401: 'wrong key: None'"),
    ],
)
def test_a_wrong_reply_is_an_error_at_once(server: Server, fault: Action, message: str) -> None:
    embedder = _open(server)
    assert embedder.dimension == 3
    server.script = [fault]
    with pytest.raises(ModelError, match=message):
        embedder.passages(["abc", "de"])
    assert len(server.requests) == 2


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=f"{url}/embeddings.*ConnectError"):
            EndpointEmbedder(url, "m", back_off_s=0.001).passages(["abc"])


def test_the_key_is_sent_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUEGRAPH_API_KEY", f" {KEY}\n")
    server.script = [echo_key]
    embedder = _open(server)
    with pytest.raises(ModelError) as caught:
        embedder.passages(["abc"])
    assert server.requests[-1][1] == f"Bearer {KEY}"
    assert "[key]" in str(caught.value)
    assert KEY not in f"{caught.value} {embedder!r} {embedder.name}"


@pytest.mark.parametrize("key", ["sk-\nx", "sk-é", "sk-\x7f"])
def test_a_key_that_no_header_can_carry_is_refused(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUEGRAPH_API_KEY", key)
    with pytest.raises(ModelError, match="CUEGRAPH_API_KEY") as caught:
        api_key()
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        "http://127.0.0.1:1/v1",
        "http://127.0.0.1:1/v1#",
        "http://#m",
        "https:#m",
        "http://me:pass@host/v1#m",
        "http://host/v1?key=pass#m",
        "http://host:x/v1#m",
        "http://me:pass@[::1#m",
        "http://host:99999/v1#m",
        "http://host:0/v1#m",
        "http://ho\nst/v1#m",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match="http://HOST:PORT/v1#MODEL") as caught:
        open_embedder(spec)
    assert "pass@" not in str(caught.value)
    assert "key=pass" not in str(caught.value)
