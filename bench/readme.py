"""Writes the README's tables from the files that the benchmarks wrote: no figure by hand.

Each table stands between `<!-- table: NAME -->` and `<!-- end -->`; what is there is replaced.

    python -m cuegraph.bench.readme README.md --locomo report.json --ablation ablation.json

`make bench` does so with what pytest-benchmark wrote.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

Json = dict[str, Any]
CATEGORIES = {
    "1-4": "all of 1-4",
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Replace the tables of the files that are given; others stay as they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readme", type=Path)
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--ablation", type=Path)
    parser.add_argument("--leave-one-out", type=Path)
    parser.add_argument("--scale", type=Path)
    parser.add_argument("--benchmarks", type=Path)
    parser.add_argument("--targets", type=Path)
    args = parser.parse_args(argv)
    text = args.readme.read_text(encoding="utf-8")
    if args.locomo:
        report = _read(args.locomo)
        text = put(text, "locomo", locomo_table(report))
        text = put(text, "latency", latency_table(report))
    if args.ablation:
        text = put(text, "ablation", ablation_table(_read(args.ablation)))
    if args.leave_one_out:
        text = put(text, "leave-one-out", leave_one_out_table(_read(args.leave_one_out)))
    if args.scale:
        text = put(text, "scale", scale_table(_read(args.scale)))
    if args.benchmarks:
        text = put(text, "benchmarks", benchmark_table(_read(args.benchmarks)))
    if args.targets:
        text = put(text, "targets", targets_table(_read(args.targets)))
    args.readme.write_text(text, encoding="utf-8")


def put(text: str, name: str, table: str) -> str:
    """The text with the table of that name replaced; ValueError where it has no place for it."""
    start, end = f"<!-- table: {name} -->\n", "<!-- end -->"
    pattern = re.compile(re.escape(start) + r".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"expected a place marked {start.strip()!r}, got none")
    return pattern.sub(lambda _: f"{start}{table}{end}", text)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, the first column to the left, the others to the right."""
    lines = [head, ["---", *(["---:"] * (len(head) - 1))], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def locomo_table(report: Json) -> str:
    """Evidence recall by category."""
    rows = []
    for key, name in CATEGORIES.items():
        found = report["categories"][key]
        low, high = found["recall@10_ci95"]
        recalls = [f"{found[f'recall@{k}']:.1f}" for k in (5, 10, 25, 50)]
        recalls[1] += f" ({low:.1f} to {high:.1f})"
        rows.append([name, str(found["n"]), *recalls, f"{found['all@10']:.1f}"])
    head = ["category", "questions", "R@5", "R@10 (95 %)", "R@25", "R@50", "all@10"]
    return markdown(head, rows)


def latency_table(report: Json) -> str:
    """Latency of one recall, and the cost of an `add` beside the embedding."""
    rows = [
        [name.replace("_", " "), *(f"{found[p]:.1f}" for p in ("p50", "p95", "p99"))]
        for name, found in report["latency_ms"].items()
    ]
    return markdown(["one recall, ms", "p50", "p95", "p99"], rows)


def ablation_table(ablation: Json) -> str:
    """What is lost without a part: R@10 over 1-4 and of multi-hop, with the paired intervals."""
    rows = []
    for name, row in ablation["rows"].items():
        cells = [name]
        for category in ("1-4", "1"):
            cells.append(f"{row['categories'][category]['recall@10']:.1f}")
            cells.append(_gap(row["difference"].get(category)))
        rows.append(cells)
    return markdown(["row", "R@10", "difference (95 %)", "multi-hop", "difference (95 %)"], rows)


def scale_table(result: Json) -> str:
    """Evidence recall by the number of distractors, beside plain retrieval."""
    rows = []
    for size in result["sizes"]:
        for name, row in size["rows"].items():
            every, hops = row["categories"]["1-4"], row["categories"]["1"]
            found = [every["recall@10"], every["recall@25"], hops["recall@10"]]
            rows.append([f"{size['distractors']:,}", name, *(f"{value:.1f}" for value in found)])
    return markdown(["distractors", "row", "R@10", "R@25", "multi-hop R@10"], rows)


def benchmark_table(report: Json) -> str:
    """Each benchmark's median, by groups; the first of a group is ours, the others' are ratios."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for found in report["benchmarks"]:
        seconds = found["stats"]["median"] / found["extra_info"].get("queries", 1)
        name = found["param"] or found["name"].removeprefix("bench_")
        label = name.partition("-")[0].replace("_", " ")
        groups.setdefault(found["group"], []).append((label, seconds))
    rows = [
        [group if i == 0 else "", label, _time(seconds), _ratio(seconds / found[0][1])]
        for group, found in groups.items()
        for i, (label, seconds) in enumerate(found)
    ]
    return markdown(["", "", "median", "times the first"], rows)


def targets_table(report: Json) -> str:
    """Every target with its figure."""
    rows = []
    for row in report["rows"]:
        value = "-" if row["value"] is None else f"{_number(row['value'])} {row['unit']}"
        target = "" if row["target"] is None else f"{row['comparison']} {row['target']:g}"
        holds = {True: "yes", False: "no", None: ""}[row["holds"]]
        nodes = "" if row["nodes"] is None else f"{row['nodes']:,}"
        rows.append([row["name"], nodes, value, target, holds])
    return markdown(["", "turns", "measured", "target", "holds"], rows)


def leave_one_out_table(result: Json) -> str:
    """The figure of weights chosen on other conversations, beside the one chosen on all."""
    rows = [
        [name, *(f"{result[key][f'recall@{k}']:.1f}" for k in (5, 10, 25))]
        for name, key in (("held out", "held_out"), ("chosen on all", "fitted"))
    ]
    return markdown(["weights", "R@5", "R@10", "R@25"], rows)


def _time(seconds: float) -> str:
    """Seconds in the unit that fits: three digits that count."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _gap(gap: Json | None) -> str:
    if gap is None or gap["recall@10_ci95"] is None:
        return ""
    low, high = gap["recall@10_ci95"]
    return f"{gap['recall@10']:+.1f} ({low:+.1f} to {high:+.1f})"


def _read(path: Path) -> Json:
    found: Json = msgspec.json.decode(path.read_bytes())
    return found


if __name__ == "__main__":
    main()
