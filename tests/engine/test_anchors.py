"""The arms one by one: what each names, and that what a hub leads to is bounded."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.engine import anchors
from cuegraph.engine.analysis import Analysis, analyse
from cuegraph.engine.anchors import (
    NO_NODES,
    Said,
    cue_arm,
    episodes_allowed,
    keyword_arm,
    said_by,
    time_arm,
    time_fit_of,
    vector_arm,
)
from cuegraph.engine.config import AnchorConfig
from cuegraph.engine.dates import TIME_MAX, TIME_MIN, Window
from cuegraph.engine.schema import LIVE, TIME_NONE, Kind, Relation
from cuegraph.engine.snapshot import Snapshot
from cuegraph.engine.space import Space
from cuegraph.io import TurnRecord
from cuegraph.kernels.bm25 import Params, Workspace

Maker = Callable[..., TurnRecord]
Opener = Callable[..., Space]
I32 = npt.NDArray[np.int32]

DAY_US = 86_400_000_000
START_US = 19_000 * DAY_US
CONFIG = AnchorConfig(cue=1.0)


def window(first_day: float, last_day: float) -> Window:
    """From the beginning of one day to the end of another, counted from the first turn's."""
    start, end = START_US + first_day * DAY_US, START_US + (last_day + 1) * DAY_US
    return Window(start_us=int(start), end_us=int(end), precision="day", text="", start=0, end=0)


def asking(snapshot: Snapshot, text: str, windows: Sequence[Window] = ()) -> Analysis:
    """The analysis of a question; with other windows of time than those that it names."""
    found = analyse(text, snapshot, utc_offset_min=0)
    fields = {name: getattr(found, name) for name in Analysis.__struct_fields__}
    return Analysis(**{**fields, "windows": tuple(windows) or found.windows})


def episodes(snapshot: Snapshot) -> I32:
    return np.flatnonzero(snapshot.nodes["kind"] == Kind.EPISODE).astype(np.int32)


def ids(snapshot: Snapshot, nodes: I32) -> list[str]:
    return [turn.id for turn in snapshot.turns(nodes.tolist())]


@pytest.fixture
def diary(open_space: Opener, record: Maker) -> Space:
    """Forty turns, one a day, every tenth without a time; the last ten came after a merge."""
    said = ["The boat in the harbour.", "Snow fell.", "A letter from Mira.", "Violins sang."]
    turns = [
        record(
            f"{said[i % 4]} Page {i + 100}." + (" So on 9 January 2022." if i in {3, 33} else ""),
            id=f"t{i}",
            session=f"s{i // 8}",
            speaker=["Ada", "Teo", "Noor"][i // 8 % 3],
            time=None if i % 10 == 9 else START_US + i * DAY_US,
        )
        for i in range(40)
    ]
    space = open_space()
    space.add(turns[:30])
    space.publish()
    space.add(turns[30:])
    return space


@pytest.fixture
def snapshot(diary: Space) -> Snapshot:
    found = diary.snapshot()
    assert 0 < len(found.by_time) < 36
    assert found.timed_from < found.n
    return found


def scored(snapshot: Snapshot, analysis: Analysis) -> Workspace:
    ws = Workspace()
    keyword_arm(analysis, snapshot, None, CONFIG, ws)
    return ws


def by_the_whole_memory(snapshot: Snapshot, analysis: Analysis, ws: Workspace, k: int) -> list[int]:
    """What the arm of times is to name: all episodes, fit first, then the share of the words."""
    rows = episodes(snapshot)
    fit = time_fit_of(analysis, snapshot, rows)
    rows, fit = rows[fit > 0.5], fit[fit > 0.5]
    words = ws.score[rows] / max(float(ws.score[rows].max(initial=0)), 1e-9)
    return rows[np.lexsort((rows, -(fit + words)))][:k].tolist()


WINDOWS = {
    "a day before the merge": [window(12, 12)],
    "a day after it": [window(34, 34)],
    "across it": [window(25, 33)],
    "before all": [window(-9, -8)],
    "just before all": [window(-4, -3)],
    "long after all": [window(60, 70)],
    "no beginning": [Window(start_us=TIME_MIN, end_us=START_US + 9 * DAY_US, precision="range",
                            text="", start=0, end=0)],
    "no end": [Window(start_us=START_US + 30 * DAY_US, end_us=TIME_MAX, precision="range",
                      text="", start=0, end=0)],
    "two that overlap": [window(3, 8), window(6, 12)],
    "far apart": [window(2, 2), window(36, 37)],
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("text", ["Where is the boat?", "zzz", "snow on 9 January 2022"])
def test_times_by_search_are_those_of_the_whole_memory(
    snapshot: Snapshot, name: str, text: str
) -> None:
    analysis = asking(snapshot, text, WINDOWS[name])
    ws = scored(snapshot, analysis)
    for k in (3, 100):
        got = time_arm(analysis, snapshot, None, AnchorConfig(per_arm=k), ws)
        assert got.dtype == np.int32
        assert got.tolist() == by_the_whole_memory(snapshot, analysis, ws, k)


def test_a_date_told_fits_though_said_later(snapshot: Snapshot) -> None:
    # Day 0 is 8 January 2022: t1 is of the 9th; t3 and, weeks later, t33 tell of it.
    analysis = asking(snapshot, "What was on 9 January 2022?")
    ws = scored(snapshot, analysis)
    got = ids(snapshot, time_arm(analysis, snapshot, None, CONFIG, ws))
    assert set(got[:2]) == {"t3", "t33"}
    assert "t1" in got
    fit = time_fit_of(analysis, snapshot, episodes(snapshot)[[0, 1, 3, 33, 39]])
    want = [math.exp(-1 / 3), 1, 1, 1, 0]
    np.testing.assert_allclose(fit, want, atol=1e-6)


def test_of_a_long_time_the_fitting_words_and_the_first_turns_count(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchors, "_SCANNED", 8)
    monkeypatch.setattr(anchors, "_FEW", 4)
    analysis = asking(snapshot, "boat", [window(1, 38)])
    ws = scored(snapshot, analysis)
    got = ids(snapshot, time_arm(analysis, snapshot, None, CONFIG, ws))
    # All that say "boat", or stand beside one that does, are there, and those that say it first.
    boats = [f"t{i}" for i in range(4, 37, 4) if i % 10 != 9]
    assert set(got[: len(boats)]) == set(boats)
    # Behind them the first turns of the time, of those merged and of those not.
    rest = [name for name in got if ws.score[node_of(snapshot, name)] == 0]
    assert rest == ["t2", "t30", "t31"]


def node_of(snapshot: Snapshot, name: str) -> int:
    nodes = episodes(snapshot)
    return int(nodes[ids(snapshot, nodes).index(name)])


def test_deleted_and_filtered_turns_are_of_no_time(diary: Space) -> None:
    diary.journal.append_delete([13], None)
    diary._catch_up()
    snapshot = diary.snapshot()
    analysis = asking(snapshot, "boat", [window(11, 13)])
    ws = scored(snapshot, analysis)
    mask = episodes_allowed(snapshot, START_US + 12 * DAY_US, None, None)
    assert set(ids(snapshot, time_arm(analysis, snapshot, mask, CONFIG, ws))) == {
        "t13", "t14", "t15", "t16", "t17", "t18", "t20",
    }  # fmt: skip


def test_what_named_people_said_and_where(snapshot: Snapshot) -> None:
    nodes = episodes(snapshot)
    said = said_by(asking(snapshot, "What did Ada and Noor do?"), snapshot)
    own = [i for i in range(40) if i // 8 % 3 != 1]
    assert said.episodes.tolist() == nodes[own].tolist()
    present = said.present(snapshot.nodes["session"][nodes])
    assert np.flatnonzero(present).tolist() == own
    assert said.present(np.array([-1], np.int32)).tolist() == [False]
    nobody = said_by(asking(snapshot, "What of the boat?"), snapshot)
    assert nobody.episodes.tolist() == []
    assert not nobody.present(snapshot.nodes["session"][nodes]).any()


def test_who_is_only_spoken_of_was_not_there(open_space: Opener, record: Maker) -> None:
    space = open_space()
    space.add(
        [
            record("Ada has a boat.", id="0", session="a", speaker="Teo"),
            record("Ada, Ada, Ada!", id="1", session="a", speaker="Teo"),
            record("I am Ada.", id="2", session="b", speaker="Ada"),
        ]
    )
    snapshot = space.snapshot()
    said = said_by(asking(snapshot, "What did Ada say?"), snapshot)
    assert ids(snapshot, said.episodes) == ["2"]
    nodes = episodes(snapshot)
    assert said.present(snapshot.nodes["session"][nodes]).tolist() == [False, False, True]


def test_who_has_said_too_much_is_left_to_the_words(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = asking(snapshot, "What did Ada and Noor do?")
    for name, bound in (("_SCANNED", 23), ("_EDGES", 10)):
        with monkeypatch.context() as patch:
            patch.setattr(anchors, name, bound)
            said = said_by(analysis, snapshot)
            assert said.episodes.tolist() == []
            assert said.present(snapshot.nodes["session"][episodes(snapshot)]).sum() == 24
    with monkeypatch.context() as patch:
        patch.setattr(anchors, "_SCANNED", 24)
        assert len(said_by(analysis, snapshot).episodes) == 24


def test_a_name_leads_to_what_mentions_it(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = asking(snapshot, "What of the letter of Mira?")
    ws = scored(snapshot, analysis)
    letters = [f"t{i}" for i in range(2, 40, 4)]
    found = cue_arm(analysis, snapshot, None, CONFIG, ws)
    assert sorted(ids(snapshot, found)) == sorted(letters)
    assert np.all(np.diff(ws.score[found]) <= 0)
    # Of a hub, only what the words lead to.
    monkeypatch.setattr(anchors, "_SCANNED", 5)
    assert cue_arm(analysis, snapshot, None, CONFIG, ws).tolist() == found.tolist()
    assert ids(snapshot, cue_arm(analysis, snapshot, None, CONFIG, Workspace())) == []


def test_what_is_found_otherwise_has_its_words_scored(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis, exact = asking(snapshot, "Mira's violins"), Workspace()
    keyword_arm(analysis, snapshot, None, CONFIG, exact)
    monkeypatch.setattr(anchors, "Params", lambda **given: Params(**given, postings=1))
    also, ws = episodes(snapshot)[[2, 7]], Workspace()
    found = keyword_arm(analysis, snapshot, None, CONFIG, ws, also)
    np.testing.assert_array_equal(ws.score[found], exact.score[found])
    assert 0 < len(found) < len(episodes(snapshot))
    np.testing.assert_array_equal(ws.score[also] > 0, exact.score[also] > 0)
    # A turn without any of the words is no anchor, though it was asked for.
    none = asking(snapshot, "zzz")
    assert keyword_arm(none, snapshot, None, CONFIG, ws, also).tolist() == []


@pytest.mark.parametrize("arm", ["keyword", "vector", "time", "cue"])
def test_an_arm_that_is_switched_off_names_nothing(
    diary: Space, snapshot: Snapshot, arm: str
) -> None:
    text = "When on 9 January 2022 did Mira write a letter?"
    query = diary.embedder.queries([text])[0]
    analysis = asking(snapshot, text)

    def found(config: AnchorConfig) -> dict[str, I32]:
        ws, said = Workspace(), said_by(analysis, snapshot)
        return {
            "keyword": keyword_arm(analysis, snapshot, None, config, ws),
            "vector": vector_arm(query, snapshot, diary.index, said, None, config),
            "time": time_arm(analysis, snapshot, None, config, ws),
            "cue": cue_arm(analysis, snapshot, None, config, ws),
        }

    on = found(CONFIG)
    assert all(len(nodes) for nodes in on.values())
    off: dict[str, Any] = {"cue": 1.0, arm: 0.0}
    for name, nodes in found(AnchorConfig(**off)).items():
        assert nodes.tolist() == ([] if name == arm else on[name].tolist())


def test_the_nearest_that_live_are_found_among_many_deleted(
    open_space: Opener, record: Maker
) -> None:
    space = open_space()
    space.add([record(f"boat number {i}", id=f"t{i}") for i in range(60)])
    query = space.embedder.queries(["boat number 7"])[0]
    nobody = Said(NO_NODES, NO_NODES, space.snapshot().adjacency)

    def nearest(k: int) -> list[str]:
        snapshot = space.snapshot()
        few = AnchorConfig(per_arm=k)
        return ids(snapshot, vector_arm(query, snapshot, space.index, nobody, None, few))

    order = nearest(60)
    assert len(order) == 60
    gone = set(order[:8]) | set(order[20:45])
    space.journal.append_delete([int(name[1:]) + 1 for name in gone], None)
    space._catch_up()
    left = [name for name in order if name not in gone]
    for k in (1, 5, 15, 20, 27, 60):
        assert nearest(k) == left[:k]


def test_filters_leave_the_nearest_that_pass(diary: Space, snapshot: Snapshot) -> None:
    query = diary.embedder.queries(["The boat in the harbour."])[0]
    analysis = asking(snapshot, "What did Ada say of the boat?")
    mask = episodes_allowed(snapshot, START_US + 5 * DAY_US, START_US + 20 * DAY_US, None)
    assert mask is not None
    said = said_by(analysis, snapshot)
    found = vector_arm(query, snapshot, diary.index, said, mask, AnchorConfig(per_arm=50))
    assert sorted(found.tolist()) == np.flatnonzero(mask).tolist()
    assert (snapshot.nodes["status"][found] == LIVE).all()
    assert (snapshot.nodes["time_us"][found] != TIME_NONE).all()


def test_names_that_come_after_a_snapshot_are_not_in_it(
    diary: Space, snapshot: Snapshot, record: Maker
) -> None:
    told = "Priya Nair and I met Ottoline Quist on 3 May 2024, on the quay."
    diary.add([record(told, session="new", speaker="Zelda", time="2024-06-01T00:00:00Z")])
    text = "What did Zelda say to Ottoline Quist on 3 May 2024 of the quay?"
    analysis = asking(snapshot, text)
    assert min(analysis.speakers) >= snapshot.n
    assert min(analysis.dates) >= snapshot.n
    said, ws = said_by(analysis, snapshot), Workspace()
    nodes = episodes(snapshot)
    assert said.episodes.tolist() == []
    assert not said.present(snapshot.nodes["session"][nodes]).any()
    assert keyword_arm(analysis, snapshot, None, CONFIG, ws).tolist() == []
    assert time_arm(analysis, snapshot, None, CONFIG, ws).tolist() == []
    assert cue_arm(analysis, snapshot, None, CONFIG, ws).tolist() == []
    assert time_fit_of(analysis, snapshot, nodes).max() < 0.5


def test_documents_of_a_term_ascend_as_the_kernel_expects(diary: Space) -> None:
    postings = diary.snapshot().postings
    for term in range(len(postings.head)):
        docs = []
        if term + 1 < len(postings.indptr):
            docs = postings.doc[postings.indptr[term] : postings.indptr[term + 1]].tolist()
        newer, link = [], int(postings.head[term])
        while link >= 0:
            newer.append(int(postings.d_doc[link]))
            link = int(postings.next[link])
        docs += newer[::-1]
        assert docs == sorted(set(docs))
    assert np.all(np.diff(postings.d_doc) >= 0)
    assert postings.tf.min() >= 1


def test_speakers_are_linked_to_their_sessions(snapshot: Snapshot) -> None:
    # What `Said.present` reads.
    noor = snapshot.graph.find(Kind.CUE, "noor")
    sessions = snapshot.graph.linked(noor, Relation.PART_OF)
    assert [snapshot.graph.label(int(node)) for node in sessions] == ["s2"]
