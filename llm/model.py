"""Language models as the engine sees them: requests in, futures of replies out, failures as values.

A back end takes any number of requests at once and answers each as soon as it is done, so that no
question waits for the slowest of its batch.
"""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]
Phase = Literal["write", "read", "evaluate"]
Kind = Literal["invalid", "truncated", "timed_out", "refused", "unavailable"]


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation with a model."""

    role: Role
    content: str


class Schema(msgspec.Struct, frozen=True):
    """What a reply must be.

    name  of the call, as a server may want one for its schema
    type  msgspec type that a reply is decoded as, which checks it once more
    json  the same as JSON schema, every string and list of it bounded
    """

    name: str
    type: Any
    json: dict[str, Any]


class Request(msgspec.Struct, frozen=True):
    """One call.

    purpose      what it is for: the key that its costs are summed by, with `phase`
    messages     instructions first, which calls of one purpose share: a server keeps what they cost
    max_tokens   of the reply; a reply that reaches it is a failure
    temperature  0 takes the likeliest token each time; `seed` matters above it
    timeout_s    from submission to reply
    """

    purpose: str
    phase: Phase
    messages: tuple[Message, ...]
    schema: Schema
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    timeout_s: float = 120.0


class Failure(msgspec.Struct, frozen=True):
    """Why there is no value.

    invalid      it was not what the schema asks for
    truncated    it reached the limit of tokens before its end
    timed_out    it did not come in time
    refused      the model or its server would not answer: a bad key, a prompt that is too long
    unavailable  no server, no free place, a broken connection; trying again may help

    raw  what came, as far as it came; "" where nothing did
    """

    kind: Kind
    message: str
    raw: str = ""


class Reply(msgspec.Struct, frozen=True):
    """What came of a request: a value or a failure, and what it cost.

    value              of the schema's type; None where there is a failure
    prompt_tokens      of which `cached_tokens` were read before and cost next to nothing
    completion_tokens  of the reply
    seconds            from submission to reply
    """

    value: Any
    failure: Failure | None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class Model(Protocol):
    """What the engine asks of a language model. Methods may be called from several threads.

    The future never holds an exception of the model's: what goes wrong with one request is the
    failure of its reply, and no other request's. Cancelling the future gives the request up,
    waiting or running. Requests beyond a back end's bound wait in `submit`.
    """

    @property
    def name(self) -> str:
        """Which model it is, for reports."""
        ...

    def submit(self, request: Request) -> Future[Reply]:
        """The reply to come."""
        ...

    def close(self) -> None:
        """Give up what is pending, as unavailable, and let go of the model. Repeatable."""
        ...


def generate(model: Model, requests: Iterable[Request]) -> list[Reply]:
    """The reply to each request, in order, all of them having been submitted together."""
    futures = [model.submit(request) for request in requests]
    return [future.result() for future in futures]


def failed(kind: Kind, message: str, raw: str = "", seconds: float = 0.0) -> Reply:
    """A reply that is a failure."""
    return Reply(None, Failure(kind, message, raw), seconds=seconds)
