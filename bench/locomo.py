"""Retrieval on LoCoMo: how much of a question's evidence is among the first turns that come back.

    categories  1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop; "1-4" is all of them, each
                question counted once; 5 adversarial, apart, by the rule in `figures.ADVERSARIAL`
    evidence    as `repair_evidence` reads it; a question without any that is a turn of its
                conversation is left out, and listed

Whoever asks is given turns and texts of questions (`spaces`); the key, which holds categories and
evidence, only meets the rankings afterwards, in `score`.
"""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from cuegraph import Embedder, GraphConfig, RecallConfig, VectorCache
from cuegraph.io.importers import Conversation

from .figures import Figures, Latency, Scored, percent, percentiles_of, score, summarise
from .key import (
    Corrections,
    Dropped,
    LeftOut,
    key,
    left_out,
    read_conversations,
    read_corrections,
    texts_of,
)
from .spaces import (
    COUNTER,
    Answer,
    Progress,
    Setup,
    Space,
    ask_all,
    embedding_ms,
    open_spaces,
    silent,
)

EMBEDDED = 100
"""Questions whose embedding is timed without the cache."""


class Corrected(msgspec.Struct, frozen=True):
    """The figures with the evidence of a list of corrections; `changed` questions differ."""

    changed: int
    categories: dict[str, Figures]


class Report(msgspec.Struct, frozen=True):
    """All figures of an evaluation; `categories` and `corrected` are in percent.

    add_s     seconds that adding a conversation took beside embedding
    problems  what could not be read or kept
    """

    unit: str
    categories: dict[str, Figures]
    corrected: Corrected | None
    latency_ms: Latency
    add_s: dict[str, float]
    left_out: list[LeftOut]
    dropped_evidence: list[Dropped]
    problems: list[str]
    embedder: str
    counter: str
    k: int
    config: RecallConfig
    graph: GraphConfig


class Evaluation(msgspec.Struct, frozen=True):
    """The report, and the questions behind it."""

    report: Report
    questions: list[Scored]

    def write(self, path: Path) -> None:
        """Write the report to `path`, and a line a question beside it, as `.questions.jsonl`."""
        write_json(self.report, path)
        lines = [json.dumps(_line(question), ensure_ascii=False) for question in self.questions]
        beside = path.with_suffix(".questions.jsonl")
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def evaluate(
    path: Path,
    *,
    embedder: Embedder,
    cache: VectorCache | None = None,
    config: RecallConfig | None = None,
    graph: GraphConfig | None = None,
    k: int = 50,
    workdir: Path | None = None,
    progress: Progress = silent,
    corrections: Path | None = None,
) -> Evaluation:
    """Recall, latency and time of adding over the conversations of a LoCoMo file.

    cache        vectors embedded before; None embeds everything once
    k            pieces of evidence asked for, at least 50 for recall@50
    workdir      where the memories live while it runs; None = the system's temporary folder
    progress     is told each step
    corrections  a list of corrected evidence: its figures stand beside the raw ones

    InputError where a file is not what it should be.
    """
    config, graph = config or RecallConfig(), graph or GraphConfig()
    conversations = read_conversations(path)
    correct = {} if corrections is None else read_corrections(corrections, conversations)
    setup = Setup(embedder, VectorCache() if cache is None else cache, graph, workdir)
    texts = texts_of(conversations)
    with open_spaces([(c.id, c.turns) for c in conversations], setup, progress) as spaces:
        answers = ask_all(spaces, texts, config, k=k, progress=progress)
    entries = key(conversations)
    questions = score(entries, answers)
    report = Report(
        unit="percent",
        categories=summarise(questions),
        corrected=_corrected(conversations, answers, correct) if corrections else None,
        latency_ms=_latency(embedder, list(chain(*texts)), answers),
        add_s={c.id: round(s.add_s, 3) for c, s in zip(conversations, spaces, strict=True)},
        left_out=left_out(conversations, entries),
        dropped_evidence=[
            Dropped(e.conversation, e.question, e.dropped) for e in entries if e.dropped
        ],
        problems=_problems(conversations, spaces),
        embedder=embedder.name,
        counter=COUNTER.name,
        k=k,
        config=config,
        graph=graph,
    )
    return Evaluation(report, questions)


def write_json(report: msgspec.Struct, path: Path) -> None:
    """Write a report as indented JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def _corrected(
    conversations: Sequence[Conversation],
    answers: Sequence[Answer],
    corrections: Corrections,
) -> Corrected:
    corrected = key(conversations, corrections)
    pairs = zip(key(conversations), corrected, strict=True)
    changed = sum(set(before.gold) != set(after.gold) for before, after in pairs)
    return Corrected(changed, summarise(score(corrected, answers)))


def _latency(embedder: Embedder, texts: Sequence[str], answers: Sequence[Answer]) -> Latency:
    search = [answer.search_ms for answer in answers]
    embedded = embedding_ms(embedder, texts, EMBEDDED)
    both = [search[place] + ms for place, ms in embedded.items()]
    return Latency(percentiles_of(search), percentiles_of(both))


def _problems(conversations: Sequence[Conversation], spaces: Sequence[Space]) -> list[str]:
    unread = [f"{p.where}: {p.reason}" for c in conversations for p in c.problems]
    pairs = zip(conversations, spaces, strict=True)
    return unread + [f"{c.id} {problem}" for c, space in pairs for problem in space.problems]


def _line(question: Scored) -> dict[str, Any]:
    """What the file of questions says of one; recall is in percent."""
    entry, answer = question.entry, question.answer
    return {
        "conversation": entry.conversation,
        "question": entry.question,
        "category": entry.category,
        "gold": entry.gold,
        "ranked": answer.ranked,
        "recall@10": percent(question.recall(10)),
        "timings_ms": {stage: round(ms, 4) for stage, ms in answer.timings_ms.items()},
    }
