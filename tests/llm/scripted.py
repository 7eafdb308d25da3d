"""A real server on the loopback that does as it is told, and the faults that servers have."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Action = Callable[["Handler", Any], None]


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the next action of the script."""

    server: "Server"
    protocol_version = "HTTP/1.1"
    # Head and body are two writes, and the second would wait 40 ms for the first's acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._act({})

    def do_POST(self) -> None:
        self._act(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _act(self, body: dict[str, Any]) -> None:
        action = self.server.note(self, body)
        action(self, body)

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, body: Any, status: int = 200) -> None:
        self.reply(status, json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Takes one action of the script per request; the last one for ever.

    requests  path, header Authorization and body of each, in the order in which they came
    ended     set when the test is over, so that nothing hangs longer
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *script: Action) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.requests: list[tuple[str, str | None, dict[str, Any]]] = []
        self.connections: set[tuple[str, int]] = set()
        self.ended = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def note(self, handler: Handler, body: dict[str, Any]) -> Action:
        """Keep a request; what is to be done with it."""
        with self._lock:
            self.requests.append((handler.path, handler.headers.get("Authorization"), body))
            self.connections.add(handler.client_address)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


@contextmanager
def serving(*script: Action) -> Iterator[Server]:
    """A server with a script, until the end of the block."""
    with Server(*script) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


def html(handler: Handler, body: Any) -> None:
    handler.reply(200, b"<html>Please log in</html>")


def empty(handler: Handler, body: Any) -> None:
    handler.reply(200, b"")


def redirect(handler: Handler, body: Any) -> None:
    handler.reply(302, b"", Location="/elsewhere")


def busy(handler: Handler, body: Any) -> None:
    handler.reply(429, b"slow down", Retry_After="0")


def broken(handler: Handler, body: Any) -> None:
    handler.reply(500, b"out of memory")


def echo_key(handler: Handler, body: Any) -> None:
    handler.reply(401, f"wrong key: {handler.headers['Authorization']}".encode())


def hang(handler: Handler, body: Any) -> None:
    handler.server.ended.wait(30)
    handler.close_connection = True


def reset(handler: Handler, body: Any) -> None:
    # Linger of zero seconds: close() sends RST instead of FIN.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def cut(handler: Handler, body: Any) -> None:
    whole = b'{"choices": [{"message": {"content": "half of it'
    handler.send_response(200)
    handler.send_header("Content-Length", str(2 * len(whole)))
    handler.end_headers()
    handler.wfile.write(whole)
    handler.close_connection = True


def endless(handler: Handler, body: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.ended.is_set():
        handler.wfile.write(b"blah " * 10_000)
