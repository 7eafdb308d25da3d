"""The graph that the fast path builds: what is linked to what, and that nothing else decides it."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cuegraph.engine.config import GraphConfig
from cuegraph.engine.graph import ASKS, NAMED, SPEAKS, Graph
from cuegraph.engine.indexing import index_turn
from cuegraph.engine.schema import TIME_NONE, Kind, Relation, reverse
from cuegraph.engine.space import Space
from cuegraph.engine.stage import Stage
from cuegraph.io import TurnRecord

Maker = Callable[..., TurnRecord]
Opener = Callable[..., Space]
MAY_24 = "2024-05-24T10:00:00+02:00"  # a Friday


class Built:
    """A graph of turns, read by names."""

    def __init__(self, turns: list[TurnRecord], config: GraphConfig | None = None) -> None:
        self.graph = Graph()
        settings = config or GraphConfig()
        stage = Stage(self.graph)
        self.episodes = [
            index_turn(stage, i + 1, turn, -1, settings) for i, turn in enumerate(turns)
        ]
        stage.flush()

    def linked(self, node: int, relation: Relation) -> list[int]:
        row = self.graph.edges.row(node)
        return [int(dst) for dst in row["dst"][row["link"] % 16 == relation]]

    def weights(self, node: int, relation: Relation) -> list[float]:
        """Weights as they are kept: the nearest of 1/4096, 2/4096, ... 1."""
        links = [int(link) for link in self.graph.edges.row(node)["link"]]
        return [(link // 16 + 1) / 4096 for link in links if link % 16 == relation]

    def labels(self, node: int, relation: Relation) -> list[str]:
        return [self.graph.label(dst) for dst in self.linked(node, relation)]


def digest(graph: Graph) -> str:
    """One number of all that a graph holds, its dtypes included."""
    whole = hashlib.sha256()
    for name, array in sorted(graph.arrays().items()):
        whole.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def test_turns_follow_each_other_within_and_across_sessions(record: Maker) -> None:
    # Two sessions that take turns: a0 b1 a2 b3 c4.
    turns = [record(f"turn {i}", session=s, id=str(i)) for i, s in enumerate("ababc")]
    built = Built(turns, GraphConfig(across_sessions=0.25))
    a0, b1, a2, b3, c4 = built.episodes
    follows = {e: built.linked(e, Relation.FOLLOWS) for e in built.episodes}
    assert follows == {a0: [], b1: [a0], a2: [a0], b3: [b1], c4: [b3]}
    assert built.linked(a0, Relation.PRECEDES) == [b1, a2]
    assert built.linked(b3, Relation.PRECEDES) == [c4]
    assert [built.weights(e, Relation.FOLLOWS) for e in built.episodes] == [
        [], [0.25], [1.0], [1.0], [0.25],
    ]  # fmt: skip
    nodes = built.graph.nodes
    assert [int(nodes["previous"][e]) for e in built.episodes] == [-1, -1, a0, b1, -1]
    assert [int(nodes["following"][e]) for e in built.episodes] == [a2, b3, -1, -1, -1]


def test_every_turn_is_part_of_its_session(record: Maker) -> None:
    built = Built([record(f"turn {i}", session=s, id=str(i)) for i, s in enumerate("aab")])
    first, second, third = built.episodes
    (a,) = built.linked(first, Relation.PART_OF)
    assert built.linked(second, Relation.PART_OF) == [a]
    assert built.labels(third, Relation.PART_OF) == ["b"]
    assert built.linked(a, Relation.HAS_PART) == [first, second]
    assert built.graph.nodes["kind"][a] == Kind.SESSION
    assert built.graph.n_sessions == 2
    assert built.graph.newest == third
    assert int(built.graph.nodes["previous"][a]) == second


def test_the_columns_of_an_episode(record: Maker) -> None:
    first = record("Is Mira home?", speaker="Ada", time=MAY_24)
    second = record("The boats, the boats!", caption="two boats")
    built = Built([first, second])
    nodes = {name: [column[e] for e in built.episodes] for name, column in
             built.graph.nodes.arrays().items()}  # fmt: skip
    # 24 May 2024 is day 19,867 after 1970-01-01: 54 years of 365 days, 13 leap days, 144 days.
    assert 54 * 365 + 13 + 144 == 19_867
    assert nodes["time_us"] == [(19_867 * 24 + 8) * 3_600_000_000, TIME_NONE]
    assert nodes["flags"] == [ASKS, 0]
    assert nodes["seq"] == [1, 2]
    seqs = built.graph.nodes["seq"].tolist()
    assert (seqs, set(seqs)) == (sorted(seqs), {1, 2})
    assert built.graph.episodes_of([2, 3, 1]) == [built.episodes[1], -1, built.episodes[0]]
    assert nodes["length"] == [2, 4]  # mira home; boat boat two boat
    assert nodes["speaker"][1] == -1
    ada = int(nodes["speaker"][0])
    assert built.graph.label(ada) == "Ada"
    assert int(built.graph.nodes["flags"][ada]) == NAMED | SPEAKS
    assert (built.graph.latest, built.graph.latest_offset_min) == (built.episodes[0], 120)
    (session,) = built.linked(built.episodes[0], Relation.PART_OF)
    assert int(built.graph.nodes["length"][session]) == 6
    assert built.linked(session, Relation.HAS_PART) == [built.episodes[0], ada, built.episodes[1]]
    assert (built.graph.n_docs, built.graph.total_length) == (2, 6)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Why?", True),
        ('"Why?"', True),
        ("为什么？", True),
        ("Why? Because.", False),
        ("No.", False),
    ],
)
def test_a_turn_that_only_asks_is_flagged(record: Maker, text: str, asks: bool) -> None:
    built = Built([record(text)])
    assert bool(built.graph.nodes["flags"][built.episodes[0]] & ASKS) is asks


def test_names_are_mentioned(record: Maker) -> None:
    built = Built(
        [
            record("we met Mira Haddad in Lisbon", speaker="Ada"),
            record("Lisbon was lovely, said Ada", speaker="Mira Haddad", caption="the Tagus"),
        ],
        GraphConfig(mention=0.5),
    )
    first, second = built.episodes
    assert built.labels(first, Relation.MENTIONS) == ["Mira Haddad", "Lisbon"]
    # Known by now, Lisbon is a name even where a sentence begins; a caption is read, too.
    assert built.labels(second, Relation.MENTIONS) == ["Lisbon", "Ada", "Tagus"]
    assert built.weights(first, Relation.MENTIONS) == [0.5, 0.5]
    lisbon = built.graph.find(Kind.CUE, "lisbon")
    assert built.linked(lisbon, Relation.MENTIONED_BY) == [first, second]


@pytest.mark.parametrize(
    ("text", "time", "expected"),
    [
        ("we sailed yesterday", MAY_24, ["2024-05-23", "2024-05"]),
        ("we sailed last Monday", MAY_24, ["2024-05-20", "2024-05"]),
        ("we sailed on 3 May 2023", MAY_24, ["2023-05-03", "2023-05"]),
        ("we sailed in April 2024", MAY_24, ["2024-04"]),
        ("we sailed yesterday", None, []),
        # Half past midnight in Rome is still the day before in UTC: the speaker's calendar counts.
        ("we sailed yesterday", "2024-05-24T00:30:00+02:00", ["2024-05-23", "2024-05"]),
        ("we sailed yesterday", "2024-05-23T22:30:00+00:00", ["2024-05-22", "2024-05"]),
        ("we sailed yesterday", "2024-03-01T10:00:00+00:00", ["2024-02-29", "2024-02"]),
        ("nothing of a time here", MAY_24, []),
    ],
)
def test_dates_are_read_from_the_time_of_the_turn(
    record: Maker, text: str, time: str | None, expected: list[str]
) -> None:
    built = Built([record(text, time=time)])
    assert built.labels(built.episodes[0], Relation.MENTIONS) == expected
    for label in expected:
        cue = built.graph.find(Kind.CUE, label)
        assert built.linked(cue, Relation.MENTIONED_BY) == built.episodes


def test_only_the_text_joins_names(record: Maker) -> None:
    built = Built(
        [
            record("our boss Theodora, Teddy for short, came"),
            record("finish Task 5 and Task 6, ask Theo"),
        ]
    )
    theodora, teddy = (built.graph.find(Kind.CUE, name) for name in ("theodora", "teddy"))
    assert built.linked(theodora, Relation.SIMILAR) == [teddy]
    assert built.linked(teddy, Relation.SIMILAR_REVERSE) == [theodora]
    assert int(built.graph.relations[Relation.SIMILAR]) == 1


def test_cues_are_the_speaker_and_the_rarest_words(record: Maker) -> None:
    built = Built(
        [
            record("boats and lanterns", speaker="Ada", id="0"),
            record("boats and violins", speaker="Ada", id="1"),
            record("boats, violins, snow, 12 ox", speaker="Ada", id="2"),
        ],
        GraphConfig(cues_per_episode=2),
    )
    cued = [built.labels(e, Relation.CUED_BY) for e in built.episodes]
    # Of the third: snow was said by none before, violins by one, boats by two; 12 and ox are none.
    assert cued == [["boats", "lanterns", "Ada"], ["violins", "boats", "Ada"],
                    ["snow", "violins", "Ada"]]  # fmt: skip


def test_no_cues_where_none_are_wanted(record: Maker) -> None:
    built = Built([record("boats and lanterns")], GraphConfig(cues_per_episode=0))
    assert int(built.graph.relations[Relation.CUES]) == 0


def test_the_triples_answer_as_the_derived_edges_do(
    open_space: Opener, conversation: list[TurnRecord]
) -> None:
    """MRAgent, equations 4 to 6, over triples (cue, tag, content) read from either end."""
    space = open_space()
    space.add(conversation)
    graph = space.graph

    def ends(node: int, relation: Relation) -> list[tuple[int, int]]:
        edges = graph.edges.row(node)
        at = edges["link"] % 16 == relation
        return list(zip(edges["dst"][at].tolist(), edges["tag"][at].tolist(), strict=True))

    nodes = range(len(graph))
    rows = [(cue, tag, v) for cue in nodes for v, tag in ends(cue, Relation.CUES)]  # eq. 4 and 5
    assert len(set(rows)) == len(rows) > 300
    assert {tag for _, tag, _ in rows} == {-1}  # the rules make no tags
    activated = [(cue, tag, v) for v in nodes for cue, tag in ends(v, Relation.CUED_BY)]  # eq. 6
    assert sorted(activated) == sorted(rows)
    kinds = graph.nodes["kind"]
    assert {(int(kinds[cue]), int(kinds[v])) for cue, _, v in rows} == {(Kind.CUE, Kind.EPISODE)}


def test_a_tag_of_a_triple_is_kept_through_a_merge(record: Maker) -> None:
    graph = Built([record("boats", id="0"), record("lanterns", id="1")]).graph
    graph.merge()
    assert graph.edges.base["tag"].size == 0  # no edge has one: the column takes no room
    first, second = np.flatnonzero(graph.nodes["kind"] == Kind.EPISODE).tolist()
    cue = graph.find(Kind.CUE, "boat")
    stage = Stage(graph)
    stage.add_triples([cue], 7, second, 0.5)
    stage.flush()
    before = graph.edges.row(cue)
    graph.merge()
    for row in (before, graph.edges.row(cue)):
        assert (row["dst"].tolist(), row["tag"].tolist()) == ([first, second], [-1, 7])


def test_a_term_that_many_turns_hold_makes_no_more_cues(record: Maker) -> None:
    turns = [record("boat and lantern" if i < 3 else "boat", id=str(i)) for i in range(5)]
    built = Built(turns, GraphConfig(cue_limit=3))
    boat, lantern = (built.graph.find(Kind.CUE, term) for term in ("boat", "lantern"))
    # Before the fifth turn four hold "boat": more than three.
    assert built.linked(boat, Relation.CUES) == built.episodes[:4]
    assert built.linked(lantern, Relation.CUES) == built.episodes[:3]


def test_a_speaker_is_part_of_the_sessions_in_which_he_or_she_speaks(record: Maker) -> None:
    said = [("Ada", "x"), ("Bo", "x"), ("Ada", "x"), ("Ada", "y"), (None, "y"), ("Bo", "x")]
    turns = [
        record("hello", id=str(i), speaker=speaker, session=session)
        for i, (speaker, session) in enumerate(said)
    ]
    built = Built(turns)
    ada, bo = (built.graph.find(Kind.CUE, name) for name in ("ada", "bo"))
    assert built.labels(ada, Relation.PART_OF) == ["x", "y"]
    assert built.labels(bo, Relation.PART_OF) == ["x"]


def test_timed_episodes_are_listed_by_time_then_node(record: Maker) -> None:
    times = [3, None, 1, 3, 2]
    graph = Graph()
    for part in (slice(0, 3), slice(3, 5)):
        stage = Stage(graph)
        for i, time in list(enumerate(times))[part]:
            turn = record("hello", id=str(i), time=None if time is None else time)
            index_turn(stage, i + 1, turn, -1, GraphConfig())
        stage.flush()
        graph.merge()
    zero, _, two, three, four = graph.episodes_of([1, 2, 3, 4, 5])
    assert graph.by_time.tolist() == [two, four, zero, three]
    assert graph.timed == len(graph)


def test_every_edge_has_its_reverse_and_is_counted(
    open_space: Opener, conversation: list[TurnRecord]
) -> None:
    space = open_space()
    space.add(conversation)
    graph = space.graph
    merged = graph.edges.merged()
    src = np.repeat(np.arange(len(graph)), np.diff(merged["indptr"]))
    columns = (merged["dst"], merged["link"] % 16, merged["link"] // 16)
    edges = Counter(zip(src.tolist(), *(column.tolist() for column in columns), strict=True))
    assert edges == Counter({(d, s, reverse(r), w): n for (s, d, r, w), n in edges.items()})
    relations = np.bincount(merged["link"] % 16, minlength=len(Relation))
    np.testing.assert_array_equal(graph.relations, relations)
    for relation in ("FOLLOWS", "SIMILAR", "MENTIONS", "PART_OF", "CUES"):
        assert graph.relations[Relation[relation]] > 0, relation


def test_the_postings_are_the_terms_of_the_turns(record: Maker) -> None:
    built = Built([record("boat boat snow", id="0"), record("snow", id="1")])
    rows = {
        built.graph.vocabulary[i]: built.graph.postings.row(i)
        for i in range(len(built.graph.vocabulary))
    }
    first, second = built.episodes
    assert {term: (row["doc"].tolist(), row["tf"].tolist()) for term, row in rows.items()} == {
        "boat": ([first], [2]),
        "snow": ([first, second], [1, 1]),
    }


def test_a_word_said_too_often_to_count_is_counted_as_often_as_fits(record: Maker) -> None:
    built = Built([record("boat " * 70_000)])
    assert built.graph.postings.row(0)["tf"].tolist() == [65_535]
    assert built.graph.nodes["length"][built.episodes[0]] == 70_000


def test_similar_turns_are_linked_by_their_cosine(open_space: Opener, record: Maker) -> None:
    space = open_space(config=GraphConfig(similar=1, similar_floor=0.5))
    space.add([record(text, id=str(i)) for i, text in enumerate(["red boat", "qqq", "red boat!"])])
    first, _, third = np.flatnonzero(space.graph.nodes["kind"] == Kind.EPISODE)
    row = space.graph.edges.row(int(third))
    at = row["link"] % 16 == Relation.SIMILAR
    assert row["dst"][at].tolist() == [first]
    one, other = space.embedder.passages(["red boat", "red boat!"]).astype(np.float16)
    cosine = float(one.astype(np.float64) @ other.astype(np.float64))
    # The scale runs from the usual cosine of unrelated texts, to two digits, to 1.
    unrelated = space._unrelated
    weight = (int(row["link"][at][0]) // 16 + 1) / 4096
    assert weight == pytest.approx((cosine - unrelated) / (1 - unrelated), abs=1e-3)
    assert int(space.graph.relations[Relation.SIMILAR]) == 1


def test_similar_edges_can_be_switched_off(open_space: Opener, record: Maker) -> None:
    space = open_space(config=GraphConfig(similar=0))
    space.add([record("red boat", id=str(i)) for i in range(3)])
    assert int(space.graph.relations[Relation.SIMILAR]) == 0


@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_journal_alone_decides_the_graph(
    open_space: Opener, conversation: list[TurnRecord], tmp_path: Path, size: int
) -> None:
    whole, parts = open_space(tmp_path / "whole"), open_space(tmp_path / "parts")
    whole.add(conversation)
    for start in range(0, len(conversation), size):
        parts.add(conversation[start : start + size])
    before = digest(whole.graph)
    whole.graph.merge()
    parts.graph.merge()
    assert digest(parts.graph) == digest(whole.graph) == before


def test_so_does_it_over_publishing_reopening_and_a_rebuild(
    open_space: Opener, conversation: list[TurnRecord], tmp_path: Path
) -> None:
    whole = open_space(tmp_path / "whole")
    whole.add(conversation)
    for start in range(0, len(conversation), 40):
        space = open_space(tmp_path / "parts")
        space.add(conversation[start : start + 40])
        space.close()
    assert digest(open_space(tmp_path / "parts").graph) == digest(whole.graph)
    for file in (tmp_path / "parts" / "snapshot").iterdir():
        file.unlink()
    rebuilt = open_space(tmp_path / "parts")
    assert rebuilt.notices == []
    assert digest(rebuilt.graph) == digest(whole.graph)


def test_so_does_it_under_another_hash_seed(
    open_space: Opener, conversation: list[TurnRecord], tmp_path: Path
) -> None:
    space = open_space(tmp_path / "space")
    space.add(conversation)
    expected = digest(space.graph)
    space.close()
    for file in (tmp_path / "space" / "snapshot").iterdir():
        file.unlink()
    program = (
        "import sys, hashlib, numpy as np; from pathlib import Path\n"
        "from cuegraph.engine.space import Space; from cuegraph.llm import open_embedder\n"
        "space = Space(Path(sys.argv[1]), open_embedder('hash'), read_only=True)\n"
        "whole = hashlib.sha256()\n"
        "for name, array in sorted(space.graph.arrays().items()):\n"
        "    whole.update(f'{name} {array.dtype.str} {array.shape} '.encode())\n"
        "    whole.update(np.ascontiguousarray(array).tobytes())\n"
        "print(whole.hexdigest())\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "space")],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == expected


def test_a_graph_comes_back_from_its_arrays(
    open_space: Opener, conversation: list[TurnRecord], record: Maker
) -> None:
    space: Space = open_space()
    space.add(conversation)
    arrays = {name: array.copy() for name, array in space.graph.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    again = Graph(arrays)
    assert digest(again) == digest(space.graph)
    for graph in (again, space.graph):
        stage = Stage(graph)
        index_turn(stage, 1000, record("Mira sails", session="s1"), -1, GraphConfig())
        stage.flush()
        graph.delete(3)
    assert digest(again) == digest(space.graph)
