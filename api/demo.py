"""The demonstration: a sample conversation kept, asked about, and the answers' reasons shown."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from shlex import quote
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console

from .engine.evidence import Recall
from .io.errors import InputError
from .io.importers import read_jsonl
from .io.turn import Turn
from .memory import Memory
from .render import plain, progress, show_recall, show_shares, show_timings, table_of

K = 5
"""Turns shown of a question."""
CHUNK = 32
"""Turns added at once: on a slow core an embedder takes about a second for as many."""


class Asked(msgspec.Struct, frozen=True):
    """A question of the sample; `evidence` holds the ids of the turns that answer it."""

    question: str
    kind: str
    evidence: tuple[str, ...]


def sample_turns() -> list[Turn]:
    """The turns of the sample conversation, in order."""
    lines = _sample("sample.jsonl").splitlines()
    return [item for item in read_jsonl(lines, "sample.jsonl") if isinstance(item, Turn)]


def sample_questions() -> list[Asked]:
    """The questions of the sample, with their key."""
    lines = _sample("sample_questions.jsonl").splitlines()
    return [msgspec.json.decode(line, type=Asked) for line in lines]


def first_of_each_kind(questions: list[Asked]) -> list[Asked]:
    """The first question of each kind, in order: whoever chooses others would flatter us."""
    first: dict[str, Asked] = {}
    for question in questions:
        first.setdefault(question.kind, question)
    return list(first.values())


def run_demo(console: Console, *, store: str | None = None, embedder: str | None = None) -> None:
    """Print the demonstration.

    store     directory to keep the sample in; None = a temporary one, removed at the end
    embedder  as for `Memory.open`

    InputError where `store` holds another memory.
    """
    with TemporaryDirectory(prefix="cuegraph-demo-") as temporary:
        _show(console, store or temporary, embedder)
    if store is not None:
        option = "" if embedder is None else f" --embedder {quote(embedder)}"
        command = f'cuegraph recall {quote(store)}{option} "Who is Brisket?"'
        console.print(f"The memory stays. Ask it: {plain(command)}", soft_wrap=True)


def _show(console: Console, store: str, embedder: str | None) -> None:
    spent_ms: dict[str, float] = {}
    turns = sample_turns()
    with _timed("open the memory and its embedder", spent_ms):
        memory = Memory.open(store, embedder=embedder)
    with memory:
        _check_ours(memory, turns)
        with _timed(f"add {len(turns)} turns", spent_ms):
            _add(memory, turns)
        console.print(
            f"{len(turns)} turns of {len({turn.session for turn in turns})} sessions kept, with "
            f"{memory.embedder.name}. The {K} best turns for some questions; the sample's key, "
            "which the memory never sees, marks those that hold the answer.\n"
        )
        asked = first_of_each_kind(sample_questions())
        with _timed(f"answer {len(asked)} questions", spent_ms):
            recalls = [memory.recall(question.question, k=K) for question in asked]
    for question, recall in zip(asked, recalls, strict=True):
        console.print(f"[{question.kind}]")
        show_recall(console, recall, question.evidence)
    _show_check(console, asked, recalls)
    show_shares(console, "Where the time of the demonstration went", "Step", spent_ms)
    show_timings(console, recalls)


def _check_ours(memory: Memory, turns: list[Turn]) -> None:
    ours = {(turn.speaker or "").casefold() for turn in turns}
    strangers = {name for name in memory.stats().speakers if name.casefold() not in ours}
    if strangers:
        raise InputError(
            f"--store: expected a new directory or one of an earlier demonstration, got a memory "
            f"in which {', '.join(sorted(strangers)[:3])} speak, at {memory.path}"
        )


def _add(memory: Memory, turns: list[Turn]) -> None:
    with progress("embedding and adding", len(turns)) as advance:
        for start in range(0, len(turns), CHUNK):
            memory.add(turns[start : start + CHUNK])
            advance(len(turns[start : start + CHUNK]))


def _show_check(console: Console, asked: list[Asked], recalls: list[Recall]) -> None:
    rows = []
    for question, recall in zip(asked, recalls, strict=True):
        found = {piece.id for piece in recall.evidence} & set(question.evidence)
        share = f"{len(found)} of {len(question.evidence)}" if question.evidence else "none to find"
        rows.append([question.question, question.kind, share])
    console.print(f"Turns of the key among the first {K}:")
    console.print(table_of(["Question", "kind", "found"], rows))


@contextmanager
def _timed(step: str, spent_ms: dict[str, float]) -> Iterator[None]:
    start = time.perf_counter()
    yield
    spent_ms[step] = (time.perf_counter() - start) * 1e3


def _sample(name: str) -> str:
    return (files("cuegraph") / name).read_text(encoding="utf-8")
