"""What explanations are made of: figures to six digits, and turns that are read together."""

from collections.abc import Callable

import numpy as np
import pytest

from cuegraph.engine.explain import Reader, _rounded
from cuegraph.engine.schema import Kind
from cuegraph.engine.space import Space
from cuegraph.io import TurnRecord

Opener = Callable[..., Space]


def test_figures_are_rounded_as_python_does() -> None:
    rng = np.random.default_rng(0)
    halves = rng.integers(-(2**20), 2**20, 1000) / 2**7 / 10**6  # close to ties, some of them
    eighths = rng.integers(-(2**20), 2**20, 1000) / 2**20  # 2^-20 ends on the twentieth digit
    wide = rng.standard_normal(3000) * 10.0 ** rng.integers(-8, 3, 3000)
    values = np.concatenate([halves, eighths, wide, [0, 1, -0.25, 1.0000005]]).astype(np.float32)
    assert _rounded(values) == [round(value, 6) for value in values.tolist()]


@pytest.fixture
def space(open_space: Opener, conversation: list[TurnRecord]) -> Space:
    space = open_space()
    space.add(conversation[:20])
    return space


def test_a_reader_knows_what_nodes_are_called_and_what_they_keep(
    space: Space, conversation: list[TurnRecord]
) -> None:
    snapshot = space.snapshot()
    reader = Reader(snapshot)
    first, last = (int(node) for node in space.graph.episodes_of([1, 20]))
    speaker = snapshot.graph.find(Kind.CUE, "ada")
    session = int(snapshot.nodes["session"][first])
    reader.read([last, speaker, first, session, last])
    assert {node: tuple(called) for node, called in reader.called.items()} == {
        first: ("e1", conversation[0].id),
        last: ("e20", conversation[19].id),
        speaker: ("cue:Ada", "Ada"),
        session: (f"session:{conversation[0].session}", conversation[0].session),
    }
    assert reader.turns == {first: conversation[0], last: conversation[19]}


def test_a_reader_asks_the_journal_once_for_all_and_never_twice(space: Space) -> None:
    asked: list[list[int]] = []

    def read(seqs: list[int]) -> list[TurnRecord]:
        asked.append(list(seqs))
        return space.journal.turns(seqs)

    reader = Reader(space.snapshot()._replace(read_turns=read))
    nodes = [int(node) for node in space.graph.episodes_of([3, 7, 5])]
    reader.read(nodes[:2])
    reader.read(nodes)
    assert asked == [[3, 7], [5]]
