"""What the command line shows: tables, evidence, timings and progress. Stored text is data here."""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # so that a mistyped command is answered without loading the engine
    from .engine.evidence import Evidence, Recall
    from .engine.narrative import Narrative
    from .engine.report import Stats

WIDTH = 100
"""Columns where the output is no terminal, so that it does not depend on where it was made."""
PROBLEMS_SHOWN = 20
"""A file of another kind may hold thousands; --json has them all."""

# Escape sequences would command the terminal, line ends and overrides of the writing direction
# would make a text look like our own output, and a lone surrogate cannot be written at all.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def plain(text: str) -> str:
    r"""The text with what a terminal would obey in escaped form.

    >>> plain("red: \x1b[31m, end")
    'red: \\x1b[31m, end'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def console_on(stream: TextIO) -> Console:
    """A console that writes to a stream: colours and its own width only where that is a terminal.

    Environment variables that ask for colour elsewhere (FORCE_COLOR) have no say.
    """
    terminal = stream.isatty()
    return Console(
        file=stream,
        width=None if terminal else WIDTH,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        force_jupyter=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that moves a progress bar on by so many; it does nothing but on a terminal."""
    console = console_on(sys.stderr)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        redirect_stdout=False,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


def table_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Rows of text under a header: the first column to the left, the others to the right."""
    table = Table(box=box.SIMPLE_HEAD)
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table


def note(line: str) -> None:
    """Print a line about the progress; on a terminal only."""
    console = console_on(sys.stderr)
    if console.is_terminal:
        console.print(Text(plain(line), style="dim"))


def show_problems(console: Console, problems: Sequence[tuple[str, str]]) -> None:
    """Print where something was not kept, and why; nothing where there is nothing."""
    if not problems:
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Where", overflow="fold")
    table.add_column("Not kept, because", overflow="fold")
    for where, reason in problems[:PROBLEMS_SHOWN]:
        table.add_row(Text(plain(where)), Text(plain(reason)))
    console.print(table)
    if len(problems) > PROBLEMS_SHOWN:
        console.print(f"and {len(problems) - PROBLEMS_SHOWN:,} more; --json lists them all")


def show_recall(console: Console, recall: "Recall", key: Collection[str] | None = None) -> None:
    """Print the evidence for a question; `key` holds ids of turns to mark, None = no marks."""
    console.print(Text(plain(recall.query), style="bold"))
    if not recall.evidence:
        console.print("  nothing found")
    else:
        console.print(_evidence_table(recall.evidence, key))
    cut = f", cut short: {recall.cut_short}" if recall.cut_short else ""
    tokens = f"{recall.tokens:,} tokens as {recall.counter} counts"
    console.print(f"  {len(recall.evidence)} turns, {tokens}{cut}\n")


def show_narrative(console: Console, narrative: "Narrative") -> None:
    """Print the text for a model's context, its lines not broken, so that it can be copied."""
    for line in narrative.text.split("\n"):
        console.print(Text(plain(line)), soft_wrap=True)
    left_out = f", left out: {', '.join(narrative.left_out)}" if narrative.left_out else ""
    console.print(f"\n  by {narrative.order}, {narrative.tokens:,} tokens{left_out}\n")


def show_timings(console: Console, recalls: Sequence["Recall"]) -> None:
    """Print the mean time of each stage of recalls, and its share."""
    stages = list(dict.fromkeys(stage for recall in recalls for stage in recall.timings_ms))
    mean = {
        stage: sum(recall.timings_ms.get(stage, 0.0) for recall in recalls) / len(recalls)
        for stage in stages
    }
    asked = "question" if len(recalls) == 1 else f"question, mean of {len(recalls)}"
    show_shares(console, f"Where the time of a {asked} went", "Stage", mean)


def show_shares(console: Console, title: str, what: str, spent_ms: Mapping[str, float]) -> None:
    """Print milliseconds by name, their shares and their sum."""
    whole = sum(spent_ms.values())
    rows = [
        [name, f"{spent:,.2f}", f"{100 * spent / whole:.1f} %" if whole else "-"]
        for name, spent in spent_ms.items()
    ]
    console.print(f"{title}:")
    console.print(table_of([what, "ms", "share"], [*rows, ["all", f"{whole:,.2f}", ""]]))


def show_stats(console: Console, stats: "Stats") -> None:
    """Print what a memory holds."""
    table = Table(box=None, show_header=False)
    table.add_column(style="bold", min_width=16)
    table.add_column(overflow="fold")
    for name in stats.__struct_fields__:
        table.add_row(name.replace("_", " "), Text(plain(_listed(getattr(stats, name)))))
    console.print(table)


def _listed(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count:,}" for name, count in value.items()) or "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _evidence_table(evidence: Sequence["Evidence"], key: Collection[str] | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, leading=1, expand=True)
    table.add_column("#", justify="right", width=3)
    table.add_column("Score", justify="right", width=6)
    table.add_column("Who, when, turn", width=23, overflow="fold")
    table.add_column("Found by", width=11)
    table.add_column("What was said, and the path to it", ratio=1, overflow="fold")
    for rank, piece in enumerate(evidence, start=1):
        mark = "\nin the key" if key is not None and piece.id in key else ""
        table.add_row(
            Text(str(rank)),
            Text(f"{piece.score:.3f}"),
            Text(_source(piece)).append(mark, style="bold green"),
            Text("\n".join(f"{arm} {at}" for arm, at in piece.arms.items()) or "path only"),
            Text(_said(piece)).append(_path(piece), style="dim"),
        )
    return table


def _source(piece: "Evidence") -> str:
    when = piece.time.isoformat(" ", "minutes") if piece.time is not None else "no time"
    return "\n".join(map(plain, (piece.speaker or "nobody named", when, piece.id)))


def _said(piece: "Evidence") -> str:
    return plain(piece.text if piece.caption is None else f"{piece.text} [shares {piece.caption}]")


def _path(piece: "Evidence") -> str:
    steps = " > ".join(f"{step.relation} {step.label}" for step in piece.path)
    return f"\npath: {plain(steps)}" if steps else ""
