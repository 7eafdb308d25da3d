"""Requests to a language model, and the server's side of them, for tests."""

from typing import Annotated, Any

import msgspec

from cuegraph.llm.model import Message, Request, Schema

from .scripted import Handler


class Pick(msgspec.Struct, frozen=True):
    """A reply: some of three handles, and why."""

    keep: Annotated[tuple[str, ...], msgspec.Meta(max_length=3)]
    note: Annotated[str, msgspec.Meta(max_length=20)] = ""


PICK = Schema(
    "pick",
    Pick,
    {
        "type": "object",
        "properties": {
            "keep": {
                "type": "array",
                "items": {"type": "string", "enum": ["h1", "h2", "h3"]},
                "maxItems": 3,
            },
            "note": {"type": "string", "maxLength": 20},
        },
        "required": ["keep"],
        "additionalProperties": False,
    },
)
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 5},
}


def request(text: str = "good", **limits: Any) -> Request:
    """A request whose last message is `text`."""
    messages = (Message("system", "Choose."), Message("user", text))
    return Request("route", "read", messages, PICK, max_tokens=64, **limits)


def said(body: Any) -> str:
    """The last message of a request, as its server reads it."""
    return str(body["messages"][-1]["content"])


def completion(content: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A server's reply."""
    inner = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": inner, "finish_reason": finish}
    return {"object": "chat.completion", "choices": [choice], "usage": USAGE}


def good(handler: Handler, body: Any) -> None:
    """Keeps h1, and says back the first 20 characters of what it was asked."""
    note = msgspec.json.encode({"keep": ["h1"], "note": said(body)[:20]}).decode()
    handler.reply_json(completion(note))
