"""Rows of an ablation, verdicts on them, and choosing on other conversations."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuegraph import InputError, Memory, RankConfig, RecallConfig, Turn, open_embedder
from cuegraph.bench.ablation import ablate, choose, leave_one_out
from cuegraph.bench.figures import Scored
from cuegraph.bench.rows import ARMS, fusion_alone, only_arm, rows_of
from cuegraph.bench.spaces import ask

Write = Callable[[Any, str], Path]
Data = list[dict[str, Any]]
Make = Callable[..., Scored]

EMBEDDER = open_embedder("hash")
ROWS = dict(rows_of(RecallConfig()))
QUESTION = "How much was the lantern that Orla has?"
THINGS = "kayak ladder mitten teapot violin saddle lantern anchor basket pillow".split()
TEXTS = [f"The {thing} of Orla cost {price} coins." for price, thing in enumerate(THINGS)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory in which arms differ."""
    with Memory.open(tmp_path / "m", embedder=EMBEDDER) as opened:
        opened.add(
            Turn(text, id=thing, speaker="Orla") for thing, text in zip(THINGS, TEXTS, strict=True)
        )
        yield opened


def test_every_row_is_another_configuration() -> None:
    full = RecallConfig()
    same = [name for name, config in ROWS.items() if config == full]
    unused = [] if full.anchors.cue else ["without arm cue"]
    assert same == ["full", *unused]
    assert len(ROWS) == len(rows_of(full))
    assert "without part speaker" in ROWS


def test_parts_without_a_weight_have_no_row() -> None:
    config = RecallConfig(rank=RankConfig(session=0.0))
    assert "without part session" not in dict(rows_of(config))


def test_without_an_arm_nothing_that_repeats_it_is_left() -> None:
    keyword, vector = ROWS["without arm keyword"], ROWS["without arm vector"]
    assert (keyword.anchors.keyword, keyword.rank.keyword, keyword.rank.session) == (0, 0, 0)
    assert keyword.rank.vector == RecallConfig().rank.vector
    assert (vector.anchors.vector, vector.rank.vector, vector.beam.semantics) == (0, 0, 0)
    assert ROWS["without arm time"].rank.time == 0


def test_relations() -> None:
    opened = {name for fits in RecallConfig().beam.phi.values() for name in fits}
    assert {"FOLLOWS", "SIMILAR", "MENTIONS", "CUES"} <= opened
    for name in opened:
        without, alone = ROWS[f"without relation {name}"], ROWS[f"only relation {name}"]
        assert all(set(fits) == opened - {name} for fits in without.beam.phi.values())
        assert all(set(fits) == {name} for fits in alone.beam.phi.values())
    uniform = ROWS["uniform intents"].beam.phi.values()
    assert all(fits == dict.fromkeys(opened, 1.0) for fits in uniform)


def test_only_the_vector_arm_is_the_order_of_cosines(memory: Memory) -> None:
    (answer,) = ask(memory, [QUESTION], only_arm(RecallConfig(), "vector"), k=5)
    passages = EMBEDDER.passages([f"Orla: {text}" for text in TEXTS])
    cosines = passages @ EMBEDDER.queries([QUESTION])[0]
    best = np.argsort(-cosines, kind="stable")[:5]
    assert answer.ranked == tuple(THINGS[place] for place in best)


def test_fusion_alone_is_the_order_of_reciprocal_ranks(memory: Memory) -> None:
    found = {}
    for name in ("vector", "keyword"):
        (answer,) = ask(memory, [QUESTION], only_arm(RecallConfig(), name), k=50)
        found[name] = answer.ranked
    assert set(found["keyword"]) < set(found["vector"]) == set(THINGS)
    fused = {
        thing: sum(1 / (61 + ranked.index(thing)) for ranked in found.values() if thing in ranked)
        for thing in THINGS
    }
    (answer,) = ask(memory, [QUESTION], fusion_alone(RecallConfig()), k=50)
    assert answer.ranked == tuple(sorted(THINGS, key=lambda thing: -fused[thing]))


def test_what_an_arm_does_not_name_is_left_out(memory: Memory) -> None:
    keyword = only_arm(RecallConfig(), "keyword")
    (answer,) = ask(memory, ["Where is the zeppelin?"], keyword, k=50)
    assert answer.ranked == ()


def test_an_ablation_compares_every_row_with_the_first(data: Data, write: Write) -> None:
    found = ablate(write(data, "l.json"), embedder=EMBEDDER)
    assert list(found.rows) == list(ROWS)
    full = found.rows["full"].difference
    assert full["1-4"].recall_10 == 0
    assert {d.verdict for d in full.values()} == {"no ranking changed"}
    # Of an arm alone that names nothing there is no recall; two conversations with evidence.
    time = found.rows["only arm time"]
    assert time.categories["1-4"].recall_10 == 0
    assert time.difference["1-4"].recall_10 == -100
    assert time.difference["1-4"].recall_10_ci95 == (-100, -100)
    assert time.difference["1-4"].verdict == "below"
    # Multi-hop questions are in one conversation only.
    assert time.difference["1"].recall_10_ci95 is None
    assert time.difference["1"].verdict == "no difference shown"


def test_an_ablation_as_json(data: Data, write: Write, tmp_path: Path) -> None:
    ablate(write(data, "l.json"), embedder=EMBEDDER).write(tmp_path / "a.json")
    read = json.loads((tmp_path / "a.json").read_bytes())
    assert read["unit"] == "percent"
    assert read["rows"]["full"]["categories"]["1-4"]["n"] == 3
    assert read["rows"]["no walk"]["difference"]["1"].keys() == {
        "recall@10",
        "recall@10_ci95",
        "verdict",
    }
    assert len(ARMS) == 4


def test_choosing_on_the_other_conversations(scored: Make) -> None:
    asked = {
        # recall at 10 and at 25: one is best on a, two on b; on all of them two.
        "one": [scored("a", 4, 1), scored("a", 4, 1), scored("b", 4, 40), scored("b", 4, 20)],
        "two": [scored("a", 4, 1), scored("a", 4, 40), scored("b", 4, 2), scored("b", 4, 3)],
    }
    found = choose(asked, "some embedder")
    assert {name: choice.chosen for name, choice in found.choices.items()} == {
        "a": "two",
        "b": "one",
    }
    assert (found.choices["a"].recall_10, found.choices["b"].recall_10) == (50.0, 0.0)
    assert (found.choices["a"].n, found.choices["b"].recall_25) == (2, 50.0)
    # Held out: 1 of 4 at 10 and 2 of 4 at 25; fitted: 3 of 4 at both.
    assert (found.held_out.recall_10, found.held_out.recall_25) == (25.0, 50.0)
    assert found.fitted_name == "two"
    assert (found.fitted.recall_10, found.fitted.recall_25) == (75.0, 75.0)
    assert found.grid["one"].recall_10 == 50.0


def test_of_equal_configurations_the_first_is_chosen(scored: Make) -> None:
    row = [scored("a", 4, 1), scored("b", 4, 1)]
    found = choose({"one": row, "two": row}, "some embedder")
    assert {choice.chosen for choice in found.choices.values()} == {"one"}


def test_leave_one_out_asks_each_configuration(data: Data, write: Write, tmp_path: Path) -> None:
    grid = [("full", RecallConfig()), ("time", only_arm(RecallConfig(), "time"))]
    found = leave_one_out(write(data, "l.json"), grid, embedder=EMBEDDER)
    assert found.fitted_name == "full"
    assert found.held_out.n == 3
    assert (found.grid["full"].recall_10, found.grid["time"].recall_10) == (100.0, 0.0)
    found.write(tmp_path / "l1o.json")
    assert json.loads((tmp_path / "l1o.json").read_bytes())["choices"].keys() == {
        "conv-30",
        "conv-41",
    }


def test_what_cannot_be_compared(data: Data, write: Write) -> None:
    path = write(data[:1], "l.json")
    with pytest.raises(InputError, match="two conversations"):
        leave_one_out(path, [("full", RecallConfig())], embedder=EMBEDDER)
    with pytest.raises(InputError, match="different names"):
        leave_one_out(path, [("a", RecallConfig()), ("a", RecallConfig())], embedder=EMBEDDER)
    with pytest.raises(InputError, match="expected configurations"):
        leave_one_out(path, [], embedder=EMBEDDER)
