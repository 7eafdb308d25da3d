"""Tables show the figures, and a dash where there is none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cuegraph import RecallConfig, open_embedder
from cuegraph.bench import tables
from cuegraph.bench.ablation import ablate, leave_one_out
from cuegraph.bench.locomo import evaluate

Write = Callable[[Any, str], Path]
Data = list[dict[str, Any]]

EMBEDDER = open_embedder("hash")


def lines(table: Table) -> list[list[str]]:
    """The cells of each line as a terminal shows them."""
    console = Console(width=220)
    with console.capture() as captured:
        console.print(table)
    shown = captured.get().splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in shown if "│" in line]


def test_tables_of_an_evaluation(data: Data, write: Write) -> None:
    report = evaluate(write(data, "l.json"), embedder=EMBEDDER).report
    retrieval = lines(tables.retrieval_table(report.categories))
    assert retrieval[0][:4] == ["all of 1-4", "3", "100.0", "100.0"]
    assert retrieval[2] == ["2 temporal", "0", *("-" for _ in range(7))]
    caption = tables.retrieval_table(report.categories).caption
    assert isinstance(caption, str)
    assert caption.endswith("in 1 of 1 nobody named said any of them")
    assert [row[:2] for row in lines(tables.latency_table(report))] == [
        ["without embedding", "6"],
        ["with embedding", "6"],
    ]
    assert ["conv-30", "4", "no evidence given"] in lines(tables.left_out_table(report))


def test_tables_of_comparisons(data: Data, write: Write) -> None:
    path = write(data, "l.json")
    ablation = lines(tables.ablation_table(ablate(path, embedder=EMBEDDER)))
    assert ablation[0][:4] == ["full", "100.0", "100.0", "="]
    time = next(row for row in ablation if row[0] == "only arm time")
    assert time[3] == "-100.0, -100.0 to -100.0"
    chosen = leave_one_out(path, [("full", RecallConfig())], embedder=EMBEDDER)
    shown = lines(tables.leave_one_out_table(chosen))
    assert shown[0] == ["held out", "chosen on the others", "3", "100.0", "100.0"]
    assert shown[1] == ["fitted", "full", "3", "100.0", "100.0"]
    assert ["held out: conv-41", "full", "1", "100.0", "100.0"] in shown
