"""The bodies of `/chat/completions` and `/models`: what is sent, and what comes back."""

import json
from typing import Any

import msgspec

from .backend import plain
from .model import Request


class Said(msgspec.Struct):
    """What the model said, or why it would not."""

    content: str | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    """A reply, and why it ended: "stop", "length", "content_filter"."""

    message: Said
    finish_reason: str | None = None


class Completion(msgspec.Struct):
    """A server's reply. Its usage is read apart: a wrong number must not cost the reply."""

    choices: list[Choice]
    usage: Any = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Listed(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Listed]


def request_body(model: str, request: Request, *, constrained: bool) -> bytes:
    """The request as JSON.

    Constrained, it asks the server to keep to the schema; otherwise the schema is added to the
    first message. NUL and lone surrogates in messages are made plain.
    """
    messages = [
        {"role": message.role, "content": plain(message.content, len(message.content))}
        for message in request.messages
    ]
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    schema = request.schema
    if constrained:
        form = {"name": schema.name, "strict": True, "schema": schema.json}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    else:
        written = msgspec.json.encode(schema.json).decode()
        messages[0]["content"] += f"\n\nReply with JSON alone, by this JSON schema:\n{written}"
    return msgspec.json.encode(body)


def read_completion(body: bytes) -> Completion:
    """The reply in a body, of one choice or more.

    ValueError where there is none, RecursionError where its brackets nest too deep. Lone surrogates
    stay in its texts, which is why it is not msgspec that reads the bytes.
    """
    completion = msgspec.convert(json.loads(body), Completion)
    if not completion.choices:
        raise ValueError("no choice")
    return completion


def read_tokens(usage: Any) -> tuple[int, int, int]:
    """Prompt, cached and completion tokens; zeros where the server does not say."""
    try:
        said = msgspec.convert(usage, _Usage)
    except msgspec.ValidationError:
        return 0, 0, 0
    cached = said.prompt_tokens_details.cached_tokens if said.prompt_tokens_details else 0
    return said.prompt_tokens or 0, cached or 0, said.completion_tokens or 0


def read_models(body: bytes) -> list[str]:
    """The names of a server's models; ValueError where the body lists none."""
    names = [listed.id for listed in msgspec.json.decode(body, type=_Models).data]
    if not names:
        raise ValueError("no model")
    return names
