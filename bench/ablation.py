"""Ablations: what each part of the read path adds, and what choosing a configuration is worth.

The memories are built once and asked again under each configuration; only what is decided when a
question is asked can be switched. Figures and differences are in percent.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from cuegraph import Embedder, GraphConfig, InputError, RecallConfig, VectorCache

from .figures import (
    GROUPS,
    Figures,
    Scored,
    by_conversation,
    percent,
    percent_interval,
    score,
    summarise,
)
from .key import key, read_conversations, texts_of
from .locomo import write_json
from .metrics import Interval, paired_interval
from .rows import FULL, Row, rows_of
from .spaces import Progress, Setup, ask_all, open_spaces, silent

COMPARED = ("1-4", "1")

Verdict = Literal["above", "below", "no difference shown", "no ranking changed"]


class Difference(msgspec.Struct, frozen=True):
    """Recall at 10 of a row less that of "full", with its 95 % interval, paired by question."""

    recall_10: float | None = msgspec.field(name="recall@10")
    recall_10_ci95: Interval | None = msgspec.field(name="recall@10_ci95")
    verdict: Verdict


class AblationRow(msgspec.Struct, frozen=True):
    """Figures by category of one row, and how it differs from "full" over 1-4 and multi-hop."""

    categories: dict[str, Figures]
    difference: dict[str, Difference]


class Ablation(msgspec.Struct, frozen=True):
    """The rows by name, "full" first."""

    unit: str
    embedder: str
    rows: dict[str, AblationRow]

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        write_json(self, path)


class Choice(msgspec.Struct, frozen=True):
    """What was chosen for a conversation on the others, and the recall that it had there."""

    chosen: str
    n: int
    recall_10: float | None = msgspec.field(name="recall@10")
    recall_25: float | None = msgspec.field(name="recall@25")


class LeaveOneOut(msgspec.Struct, frozen=True):
    """Recall over 1-4 of a configuration chosen on other conversations, beside one chosen on all.

    held_out  each question under what was chosen without its conversation
    fitted    the best of the grid on all conversations: too good by the choice itself
    choices   by conversation
    grid      figures of each configuration over 1-4
    """

    unit: str
    embedder: str
    held_out: Figures
    fitted: Figures
    fitted_name: str
    choices: dict[str, Choice]
    grid: dict[str, Figures]

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        write_json(self, path)


def ablate(
    path: Path,
    *,
    embedder: Embedder,
    cache: VectorCache | None = None,
    config: RecallConfig | None = None,
    graph: GraphConfig | None = None,
    k: int = 50,
    workdir: Path | None = None,
    progress: Progress = silent,
) -> Ablation:
    """The rows of `rows_of(config)`, over the conversations of a LoCoMo file; see `evaluate`."""
    asked = run(
        path,
        rows_of(config or RecallConfig()),
        embedder=embedder,
        cache=cache,
        graph=graph,
        k=k,
        workdir=workdir,
        progress=progress,
    )
    rows = {
        name: AblationRow(summarise(row), _differences(row, asked[FULL]))
        for name, row in asked.items()
    }
    return Ablation("percent", embedder.name, rows)


def leave_one_out(
    path: Path,
    grid: Sequence[Row],
    *,
    embedder: Embedder,
    cache: VectorCache | None = None,
    graph: GraphConfig | None = None,
    k: int = 50,
    workdir: Path | None = None,
    progress: Progress = silent,
) -> LeaveOneOut:
    """Held-out recall over 1-4 of the best of `grid`, chosen for each conversation on the others.

    Best is the highest mean of recall at 10 and at 25, of equal ones the first. InputError where
    the grid is empty, or the file holds fewer than two conversations with questions of 1-4.
    """
    asked = run(
        path,
        grid,
        embedder=embedder,
        cache=cache,
        graph=graph,
        k=k,
        workdir=workdir,
        progress=progress,
    )
    return choose({name: _counted(row) for name, row in asked.items()}, embedder.name)


def choose(asked: Mapping[str, Sequence[Scored]], embedder: str) -> LeaveOneOut:
    """The leave-one-out figures of questions asked under each configuration, by its name."""
    names = list(asked)
    conversations = list(dict.fromkeys(q.entry.conversation for row in asked.values() for q in row))
    if len(conversations) < 2:
        raise InputError(f"expected configurations and two conversations, got {conversations}")
    held: list[Scored] = []
    choices = {}
    for left in conversations:
        name = max(names, key=lambda name: _merit(asked[name], without=left))
        own = [q for q in asked[name] if q.entry.conversation == left]
        figures = _all_of(own)
        choices[left] = Choice(name, len(own), figures.recall_10, figures.recall_25)
        held += own
    best = max(names, key=lambda name: _merit(asked[name], without=None))
    grid = {name: _all_of(row) for name, row in asked.items()}
    return LeaveOneOut("percent", embedder, _all_of(held), grid[best], best, choices, grid)


def run(
    path: Path,
    rows: Sequence[Row],
    *,
    embedder: Embedder,
    cache: VectorCache | None,
    graph: GraphConfig | None,
    k: int,
    workdir: Path | None,
    progress: Progress,
) -> dict[str, list[Scored]]:
    """The scored questions of a LoCoMo file under each configuration, by its name.

    InputError where two rows have one name.
    """
    names = [name for name, _ in rows]
    if len(set(names)) < len(names):
        raise InputError(f"expected rows of different names, got {names}")
    conversations = read_conversations(path)
    setup = Setup(
        embedder, VectorCache() if cache is None else cache, graph or GraphConfig(), workdir
    )
    answers = {}
    with open_spaces([(c.id, c.turns) for c in conversations], setup, progress) as spaces:
        for number, (name, config) in enumerate(rows, start=1):
            answers[name] = ask_all(spaces, texts_of(conversations), config, k=k)
            progress(f"row {number} of {len(rows)}: {name}")
    entries = key(conversations)
    return {name: score(entries, found) for name, found in answers.items()}


def _differences(row: Sequence[Scored], full: Sequence[Scored]) -> dict[str, Difference]:
    return {name: _difference(_counted(row, name), _counted(full, name)) for name in COMPARED}


def _difference(row: Sequence[Scored], full: Sequence[Scored]) -> Difference:
    ours, theirs = by_conversation(row, 10), by_conversation(full, 10)
    interval = paired_interval(ours, theirs)
    changed = any(a.answer.ranked != b.answer.ranked for a, b in zip(row, full, strict=True))
    before, after = _figure(theirs), _figure(ours)
    gap = None if before is None or after is None else percent(after - before)
    return Difference(gap, percent_interval(interval), _verdict(interval, changed))


def _figure(groups: Sequence[Sequence[float]]) -> float | None:
    values = [value for group in groups for value in group]
    return float(np.mean(values)) if values else None


def _verdict(interval: Interval | None, changed: bool) -> Verdict:
    if not changed:
        return "no ranking changed"
    if interval is None or interval[0] <= 0 <= interval[1]:
        return "no difference shown"
    return "above" if interval[0] > 0 else "below"


def _counted(row: Sequence[Scored], name: str = "1-4") -> list[Scored]:
    return [question for question in row if question.entry.category in GROUPS[name]]


def _all_of(row: Sequence[Scored]) -> Figures:
    return summarise(row)["1-4"]


def _merit(row: Sequence[Scored], *, without: str | None) -> float:
    return float(
        np.mean([q.recall(10) + q.recall(25) for q in row if q.entry.conversation != without])
    )
