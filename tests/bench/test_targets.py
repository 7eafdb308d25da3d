"""Targets: every row is there, and whether it holds comes from its value and its bound."""

import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from cuegraph.bench import bench_beam, store_costs, targets
from cuegraph.bench.beam_costs import NETWORKX, beam_costs, named
from cuegraph.bench.measured import Figure, Measured, Metered, Spent, taken
from cuegraph.bench.store_costs import DIRECTORY, SNAPSHOT, disk_costs, drop_pages, open_costs
from cuegraph.bench.stores import MARKER, complete
from cuegraph.bench.synthetic import SyntheticEmbedder
from cuegraph.bench.targets import TARGETS, Report, Target, compare, reaches
from cuegraph.bench.write_costs import FLATNESS, WRITE, write_costs

N = 200
FIELDS = ["name", "value", "unit", "comparison", "target", "holds", "nodes"]
FIELDS += ["rival", "limit", "beside", "note"]


def test_every_target_is_measured_and_compared(tmp_path: Path) -> None:
    report = targets.measure(N, tmp_path / "kept")
    assert [row.name for row in report.rows] == [target.name for target in TARGETS]
    assert len({target.name for target in TARGETS}) == len(TARGETS)
    for row in report.rows:
        assert row.value is not None and row.value > 0
        assert row.nodes in (N, None)
        if row.target is None or row.comparison is None:
            assert row.holds is None
        else:
            assert row.holds == reaches(row.value, row.comparison, row.target)
    assert report.holds == all(row.holds for row in report.rows if row.target is not None)
    assert (tmp_path / "kept" / MARKER).is_file()
    built = msgspec.to_builtins(report)
    assert list(built) == ["nodes", "cores", "holds", "rows"]
    assert all(list(row) == FIELDS for row in built["rows"])


def test_the_targets_are_those_that_were_set() -> None:
    bounds = {target.name: (target.comparison, target.bound) for target in TARGETS}
    assert bounds["beam against networkx, 1e4 nodes"] == (">=", 30.0)
    assert bounds["beam against networkx, 1e5 nodes"] == (">=", 27.0)
    assert bounds["beam against its floor, 1e5 nodes"] == (">=", 0.5)
    assert bounds["recall, in batches"] == ("<", 1.0)
    assert bounds["recall, single, p99"] == ("<", 3.0)
    assert bounds["durable write"] == ("<", 200.0)
    assert bounds["import of the package"] == ("<", 0.6)


@pytest.mark.parametrize(
    ("value", "comparison", "bound", "holds"),
    [
        (30.0, ">=", 30.0, True),
        (29.9, ">=", 30.0, False),
        (0.6, "<", 0.6, False),
        (0.59, "<", 0.6, True),
        (None, "<", 1.0, False),
        (None, ">=", 1.0, False),
        (float("nan"), "<", 1.0, False),
        (float("nan"), ">=", 1.0, False),
    ],
)
def test_a_bound_is_compared(
    value: float | None, comparison: targets.Comparison, bound: float, holds: bool
) -> None:
    assert reaches(value, comparison, bound) is holds
    (row,) = compare([Target("a", "ms", comparison, bound)], {"a": Measured(value)})
    assert row.holds is holds


def test_a_row_without_a_bound_is_only_reported() -> None:
    (row,) = compare([Target("a", "share")], {"a": Measured(0.1, 7)})
    assert (row.holds, row.target, row.value, row.nodes) == (None, None, 0.1, 7)


def test_a_target_that_was_not_measured_is_a_fault() -> None:
    with pytest.raises(KeyError):
        compare([Target("a", "ms", "<", 1.0)], {})


def test_the_table_shows_rivals_limits_and_notes() -> None:
    measured = Measured(
        12.3456,
        1000,
        rival=Figure("networkx", 1234.5, "us"),
        limit=Figure("floor", 0.04567, "us"),
        beside={"wall": 5.0},
        note="on a Tuesday",
    )
    rows = compare(
        [Target("beam", "times", ">=", 30.0), Target("b", "s")],
        {"beam": measured, "b": Measured(None)},
    )
    with (console := Console(width=200)).capture() as captured:
        report = Report(1000, 2, False, rows)
        console.print(targets.targets_table(report), targets.beside_table(report))
    shown = captured.get()
    for part in ("12.3 times", ">= 30", "NO", "networkx: 1,234 us", "floor: 0.0457 us", "wall 5"):
        assert part in shown
    assert "on a Tuesday" in shown and "reported" in shown and "- s" in shown


def test_without_networkx_its_rows_say_so_and_do_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    name = named(NETWORKX, 10_000)
    found = beam_costs(8)
    assert found[name].value is None and "not installed" in (found[name].note or "")
    assert not compare([Target(name, "times", ">=", 30.0)], found)[0].holds


def test_the_libraries_keep_what_the_kernel_keeps() -> None:
    pytest.importorskip("networkx")
    n, batch = 500, 16
    kept = bench_beam.beam_kernel(n, batch)()
    rows = [kept.rows[q, : kept.count[q]].tolist() for q in range(batch)]
    assert bench_beam.beam_networkx(n, batch)() == rows
    assert bench_beam.beam_rustworkx(n, batch)() == rows


def test_the_floor_reads_the_vectors_that_the_beam_meets() -> None:
    n, batch = 500, 4
    adjacency, kept = bench_beam.graph(n)[0], bench_beam.beam_kernel(n, batch)()
    total = 0
    for q in range(batch):
        met = set(kept.rows[q, : kept.count[q]][kept.depth[q, : kept.count[q]] == 0].tolist())
        for row, depth in zip(kept.rows[q, : kept.count[q]], kept.depth[q], strict=False):
            if depth < bench_beam.DEPTH:
                met |= set(adjacency.dst[adjacency.indptr[row] : adjacency.indptr[row + 1]])
        total += len(met)
    assert bench_beam.compared(n, batch) == total
    assert len(bench_beam.dots_floor(n, batch)()) == total


def test_what_the_embedder_takes_is_left_out() -> None:
    embedder = SyntheticEmbedder(N)
    meter = Metered(embedder)
    assert (meter.name, meter.dimension) == (embedder.name, embedder.dimension)
    texts = [f"about {i}" for i in range(2000)]
    all_of_it = taken(lambda: meter.passages(texts))
    rest = taken(lambda: meter.queries(texts), meter)
    assert meter.spent.wall_s > 0 and rest.wall_s < all_of_it.wall_s / 2
    assert Spent(5.0, 3.0).less(Spent(1.0, 1.0), Spent(0.5, 1.0)) == Spent(3.5, 1.0)
    np.testing.assert_array_equal(meter.queries(texts[:3]), embedder.passages(texts[:3]))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stores") / "store"
    complete(path, N)
    return path


def test_bytes_are_all_bytes_of_the_directory(store: Path) -> None:
    found = disk_costs(store, N)
    size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    size -= (store / MARKER).stat().st_size
    assert found[DIRECTORY].value == pytest.approx(size / N)
    parts = found[DIRECTORY].beside
    assert sum(parts.values()) == pytest.approx(size / N)
    assert found[SNAPSHOT].value == pytest.approx(parts["snapshot"] + parts["vectors"])
    assert parts["vectors"] == pytest.approx(2 * 384, abs=1)  # and a header


def test_bytes_are_those_of_each_part(tmp_path: Path) -> None:
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "2.arrow").write_bytes(bytes(290))
    (tmp_path / "snapshot" / "checked.json").write_bytes(bytes(10))
    (tmp_path / "vectors.f16").write_bytes(bytes(80))
    (tmp_path / "journal.sqlite").write_bytes(bytes(20))
    (tmp_path / "journal.sqlite-wal").write_bytes(bytes(10))
    (tmp_path / MARKER).write_bytes(bytes(1000))  # no part of the memory
    found = disk_costs(tmp_path, 10)
    parts = {"journal": 3.0, "snapshot": 30.0, "vectors": 8.0}
    assert found[DIRECTORY].beside == parts
    assert (found[DIRECTORY].value, found[SNAPSHOT].value) == (41.0, 38.0)


def test_opening_is_measured_warm_and_cold_with_and_without_vectors(store: Path) -> None:
    found = open_costs(store, N, repeats=1)
    assert list(found) == [
        *(store_costs.COLD, store_costs.WARM),
        *(store_costs.COLD_WORDS, store_costs.WARM_WORDS),
    ]
    for measured in found.values():
        assert measured.value is not None and 0 < measured.beside["ms to open"] < measured.value
    if sys.platform == "linux":
        assert {"MB resident", "MB resident of files"} <= set(found[store_costs.WARM].beside)
    assert set(drop_pages(store)) <= {path.name for path in store.rglob("*")}


def test_writes_leave_the_store_as_it_is(store: Path) -> None:
    before = {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
    found = write_costs(store, N)
    assert set(found) == {WRITE, FLATNESS}
    ratios = found[FLATNESS].beside
    assert found[FLATNESS].value == pytest.approx(ratios["us"] / ratios["us at 1e3"])
    after = {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
    assert after == before
    assert list(store.parent.iterdir()) == [store]
