"""Requests to try a model with."""

from typing import Any

from msgspec.structs import asdict, replace

from cuegraph.llm.model import Reply, Request
from cuegraph.llm.samples import sample_requests
from cuegraph.llm.vllm_model import Trial

# A machine shared with others may take minutes for what takes seconds alone.
PATIENCE_S = 900.0


def samples(calls: int, first: int = 0, temperature: float = 1.0) -> list[Request]:
    """So many requests of each kind, all different, each with a seed of its own."""
    return [
        replace(request, temperature=temperature, seed=number, timeout_s=PATIENCE_S)
        for number in range(first, first + calls)
        for request in sample_requests(number).values()
    ]


def sample(purpose: str, number: int = 0, **changes: Any) -> Request:
    """One request."""
    return replace(sample_requests(number)[purpose], **{"timeout_s": PATIENCE_S} | changes)


def trial(request: Request, **modes: bool) -> Trial:
    """The request in another mode."""
    return Trial(**asdict(request) | modes)


def failures(replies: list[Reply]) -> list[object]:
    """What went wrong: empty where nothing did."""
    return [reply.failure for reply in replies if reply.failure is not None]
