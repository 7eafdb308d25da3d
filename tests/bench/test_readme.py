"""The script that writes the README's tables."""

from pathlib import Path

import msgspec
import pytest

from cuegraph.bench import readme

FIGURES = {"recall@5": 1.0, "recall@10": 22.25, "recall@25": 33.0, "recall@50": 44.0}


def test_a_table_is_put_in_its_place_and_nothing_else_moves(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- table: leave-one-out -->\nold\n<!-- end -->\nafter\n")
    figures = tmp_path / "figures.json"
    figures.write_bytes(msgspec.json.encode({"held_out": FIGURES, "fitted": FIGURES}))
    for _ in range(2):  # a second run changes nothing more
        readme.main([str(page), "--leave-one-out", str(figures)])
        assert page.read_text() == (
            "before\n<!-- table: leave-one-out -->\n"
            "| weights | R@5 | R@10 | R@25 |\n| --- | ---: | ---: | ---: |\n"
            "| held out | 1.0 | 22.2 | 33.0 |\n| chosen on all | 1.0 | 22.2 | 33.0 |\n"
            "<!-- end -->\nafter\n"
        )


def test_a_table_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a place marked '<!-- table: scale -->'"):
        readme.put("no place", "scale", "")


def test_the_tables_of_the_readme_have_their_places() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for name in (
        *("locomo", "latency", "leave-one-out", "scale", "ablation"),
        *("benchmarks", "targets"),
    ):
        assert f"<!-- table: {name} -->\n|" in page, name


def test_benchmarks_are_ratios_to_the_first_of_their_group() -> None:
    def found(group: str, param: str | None, median: float, **extra: int) -> dict[str, object]:
        return {
            **{"group": group, "name": "bench_it", "param": param},
            **{"stats": {"median": median}, "extra_info": extra},
        }

    benchmarks = [
        found("beam", "ours_now-4", 4e-3, queries=1000),
        found("add", None, 1.5),
        found("beam", "theirs-4", 4e-3, queries=10),
    ]
    assert readme.benchmark_table({"benchmarks": benchmarks}).splitlines()[2:] == [
        "| beam | ours now | 4 us | 1 |",
        "|  | theirs | 400 us | 100 |",
        "| add | it | 1.5 s | 1 |",
    ]


def test_a_target_is_shown_with_its_figure_and_whether_it_holds() -> None:
    row = {"name": "beam", "nodes": 1000, "value": 12.34, "unit": "times"}
    rows = [
        {**row, "target": 30.0, "comparison": ">=", "holds": False},
        {**row, "value": None, "target": None, "comparison": None, "holds": None, "nodes": None},
    ]
    assert readme.targets_table({"rows": rows}).splitlines()[2:] == [
        "| beam | 1,000 | 12.3 times | >= 30 | no |",
        "| beam |  | - |  |  |",
    ]


def test_a_difference_is_shown_with_its_interval() -> None:
    row = {
        "categories": {"1-4": FIGURES, "1": FIGURES},
        "difference": {"1-4": {"recall@10": -1.25, "recall@10_ci95": [-2.0, 0.5]}},
    }
    table = readme.ablation_table({"rows": {"no walk": row}})
    assert table.splitlines()[-1] == "| no walk | 22.2 | -1.2 (-2.0 to +0.5) | 22.2 |  |"
