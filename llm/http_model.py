"""A language model behind an OpenAI-compatible server."""

import asyncio
from concurrent.futures import Future
from typing import Any, Literal, Self

import httpx
import msgspec

from ..io.errors import InputError, ModelError
from .chat import Choice, read_completion, read_models, read_tokens, request_body
from .decoding import decode
from .model import Failure, Kind, Reply, Request, Schema, failed
from .request_loop import RequestLoop
from .server import TRIES, Server, asked_wait_s, is_passing

# 8,192 tokens of a reply are about 40 kB, written as \uXXXX six times that.
MAX_BODY_BYTES = 1 << 20
CONNECT_S = 10.0
# How long the names of its models are waited for: a server that is there answers at once.
MODELS_S = 10.0
# Raw bodies are bounded as they come, so they must not come compressed.
HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
# Servers close an idle connection after 5 s; one that is taken up in that very moment is lost.
KEPT_IDLE_S = 4.0


class _Got(msgspec.Struct):
    """The end of a try: a status, 0 where there is none, and the body as far as it came."""

    status: int
    body: bytes
    wait_s: float = 0.0
    trouble: str = ""

    def is_passing(self) -> bool:
        """Whether another try may end otherwise."""
        return self.status == 0 or is_passing(self.status)


class HttpModel:
    """`POST url/chat/completions` of an OpenAI-compatible server.

    url          such as "http://127.0.0.1:8000/v1"; the key is in CUEGRAPH_API_KEY
    model        the name that the server knows the model by; None takes the first that it lists
    concurrency  requests that the server has at once
    waiting      further ones that wait here; `submit` waits beyond that
    tries        in all, where there is no connection or a status of 429 or 5xx; others are final
    back_off_s   wait before the second try, doubled before each later one, or what Retry-After says
    constrained  "auto" asks the server to keep to the schema, "never" does not

    A server that refuses `response_format` is asked again without: the schema then stands in the
    first message, and the reply is decoded as it comes. That is for each schema by name. A request
    whose next try would come after its time is up fails at once.

    InputError on an address or a number that cannot be used; ModelError where the server lists no
    model.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        concurrency: int = 32,
        waiting: int = 1024,
        tries: int = TRIES,
        back_off_s: float = 0.5,
        constrained: Literal["auto", "never"] = "auto",
    ) -> None:
        if min(concurrency, tries) < 1 or waiting < 0:
            got = f"{concurrency}, {tries} and {waiting}"
            raise InputError(f"expected concurrency and tries from 1, waiting from 0, got {got}")
        self._server = Server(url)
        self._tries = tries
        self._back_off_s = back_off_s
        self._is_asking = constrained == "auto"
        self._refused_schemas: set[str] = set()
        self._is_kept_to = True
        self._client = httpx.AsyncClient(
            headers=HEADERS | self._server.headers,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            # The loop bounds them.
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=concurrency,
                keepalive_expiry=KEPT_IDLE_S,
            ),
        )
        self._loop = RequestLoop(
            self._server.url, self._answer, concurrency=concurrency, waiting=waiting
        )
        try:
            self._name = model or self._first_model()
        except ModelError:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The name that the server knows the model by."""
        return self._name

    @property
    def constrained(self) -> bool:
        """Whether the server is asked to keep to schemas and every reply so far has been that."""
        return self._is_asking and not self._refused_schemas and self._is_kept_to

    def submit(self, request: Request) -> Future[Reply]:
        """The reply to come."""
        return self._loop.submit(request)

    def close(self) -> None:
        """Answer what is pending with "unavailable" and close the connections. Repeatable."""
        self._loop.close(self._client.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _answer(self, request: Request, deadline: float) -> Reply:
        name = request.schema.name
        is_asking = self._is_asking and name not in self._refused_schemas
        got = await self._posted(request, deadline, is_asking)
        if is_asking and _refuses_format(got):
            is_asking = False
            got = await self._posted(request, deadline, is_asking)
            # Only now is it known that it was the schema that the server would not have.
            if got.status == httpx.codes.OK:
                self._refused_schemas.add(name)
        if got.status == httpx.codes.OK:
            return self._reply(got.body, request.schema, is_asking)
        kind: Kind = "unavailable" if got.is_passing() else "refused"
        return failed(kind, self._expected("status 200", got), self._server.text(got.body))

    async def _posted(self, request: Request, deadline: float, is_asking: bool) -> _Got:
        content = request_body(self._name, request, constrained=is_asking)
        return await self._asked("POST", "/chat/completions", content, deadline)

    async def _asked(self, method: str, path: str, content: bytes, deadline: float) -> _Got:
        """The first final answer, or that of the last try that the deadline leaves."""
        back_off_s = self._back_off_s
        for _ in range(self._tries - 1):
            got = await self._tried(method, path, content)
            wait_s = max(back_off_s, got.wait_s)
            if not got.is_passing() or self._loop.time() + wait_s >= deadline:
                return got
            await asyncio.sleep(wait_s)
            back_off_s *= 2
        return await self._tried(method, path, content)

    async def _tried(self, method: str, path: str, content: bytes) -> _Got:
        body = bytearray()
        try:
            url = self._server.url + path
            async with self._client.stream(method, url, content=content) as response:
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > MAX_BODY_BYTES:
                        break
                wait_s = asked_wait_s(response.headers)
                return _Got(response.status_code, bytes(body), wait_s)
        except httpx.TransportError as error:
            trouble = f"{type(error).__name__} ({error})"
            return _Got(0, bytes(body), trouble=self._server.without_key(trouble))

    def _first_model(self) -> str:
        got = self._loop.run(self._listed())
        try:
            return read_models(got.body)[0]
        except ValueError as error:
            raise ModelError(self._expected("a server that lists a model", got)) from error

    async def _listed(self) -> _Got:
        deadline = self._loop.time() + MODELS_S
        try:
            async with asyncio.timeout_at(deadline):
                return await self._asked("GET", "/models", b"", deadline)
        except TimeoutError:
            return _Got(0, b"", trouble=f"nothing within {MODELS_S:g} s")

    def _reply(self, body: bytes, schema: Schema, is_asking: bool) -> Reply:
        try:
            if len(body) > MAX_BODY_BYTES:
                raise ValueError(f"more than {MAX_BODY_BYTES:,} bytes")
            completion = read_completion(body)
        except (ValueError, RecursionError) as error:
            message = self._expected("a chat completion", _Got(200, body, trouble=str(error)))
            return failed("invalid", message, self._server.text(body))
        value, failure = self._value(completion.choices[0], schema, is_asking)
        return Reply(value, failure, *read_tokens(completion.usage))

    def _value(self, choice: Choice, schema: Schema, is_asking: bool) -> tuple[Any, Failure | None]:
        said, refusal = choice.message.content, choice.message.refusal
        text = self._server.without_key(said or refusal or "")
        if choice.finish_reason == "length":
            return None, Failure("truncated", "expected an end within max_tokens, got none", text)
        if said is None or refusal or choice.finish_reason == "content_filter":
            return None, Failure("refused", "expected a reply, got a refusal", text)
        decoded = decode(text, schema)
        if is_asking and not decoded.is_exact:
            self._is_kept_to = False
        return decoded.value, decoded.failure

    def _expected(self, what: str, got: _Got) -> str:
        status = f"status {got.status}: {self._server.excerpt(got.body)}" if got.status else ""
        seen = " ".join(filter(None, (got.trouble, status)))
        return f"{self._server.url}: expected {what}, got {seen}"


def _refuses_format(got: _Got) -> bool:
    names = (b"response_format", b"json_schema")
    return got.status in (400, 422) and any(name in got.body.lower() for name in names)
