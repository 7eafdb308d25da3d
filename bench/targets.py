"""The targets of performance, each measured and compared.

Sizes in the names of rows are those that the targets are meant for; a row says at how many nodes
it was measured, which is never more than was asked for. A node is a turn here; its session and
cues are nodes of the graph, too.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from rich.table import Table

from .beam_costs import FLOOR, NETWORKX, beam_costs, named
from .measured import Figure, Measured
from .recall_costs import BATCHED, SINGLE, recall_costs
from .robust_costs import DEADLINE, DENSE, GROWTH, SINGLY, robust_costs
from .spaces import Progress, silent
from .store_costs import (
    COLD,
    COLD_WORDS,
    DIRECTORY,
    IMPORT,
    SNAPSHOT,
    WARM,
    WARM_WORDS,
    disk_costs,
    import_costs,
    open_costs,
)
from .stores import synthetic_store
from .write_costs import FLATNESS, WRITE, write_costs

NODES = 1_000_000
Comparison = Literal[">=", "<"]


class Target(NamedTuple):
    """What a measurement must reach; without a bound it is only reported."""

    name: str
    unit: str
    comparison: Comparison | None = None
    bound: float | None = None


TARGETS = (
    Target(named(NETWORKX, 10_000), "times", ">=", 30.0),
    Target(named(NETWORKX, 100_000), "times", ">=", 27.0),
    Target(named(FLOOR, 10_000), "share"),
    Target(named(FLOOR, 100_000), "share", ">=", 0.5),
    Target(named(FLOOR, 1_000_000), "share"),
    Target(BATCHED, "ms a query", "<", 1.0),
    Target(SINGLE, "ms", "<", 3.0),
    Target(WRITE, "us an event", "<", 200.0),
    Target(FLATNESS, "times", "<", 1.5),
    Target(COLD, "ms", "<", 250.0),
    Target(WARM, "ms", "<", 50.0),
    Target(COLD_WORDS, "ms", "<", 50.0),
    Target(WARM_WORDS, "ms", "<", 10.0),
    Target(SNAPSHOT, "bytes a turn", "<", 1200.0),
    Target(DIRECTORY, "bytes a turn", "<", 2500.0),
    Target(IMPORT, "s", "<", 0.6),
    Target(DENSE, "ms", "<", 50.0),
    Target(DEADLINE, "share", ">=", 1.0),
    Target(SINGLY, "times", "<", 1.1),
    Target(GROWTH, "MB", "<", 20.0),
)


class Row(msgspec.Struct, frozen=True):
    """A target with what was measured; fields as in `Target` and `Measured`.

    holds  whether the value reaches the target; None where there is none
    """

    name: str
    value: float | None
    unit: str
    comparison: Comparison | None
    target: float | None
    holds: bool | None
    nodes: int | None
    rival: Figure | None
    limit: Figure | None
    beside: dict[str, float]
    note: str | None


class Report(msgspec.Struct, frozen=True):
    """All rows, in the order of `TARGETS`; `holds` where none fails."""

    nodes: int
    cores: int
    holds: bool
    rows: list[Row]


def measure(nodes: int = NODES, store: Path | None = None, progress: Progress = silent) -> Report:
    """Every target at `nodes` turns at most.

    store  where the synthetic memory is kept for the next run; None = a temporary folder

    InputError where another memory is in `store`.
    """
    progress("import")
    found = import_costs() | beam_costs(nodes, progress=progress)
    with synthetic_store(store, nodes, progress) as directory:
        progress("bytes on disk")
        found |= disk_costs(directory, nodes)
        progress("opening")
        found |= open_costs(directory, nodes)
        progress("recalls")
        found |= recall_costs(directory, nodes)
        progress("writes")
        found |= write_costs(directory, nodes, progress=progress)
    found |= robust_costs(nodes, progress=progress)
    rows = compare(TARGETS, found)
    holds = all(row.holds is not False for row in rows)
    return Report(nodes, os.cpu_count() or 1, holds, rows)


def compare(targets: Sequence[Target], found: Mapping[str, Measured]) -> list[Row]:
    """A row for each target; KeyError where it was not measured."""
    return [_row(target, found[target.name]) for target in targets]


def reaches(value: float | None, comparison: Comparison, bound: float) -> bool:
    """Whether a value is on the right side of a bound; none is not.

    >>> reaches(30.0, ">=", 30.0), reaches(1.0, "<", 1.0), reaches(None, "<", 1.0)
    (True, False, False)
    """
    if value is None:
        return False
    return value >= bound if comparison == ">=" else value < bound


def targets_table(report: Report) -> Table:
    """A line a target."""
    table = Table(title=f"Targets at {report.nodes:,} nodes, {report.cores} cores")
    for name in ("", "nodes", "value", "target", "holds"):
        justify: Literal["left", "right"] = "right" if name in ("nodes", "value") else "left"
        table.add_column(name, justify=justify, no_wrap=True)
    for row in report.rows:
        table.add_row(
            row.name,
            "" if row.nodes is None else f"{row.nodes:,}",
            f"{shown(row.value)} {row.unit}",
            "reported" if row.target is None else f"{row.comparison} {row.target:g}",
            {True: "yes", False: "NO", None: ""}[row.holds],
        )
    return table


def beside_table(report: Report) -> Table:
    """What each row is compared with, and what was measured beside it."""
    table = Table(title="Beside", show_header=False)
    for row in report.rows:
        details = _details(row)
        if details:
            table.add_row(row.name, "\n".join(details))
    return table


def shown(value: float | None) -> str:
    """A number with three digits that count; a dash for none.

    >>> shown(0.1234), shown(12.34), shown(1234.5), shown(None)
    ('0.123', '12.3', '1,234', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _row(target: Target, found: Measured) -> Row:
    holds = None
    if target.comparison is not None and target.bound is not None:
        holds = reaches(found.value, target.comparison, target.bound)
    return Row(
        name=target.name,
        value=found.value,
        unit=target.unit,
        comparison=target.comparison,
        target=target.bound,
        holds=holds,
        nodes=found.nodes,
        rival=found.rival,
        limit=found.limit,
        beside=found.beside,
        note=found.note,
    )


def _details(row: Row) -> list[str]:
    """What a row is compared with, what was measured beside it, and its note, a line each."""
    figures = [figure for figure in (row.rival, row.limit) if figure is not None]
    lines = [f"{figure.name}: {shown(figure.value)} {figure.unit}" for figure in figures]
    beside = "; ".join(f"{name} {shown(value)}" for name, value in row.beside.items())
    return [*lines, *(line for line in (beside, row.note) if line)]
