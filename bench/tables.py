"""Evaluations as tables for a terminal."""

from collections.abc import Mapping

from rich.table import Table

from .ablation import Ablation, Difference, LeaveOneOut
from .figures import Figures, Percentiles
from .locomo import Report
from .metrics import Interval
from .scale import Scale

CATEGORIES: Mapping[str, str] = {
    "1-4": "all of 1-4",
    "1": "1 multi-hop",
    "2": "2 temporal",
    "3": "3 open-domain",
    "4": "4 single-hop",
    "5": "5 adversarial",
}


def retrieval_table(categories: Mapping[str, Figures], title: str = "Evidence recall, %") -> Table:
    """A line a category: recall at each k, all@10, the interval and the tokens."""
    table = _table(
        title, "category", "n", "R@5", "R@10", "95 %", "R@25", "R@50", "all@10", "tokens"
    )
    for name, figures in categories.items():
        table.add_row(
            CATEGORIES[name], str(figures.n), *_cells(figures), _one(figures.tokens_top10)
        )
    if rule := categories["5"].rule:
        bait = f"in {categories['5'].bait} of {categories['5'].n} nobody named said any of them"
        table.caption = f"5 {rule}; {bait}"
    return table


def latency_table(report: Report) -> Table:
    """Percentiles of a recall, in milliseconds."""
    table = _table("Latency of one recall, ms", "", "calls", "p50", "p95", "p99")
    latency = report.latency_ms
    _add_percentiles(table, "without embedding", latency.without_embedding)
    _add_percentiles(table, "with embedding", latency.with_embedding)
    return table


def left_out_table(report: Report) -> Table:
    """A line a question that is not scored."""
    table = _table("Questions left out", "conversation", "question", "reason")
    for item in report.left_out:
        table.add_row(item.conversation, str(item.question), item.reason)
    return table


def ablation_table(ablation: Ablation) -> Table:
    """A line a row: figures over 1-4 and multi-hop, and the differences of R@10 to "full"."""
    table = _table(
        "Ablation, %",
        *("row", "R@10", "R@25", "less full, R@10 (95 %)", "hops R@10", "less full (95 %)"),
    )
    for name, row in ablation.rows.items():
        every, hop = row.categories["1-4"], row.categories["1"]
        table.add_row(
            *(name, _one(every.recall_10), _one(every.recall_25), _gap(row.difference["1-4"])),
            *(_one(hop.recall_10), _gap(row.difference["1"])),
        )
    table.caption = (
        "R@10 and R@25 over categories 1 to 4, hops: category 1. A difference in brackets is not "
        "distinguishable from none; = where no ranking changed at all"
    )
    return table


def leave_one_out_table(result: LeaveOneOut) -> Table:
    """The held-out and the fitted figure, then a line a conversation and a configuration."""
    table = _table("Leave one conversation out, 1-4, %", "", "configuration", "n", "R@10", "R@25")
    for name, label, figures in (
        ("held out", "chosen on the others", result.held_out),
        ("fitted", result.fitted_name, result.fitted),
    ):
        table.add_row(name, label, str(figures.n), _one(figures.recall_10), _one(figures.recall_25))
    table.add_section()
    for name, choice in result.choices.items():
        cells = (_one(choice.recall_10), _one(choice.recall_25))
        table.add_row(f"held out: {name}", choice.chosen, str(choice.n), *cells)
    table.add_section()
    for name, figures in result.grid.items():
        cells = (_one(figures.recall_10), _one(figures.recall_25))
        table.add_row("grid", name, str(figures.n), *cells)
    return table


def scale_table(scale: Scale) -> Table:
    """A line a configuration and size: figures over 1-4 and multi-hop, and latency."""
    columns = ("turns", "", "R@10", "R@25", "hops R@10", "p50 ms", "p95 ms")
    table = _table("Among distractors, %", "distractors", *columns)
    for size in scale.sizes:
        for name, row in size.rows.items():
            every, hop, latency = row.categories["1-4"], row.categories["1"], row.latency_ms
            recalls = (every.recall_10, every.recall_25, hop.recall_10)
            waits = (None, None) if latency is None else (latency.p50, latency.p95)
            cells = (_one(value) for value in (*recalls, *waits))
            table.add_row(f"{size.distractors:,}", f"{size.turns:,}", name, *cells)
        table.add_section()
    vectors = "all vectors embedded"
    if derived := scale.derivation:
        vectors = (
            f"derived vectors of distractors: cosine to their originals {derived.derived_cosine}, "
            f"as of {derived.sampled} embedded ones ({derived.cosine})"
        )
    table.caption = f"R@10 and R@25 over categories 1 to 4, hops: category 1; {vectors}"
    return table


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title)
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        *(_one(figures.recall_5), _one(figures.recall_10), _interval(figures.recall_10_ci95)),
        *(_one(figures.recall_25), _one(figures.recall_50), _one(figures.all_10)),
    )


def _gap(difference: Difference) -> str:
    if difference.recall_10 is None or difference.recall_10_ci95 is None:
        return "-"
    if difference.verdict == "no ranking changed":
        return "="
    low, high = difference.recall_10_ci95
    gap = f"{difference.recall_10:+.1f}, {low:+.1f} to {high:+.1f}"
    return f"({gap})" if difference.verdict == "no difference shown" else gap


def _add_percentiles(table: Table, name: str, found: Percentiles | None) -> None:
    if found is not None:
        table.add_row(
            name, str(found.n), *(f"{ms:.1f}" for ms in (found.p50, found.p95, found.p99))
        )


def _one(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _interval(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}"
