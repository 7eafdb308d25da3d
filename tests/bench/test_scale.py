"""Quality at scale, from file to report, and that the key never reaches the memory."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console

from cuegraph import InputError, Memory, Recall, Turn, open_embedder
from cuegraph.bench import spaces
from cuegraph.bench.distractors import Conversations, copies
from cuegraph.bench.scale import SAMPLE, Derived, measure, mixed, passage
from cuegraph.bench.tables import scale_table
from cuegraph.cli import main

Write = Callable[[Any, str], Path]
Data = list[dict[str, Any]]
Call = tuple[str, object]

EMBEDDER = open_embedder("hash")
TALK: Conversations = [
    (name, [Turn(f"{thing} {i}", id=f"D1:{i}", session="s", speaker=name) for i in range(30)])
    for name, thing in (("Orla", "The kayak leaks"), ("Piet", "My starter smells"))
]


class Counting:
    """An embedder that keeps the texts that it embeds."""

    name, dimension = EMBEDDER.name, EMBEDDER.dimension

    def __init__(self) -> None:
        self.texts: list[str] = []

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.texts += texts
        return EMBEDDER.passages(texts)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return EMBEDDER.queries(texts)


class Spy(Memory):
    """A memory that keeps all that it is given."""

    calls: list[Call]

    def add(self, turns: Iterable[Turn], **options: Any) -> Any:
        turns = list(turns)
        self.calls.append(("add", turns))
        return super().add(turns, **options)

    def recall(self, query: str, **options: Any) -> Recall:
        self.calls.append(("recall", (query, options, self.config)))
        return super().recall(query, **options)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What the memories of the test are given."""
    given: list[Call] = []
    monkeypatch.setattr(Spy, "calls", given, raising=False)
    monkeypatch.setattr(spaces, "Memory", Spy)
    return given


def test_figures_at_each_size(data: Data, write: Write, tmp_path: Path) -> None:
    told: list[str] = []
    found = measure(write(data, "l.json"), [20, 0], embedder=EMBEDDER, progress=told.append)
    found.write(tmp_path / "scale.json")
    report = json.loads((tmp_path / "scale.json").read_bytes())
    assert (report["unit"], report["embedder"]) == ("percent", EMBEDDER.name)
    # Four and three turns, two conversations of one session, and five copies besides.
    sizes = [(size["distractors"], size["turns"], size["sessions"]) for size in report["sizes"]]
    assert sizes == [(0, 7, 2), (20, 27, 8)]
    for size in report["sizes"]:
        assert list(size["rows"]) == ["full", "BM25 alone", "vectors alone"]
        assert size["problems"] == []
        for row in size["rows"].values():
            assert {name: c["n"] for name, c in row["categories"].items()} == {
                "1-4": 3, "1": 1, "2": 0, "3": 0, "4": 2, "5": 1,
            }  # fmt: skip
            assert row["latency_ms"]["n"] == 6
    # Fewer than ten turns: all of them come back, and so all evidence, found by its whole id.
    assert report["sizes"][0]["rows"]["full"]["categories"]["1-4"]["recall@10"] == 100.0
    assert report["derivation"]["sampled"] == 20
    assert len(told) == 2 * (1 + 3)


def test_the_memory_gets_turns_and_questions_and_nothing_else(
    data: Data, write: Write, calls: list[Call]
) -> None:
    measure(write(data, "l.json"), [0, 20], embedder=EMBEDDER)
    given = list(calls)
    assert "SECRET" not in repr(given)
    asked = [conversation["qa"] for conversation in data]
    texts = {question["question"] for questions in asked for question in questions}
    for name, value in given:
        if name == "recall":
            assert isinstance(value, tuple)
            query, options, _ = value
            assert query in texts
            assert options == {"k": 50}
    # Another key changes no call.
    calls.clear()
    changed: Data = json.loads(json.dumps(data))
    for conversation in changed:
        for question in conversation["qa"]:
            question["evidence"], question["answer"] = ["D1:2"], "ANOTHER SECRET"
    measure(write(changed, "l.json"), [0, 20], embedder=EMBEDDER)
    assert calls == given


def test_whole_conversations_enter_in_a_drawn_order() -> None:
    made = copies(TALK, 100)
    turns = mixed(TALK, made, seed=0)
    assert turns == mixed(TALK, made, seed=0)
    assert turns != mixed(TALK, made, seed=1)
    sessions = [turn.session for turn in turns]
    entered = list(dict.fromkeys(sessions))
    assert len(entered) == 6
    assert sessions == [s for s in entered for _ in range(sessions.count(s))]
    assert {turn.id for turn in turns} >= {"Orla/D1:0", "Piet/D1:29", "Orla~1/D1:0"}


def test_derived_vectors_are_as_near_to_originals_as_embedded_ones() -> None:
    made, embedder = copies(TALK, 600), Counting()
    derived = Derived(embedder, made, seed=0)
    found = derived.derivation
    assert found.sampled <= SAMPLE
    assert found.derived_cosine == pytest.approx(found.cosine, abs=0.001)
    assert 0 < found.kept < 1
    copied = [passage(turn) for copy in made for turn in copy.turns]
    origins = [passage(turn) for copy in made for turn in copy.origins]
    vectors, real = derived.passages(copied), EMBEDDER.passages(copied)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = [(v * EMBEDDER.passages(origins)).sum(axis=1).mean() for v in (vectors, real)]
    assert cosines[0] == pytest.approx(cosines[1], abs=0.03)
    # What is no copy is embedded, and a text has one vector, whatever stands beside it.
    np.testing.assert_array_equal(derived.passages(origins), EMBEDDER.passages(origins))
    np.testing.assert_allclose(derived.passages(copied[7:9]), vectors[7:9], atol=1e-6)


def test_only_a_sample_of_copies_is_embedded(data: Data, write: Write) -> None:
    embedders = {}
    for embed in (False, True):
        embedders[embed] = Counting()
        path = write(data, "l.json")
        found = measure(path, [1000], embedder=embedders[embed], embed=embed)
        assert (found.derivation is None) == embed
    real = {passage(turn) for copy in copies(TALK, 0) for turn in copy.turns}
    texts = {embed: set(embedder.texts) - real for embed, embedder in embedders.items()}
    assert len(texts[False]) < len(texts[True]) / 2
    assert len(texts[False]) <= SAMPLE + 7 + 8


def test_a_table_of_all_sizes(data: Data, write: Write) -> None:
    table = scale_table(measure(write(data, "l.json"), [0, 20], embedder=EMBEDDER))
    assert table.row_count == 6
    assert "derived vectors" in str(table.caption)
    console = Console(width=160)
    with console.capture() as captured:
        console.print(table)
    assert "vectors alone" in captured.get()
    embedded = scale_table(measure(write(data, "l.json"), [0], embedder=EMBEDDER))
    assert "all vectors embedded" in str(embedded.caption)


@pytest.mark.parametrize("sizes", [[], [-1], [5, 5]], ids=str)
def test_sizes_that_are_none(data: Data, write: Write, sizes: list[int]) -> None:
    with pytest.raises(InputError, match="distractors"):
        measure(write(data, "l.json"), sizes, embedder=EMBEDDER)


def test_the_command(data: Data, write: Write, tmp_path: Path) -> None:
    cache, path = tmp_path / "v.sqlite", tmp_path / "scale.json"
    options = ["--embedder", "hash", "--cache", str(cache), "--json", str(path)]
    data_file = write(data, "l.json")
    # A question of the file cannot be read, which is no turn that is not kept.
    assert main(["bench", "scale", "--data", str(data_file), "--sizes", "0,20", *options]) == 0
    sizes = [size["distractors"] for size in json.loads(path.read_bytes())["sizes"]]
    assert sizes == [0, 20]
    assert cache.is_file()
    for words in ("0,0", "0,x", "", "-1"):
        wrong = ["bench", "scale", "--data", str(data_file), f"--sizes={words}"]
        assert main(wrong) == 2
