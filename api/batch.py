"""Questions that are asked together: what their asker may demand, and their vectors."""

import time
from collections.abc import Iterable, Sequence
from copy import copy
from datetime import datetime
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from .io.errors import InputError
from .llm.embedder import Embedder

Moment = datetime | str | int
"""A time: a datetime, an ISO 8601 string, or microseconds UTC."""


class RecallOptions(TypedDict, total=False):
    """What the asker of a question may demand.

    k              pieces of evidence, at most; 10 by default
    budget_tokens  tokens of their texts, at most
    deadline_ms    time after which the walk is left out; `Recall.cut_short` says so
    after, before  only turns with after <= time < before
    speaker        only turns of this speaker
    asked          when the question is asked, from which "last week" is read; by default when the
                   newest turn was said
    """

    k: int
    budget_tokens: int | None
    deadline_ms: float | None
    after: Moment | None
    before: Moment | None
    speaker: str | None
    asked: Moment | None


class Batch:
    """Queries, embedded together, with the options that they share.

    InputError for a blank query or an option out of its range, TypeError for an unknown one.
    """

    def __init__(self, queries: Iterable[str], embedder: Embedder, options: RecallOptions) -> None:
        if isinstance(queries, str):
            raise InputError(f"queries: expected a list of strings, got one string, {queries!r}")
        self.queries = list(queries)
        self.options = options
        _check_queries(self.queries)
        _check_options(options)
        self.started = time.perf_counter()
        self.vectors: npt.NDArray[np.float32] = embedder.queries(self.queries)
        elapsed = time.perf_counter() - self.started
        self.embedding_ms = elapsed * 1e3 / max(len(self.queries), 1)

    def part(self, places: Sequence[int]) -> "Batch":
        """The queries at some places, with what was found out about them."""
        part = copy(self)
        part.queries = [self.queries[i] for i in places]
        part.vectors = self.vectors[list(places)]
        return part


def _check_queries(queries: Sequence[str]) -> None:
    for query in queries:
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"query: expected a string that is not blank, got {query!r}")


def _check_options(options: RecallOptions) -> None:
    if unknown := sorted(options.keys() - RecallOptions.__annotations__.keys()):
        known = ", ".join(RecallOptions.__annotations__)
        raise TypeError(f"expected options among {known}; got {', '.join(unknown)}")
    _check_whole("k", options.get("k", 1), least=1)
    budget = options.get("budget_tokens")
    if budget is not None:
        _check_whole("budget_tokens", budget, least=0)
    deadline = options.get("deadline_ms")
    if deadline is not None and not isinstance(deadline, int | float):
        raise InputError(f"deadline_ms: expected milliseconds, got {deadline!r}")
    speaker = options.get("speaker")
    if speaker is not None and not isinstance(speaker, str):
        raise InputError(f"speaker: expected a name, got {speaker!r}")


def _check_whole(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}: expected a whole number, at least {least}, got {value!r}")
