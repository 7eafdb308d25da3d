"""Latency by stage: every stage that a recall names, for single calls and for a batch."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from cuegraph import InputError, Memory
from cuegraph.bench.figures import Percentiles
from cuegraph.bench.picture import SUFFIXES, check_picture, draw
from cuegraph.bench.profile import (
    ALL,
    STAGES,
    Batches,
    Profile,
    Stages,
    order,
    profile,
    profile_table,
)
from cuegraph.bench.stores import synthetic_store
from cuegraph.bench.synthetic import SyntheticEmbedder, questions

N, ASKED = 200, 12


@pytest.fixture(scope="module")
def store() -> Iterator[Path]:
    with synthetic_store(None, N) as path:
        yield path


def made(single: Stages, batch: Stages) -> Profile:
    return Profile(N, "hash", ASKED, 10, "ms", single, Batches(2, batch, 100.0, 120.0))


def test_every_stage_is_measured(store: Path) -> None:
    embedder = SyntheticEmbedder(N)
    found = profile(store, embedder, questions(N, ASKED))
    assert (found.turns, found.queries, found.embedder) == (N, ASKED, embedder.name)
    with Memory.open(store, embedder=embedder, read_only=True) as memory:
        stages = memory.recall("What did Dov say?").timings_ms.keys()
    assert found.single.keys() == {*stages, "narrative", ALL}
    assert found.batch.stages.keys() == {*stages, "narrative"}
    for one in (*found.single.values(), *found.batch.stages.values()):
        assert one.n == ASKED and 0 <= one.p50 <= one.p95 <= one.p99
    assert found.single[ALL].p99 >= max(one.p99 for one in found.single.values())
    assert found.batch.queries_per_s_without_embedding >= found.batch.queries_per_s > 0


def test_the_shape_of_the_json(store: Path) -> None:
    found = profile(store, SyntheticEmbedder(N), questions(N, ASKED))
    built = msgspec.to_builtins(found)
    assert list(built) == ["turns", "embedder", "queries", "k", "unit", "single", "batch"]
    assert list(built["single"]["beam"]) == ["n", "p50", "p95", "p99"]
    assert built["unit"] == "ms"


def test_no_questions_are_refused(store: Path) -> None:
    with pytest.raises(InputError, match="at least one"):
        profile(store, SyntheticEmbedder(N), [])


def test_stages_are_shown_in_the_order_of_the_read_path() -> None:
    one = Percentiles(ASKED, 1.0, 2.0, 3.0)
    found = made({ALL: one, "new": one, "beam": one, "analysis": one}, {"beam": one})
    assert order(found) == ["analysis", "beam", "new", ALL]
    with (console := Console(width=200)).capture() as captured:
        console.print(profile_table(found))
    shown = captured.get()
    line = next(line for line in shown.splitlines() if STAGES["analysis"] in line)
    assert line.split() == ["│", "analysis", *"│ 1.000 │ 2.000 │ 3.000 │ - │ - │ - │".split()]
    assert "2 threads: 100 questions a second, 120 without embedding" in shown


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_picture_is_drawn_without_a_display(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("DISPLAY", raising=False)
    path = tmp_path / f"latency{suffix}"
    one, none = Percentiles(ASKED, 1.0, 2.0, 3.0), Percentiles(ASKED, 0.0, 0.0, 0.0)
    draw(made({"time": none, "beam": one, ALL: one}, {"time": none, "beam": one}), path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    if suffix == ".svg":
        assert b"<svg" in content


def test_pictures_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        check_picture(tmp_path / "latency.pdf")


def test_a_missing_matplotlib_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"cuegraph\[plots\]"):
        check_picture(tmp_path / "latency.png")
