"""A profile as a picture, drawn without a display by matplotlib, of the extra `plots`."""

from pathlib import Path
from typing import TYPE_CHECKING

from cuegraph import InputError

from .profile import STAGES, Profile, Stages, order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
LEAST_MS = 1e-3
"""Shorter times are drawn as one microsecond: the scale is logarithmic."""
_INK, _GRID = "#1f4e79", "#d0d0d0"
_MARKS = (("p50", "o", _INK), ("p95", "|", _INK), ("p99", "x", "#c05020"))


def check_picture(path: Path) -> None:
    """InputError unless `draw` could draw to `path`: found out before the work, not after it."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"picture: expected {' or '.join(SUFFIXES)}, got {path.name!r}")
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError as problem:
        need = "pip install 'cuegraph[plots]'"
        raise InputError(f"picture: expected matplotlib, got none; {need}") from problem


def draw(profile: Profile, path: Path) -> None:
    """Write the latencies by stage of single calls and of a batch as PNG or SVG, by the suffix."""
    check_picture(path)
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    stages = order(profile)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    _panel(left, "one by one", profile.single, stages)
    speed = f"{profile.batch.queries_per_s:,.0f} a second"
    title = f"in a batch over {profile.batch.threads} threads, {speed}"
    _panel(right, title, profile.batch.stages, stages)
    left.set_yticks(range(len(stages)), [STAGES.get(stage, stage) for stage in stages])
    left.invert_yaxis()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    what = f"{profile.turns:,} turns, {profile.queries} questions"
    figure.suptitle(f"Latency of a recall by stage: {what}")
    figure.savefig(path, dpi=150)


def _panel(axes: "Axes", title: str, found: Stages, stages: list[str]) -> None:
    """Percentiles of each stage on a line of its own."""
    rows = [row for row, stage in enumerate(stages) if stage in found]
    shown = [found[stages[row]] for row in rows]
    axes.hlines(rows, [_ms(one.p50) for one in shown], [_ms(one.p99) for one in shown], color=_GRID)
    for name, marker, colour in _MARKS:
        axes.scatter(
            [_ms(getattr(one, name)) for one in shown], rows, marker=marker, c=colour, label=name
        )
    axes.set_xscale("log")
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("ms")
    axes.grid(axis="x", color=_GRID, linewidth=0.5)


def _ms(value: float) -> float:
    return max(value, LEAST_MS)
