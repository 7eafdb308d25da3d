"""The read path on small memories: arms, fusion, walk, ranking, filters, and where it is cut."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from cuegraph.engine.anchors import episodes_allowed, fuse, time_fit
from cuegraph.engine.config import AnchorConfig, BeamConfig, RankConfig, RecallConfig
from cuegraph.engine.dates import TIME_MAX, TIME_MIN, Window
from cuegraph.engine.evidence import Recall, moment
from cuegraph.engine.recall import Question, Searched, recall, recall_together
from cuegraph.engine.schema import TIME_NONE, Kind, Relation
from cuegraph.engine.snapshot import Snapshot
from cuegraph.engine.space import Space
from cuegraph.engine.tokens import WordCounter
from cuegraph.engine.vectors import passage
from cuegraph.engine.walk import relation_gain
from cuegraph.io import TurnRecord
from cuegraph.kernels.bm25 import Workspace

Maker = Callable[..., TurnRecord]
Opener = Callable[..., Space]

DAY_US = 86_400_000_000
NO_WALK = RecallConfig(beam=BeamConfig(depth=0))
WORKSPACE = Workspace()


def ask(
    space: Space,
    text: str,
    config: RecallConfig | None = None,
    snapshot: Snapshot | None = None,
    **options: Any,
) -> Recall:
    unset: dict[str, Any] = dict.fromkeys(Question._fields)
    question = Question(**{**unset, "text": text, "k": 10, **options})
    vector = space.embedder.queries([text])[0]
    seen = snapshot or space.snapshot()
    settings = config or RecallConfig()
    return recall(question, vector, seen, space.index, WORKSPACE, WordCounter(), settings)


def ids(found: Recall) -> list[str]:
    return [piece.id for piece in found.evidence]


def episode(space: Space, seq: int) -> int:
    return space.graph.episodes_of([seq])[0]


@pytest.fixture
def memory(open_space: Opener, record: Maker) -> Space:
    """Six turns, a day apart, the last without a time."""
    said = [
        ("Ada", "My lantern fell into the harbour."),
        ("Teo", "Did the boat sink?"),
        ("Ada", "No, the boat is fine, and so is the violin on it."),
        ("Teo", "Snow on the island again."),
        ("Noor", "I painted the boat red with Mira last week."),
        ("Noor", "A letter about the boat came."),
    ]
    space = open_space()
    space.add(
        [
            record(
                text,
                id=f"t{i}",
                session=f"s{i // 3}",
                speaker=speaker,
                time=None if i == 5 else (19_000 + i) * DAY_US,
            )
            for i, (speaker, text) in enumerate(said)
        ]
    )
    return space


def window(start_us: int, end_us: int) -> Window:
    return Window(start_us=start_us, end_us=end_us, precision="day", text="", start=0, end=0)


def test_times_fit_by_their_distance_in_days() -> None:
    asked = window(100 * DAY_US, 101 * DAY_US)
    last = 101 * DAY_US - 1
    times = np.array(
        [100 * DAY_US, last, last + 5 * DAY_US, 97 * DAY_US, 0, TIME_NONE], dtype=np.int64
    )
    expected = [1, 1, math.exp(-5 / 10), math.exp(-3 / 3), math.exp(-100 / 3), 0]
    np.testing.assert_allclose(time_fit([asked], times), expected, rtol=1e-6, atol=1e-30)
    assert time_fit([], times).tolist() == [0] * 6


def test_of_several_times_the_one_that_fits_best_counts() -> None:
    both = [window(0, DAY_US), window(20 * DAY_US, 21 * DAY_US)]
    times = np.array([5 * DAY_US, 20 * DAY_US, 17 * DAY_US], np.int64)
    after_first = (5 * DAY_US - (DAY_US - 1)) / DAY_US
    expected = [math.exp(-after_first / 10), 1, math.exp(-1)]
    expected[2] = max(expected[2], math.exp(-(16 + 1 / DAY_US) / 10))
    np.testing.assert_allclose(time_fit(both, times), expected, rtol=1e-6)


def test_no_time_fits_no_window_however_open() -> None:
    times = np.array([TIME_NONE, -(10**15), 10**15], np.int64)
    assert time_fit([window(TIME_MIN, 0)], times).tolist()[:2] == [0, 1]
    assert time_fit([window(0, TIME_MAX)], times).tolist()[::2] == [0, 1]
    assert time_fit([window(TIME_MIN, TIME_MAX)], times).tolist() == [0, 1, 1]


def test_arms_are_fused_by_reciprocal_ranks() -> None:
    arms = {
        "vector": np.array([5, 3, 9], np.int32),
        "keyword": np.array([3, 7], np.int32),
        "time": np.array([9], np.int32),
        "cue": np.array([1], np.int32),
    }
    found = fuse(arms, AnchorConfig(keyword=1.0, vector=1.0, time=0.5, cue=0.0, rrf_k=60.0))
    sums = {3: 1 / 62 + 1 / 61, 5: 1 / 61, 7: 1 / 62, 9: 1 / 63 + 0.5 / 61}
    order = sorted(sums, key=lambda node: -sums[node])
    assert order == [3, 9, 5, 7]
    assert found.nodes.tolist() == order
    np.testing.assert_allclose(found.scores, [sums[n] / sums[3] for n in order], rtol=1e-6)


def test_equal_sums_are_in_the_order_of_nodes() -> None:
    arms = {"vector": np.array([8, 2], np.int32), "keyword": np.array([2, 8], np.int32)}
    assert fuse(arms, AnchorConfig()).nodes.tolist() == [2, 8]


def test_nothing_fused_where_no_arm_counts() -> None:
    arms = {"vector": np.array([1], np.int32), "keyword": np.empty(0, np.int32)}
    assert fuse(arms, AnchorConfig(vector=0.0)).nodes.tolist() == []
    assert fuse({}, AnchorConfig()).scores.tolist() == []


def test_the_gain_of_a_relation_is_how_well_it_fits_the_intent() -> None:
    config = BeamConfig(
        structure=2.0,
        phi={
            "why": {"CAUSES": 2.0, "FOLLOWS": 1.0},
            "when": {"MENTIONS": 9.0},
            "entity": {},
            "open": {"CAUSES": 0.0, "FOLLOWS": 0.4, "SIMILAR": 7.0},
        },
    )
    relations = np.zeros(16, np.int64)
    relations[[0, 1, 2, 3, 6, 7, 12, 13]] = 5  # no SIMILAR; CUES is closed
    intent = {"why": 0.75, "when": 0.0, "entity": 0.0, "open": 0.25}
    # phi: CAUSES 0.75 * 2 = 1.5; FOLLOWS 0.75 + 0.25 * 0.4 = 0.85; MENTIONS 0.
    expected = np.zeros(16)
    expected[[2, 3]] = 1
    expected[[0, 1]] = math.exp(2 * (0.85 - 1.5))
    expected[[6, 7]] = math.exp(2 * (0 - 1.5))
    np.testing.assert_allclose(relation_gain(intent, relations, config), expected, rtol=1e-6)
    none = relation_gain(intent, np.zeros(16, np.int64), config)
    assert none.tolist() == [0] * 16


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(ValueError, match="expected relations"):
        BeamConfig(phi={"why": {"CAUSED_BY": 1.0}})


def test_filters_by_time_and_speaker(memory: Space) -> None:
    snapshot = memory.snapshot()
    day = 19_000 * DAY_US

    def allowed(*arguments: int | None) -> list[str]:
        mask = episodes_allowed(snapshot, *arguments)
        assert mask is not None
        return [turn.id for turn in snapshot.turns(np.flatnonzero(mask).tolist())]

    assert episodes_allowed(snapshot, None, None, None) is None
    assert allowed(day + DAY_US, day + 3 * DAY_US, None) == ["t1", "t2"]
    assert allowed(day + 3 * DAY_US, None, None) == ["t3", "t4"]
    assert allowed(None, day + 1, None) == ["t0"]
    assert allowed(None, None, snapshot.graph.find(Kind.CUE, "noor")) == ["t4", "t5"]
    assert allowed(day, None, snapshot.graph.find(Kind.CUE, "noor")) == ["t4"]


def test_only_what_passes_the_filters_comes_back(memory: Space) -> None:
    day = 19_000 * DAY_US
    found = ask(memory, "the boat", after_us=day + DAY_US, before_us=day + 4 * DAY_US)
    assert set(ids(found)) == {"t1", "t2", "t3"}
    noor = memory.graph.find(Kind.CUE, "noor")
    assert set(ids(ask(memory, "the lantern", speaker=noor))) == {"t4", "t5"}


def bm25(
    terms: Sequence[str], docs: Sequence[Sequence[str]], context: Sequence[tuple[int, ...]]
) -> list[float]:
    """The formula of the docstring of `kernels.bm25`, in plain Python."""
    k1, b, before, after = 1.5, 0.75, 0.7, 0.3
    average = (1 + before + after) * sum(map(len, docs)) / len(docs)
    scores = []
    for place, (previous, following) in enumerate(context):
        near = [(place, 1.0), (previous, before), (following, after)]
        seen = [(docs[i], weight) for i, weight in near if i >= 0]
        length = sum(weight * len(doc) for doc, weight in seen)
        score = 0.0
        for term in terms:
            df = sum(term in doc for doc in docs)
            tf = sum(weight * doc.count(term) for doc, weight in seen)
            idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
            if tf:
                score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))
        scores.append(score)
    return scores


def test_the_parts_of_a_score_by_hand(open_space: Opener, record: Maker) -> None:
    turns = [
        record("boat snow boat", session="a", speaker="Ada", id="0"),
        record("violin market?", session="a", speaker="Teo", id="1"),
        record("boat letter", session="b", speaker="Teo", id="2"),
    ]
    space = open_space()
    space.add(turns)
    rank = RankConfig(fused=0.1, keyword=0.6, session=0.45, vector=0.65, graph=0.3, speaker=0.5,
                      present=0.4, time=0.45, asks=-0.25, short=-0.3)  # fmt: skip
    config = RecallConfig(
        anchors=AnchorConfig(keyword=1.0, vector=1.0), beam=BeamConfig(depth=0), rank=rank
    )
    found = ask(space, "Teo boat", config)
    parts = {piece.id: piece.parts for piece in found.evidence}
    assert set(parts) == {"0", "1", "2"}

    docs = [["boat", "snow", "boat"], ["violin", "market"], ["boat", "letter"]]
    keyword = bm25(["boat"], docs, [(-1, 1), (0, -1), (-1, -1)])
    k1, b = 1.5, 0.75
    idf = math.log(1 + (2 - 2 + 0.5) / (2 + 0.5))
    session = [idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / 3.5))
               for tf, length in ((2, 5), (2, 5), (1, 2))]  # fmt: skip

    vectors = space.embedder.passages([passage(turn) for turn in turns]).astype(np.float16)
    own = vectors.astype(np.float64) @ space.embedder.queries(["Teo boat"])[0].astype(np.float64)
    middling = own.mean()
    beside = [middling + own[1], own[0] + middling, 2 * middling]
    likeness = own + 0.3 * np.array(beside)

    by_vector, by_keyword = np.argsort(-own).tolist(), np.argsort(-np.array(keyword)).tolist()
    fused = [1 / (61 + by_vector.index(i)) + 1 / (61 + by_keyword.index(i)) for i in range(3)]
    shorts = [1 - len(doc) / 10 for doc in docs]
    spread = likeness.max() - likeness.min()
    for i in range(3):
        expected = {
            "fused": 0.1 * fused[i] / max(fused),
            "keyword": 0.6 * keyword[i] / max(keyword),
            "session": 0.45 * session[i] / max(session),
            "vector": 0.65 * (likeness[i] - likeness.min()) / spread,
            "speaker": 0.5 * (i > 0),
            "present": 0.4,  # Teo speaks in both sessions
            "asks": -0.25 * (i == 1),
            "short": -0.3 * shorts[i],
        }
        got = parts[str(i)]
        assert got == pytest.approx({k: v for k, v in expected.items() if v}, abs=2e-4)
        piece = next(p for p in found.evidence if p.id == str(i))
        assert piece.score == pytest.approx(sum(got.values()), abs=1e-5)
        assert piece.arms == {
            "vector": by_vector.index(i) + 1,
            "keyword": by_keyword.index(i) + 1,
        }
    scores = [piece.score for piece in found.evidence]
    assert scores == sorted(scores, reverse=True)


def test_a_time_asked_for_counts_and_so_does_a_date_told(memory: Space) -> None:
    # t4 of day 19,004 (12 January 2022, a Wednesday) speaks of the week before.
    found = ask(memory, "What was on 11 January 2022?", NO_WALK, utc_offset_min=0)
    times = {piece.id: piece.parts.get("time", 0.0) for piece in found.evidence}
    assert times["t3"] == pytest.approx(RankConfig().time)
    assert times["t4"] == pytest.approx(RankConfig().time * math.exp(-1 / DAY_US / 10), abs=1e-4)
    assert times["t2"] == pytest.approx(RankConfig().time * math.exp(-1 / 3), abs=1e-4)
    assert times["t5"] == 0
    assert [p.id for p in found.evidence if p.arms.get("time") == 1] == ["t3"]


def test_evidence_is_the_turn_as_it_was_kept(open_space: Opener, record: Maker) -> None:
    turn = record("A boat.", id="x", session="s", speaker="Ada", role="user", source="chat",
                  agent="bot", caption="a boat", time="2024-05-24T10:00:00+02:00")  # fmt: skip
    space = open_space()
    space.add([turn])
    found = ask(space, "boat")
    (piece,) = found.evidence
    assert (piece.node, piece.id, piece.session, piece.speaker) == ("e1", "x", "s", "Ada")
    assert (piece.role, piece.source, piece.agent) == ("user", "chat", "bot")
    assert (piece.text, piece.caption) == ("A boat.", "a boat")
    assert piece.time is not None
    assert piece.time.isoformat() == "2024-05-24T10:00:00+02:00"
    assert moment(None, None) is None
    assert found.tokens == 3
    assert found.cut_short is None
    assert {"analysis", "keyword", "vector", "ranking", "beam"} <= set(found.timings_ms)


@pytest.fixture
def chain(open_space: Opener, record: Maker) -> Space:
    """Turns of one session of which only the first says "boat"."""
    space = open_space()
    texts = ["A boat in the harbour.", "Snow fell.", "Violins sang.", "Markets closed."]
    space.add([record(text, id=f"t{i}") for i, text in enumerate(texts)])
    return space


def along(relation: str, **options: Any) -> RecallConfig:
    """A walk from one anchor of the keyword arm along one relation, every edge counting 1."""
    phi = {intent: {relation: 0.0} for intent in ("why", "when", "entity", "open")}
    beam = BeamConfig(phi=phi, semantics=0.0, hub=0.0, gamma=0.5, **options)
    return RecallConfig(anchors=AnchorConfig(per_arm=1, vector=0.0, time=0.0, cue=0.0), beam=beam)


def test_the_walk_reaches_what_no_arm_named(chain: Space) -> None:
    found = ask(chain, "boat", along("FOLLOWS", depth=2))
    assert ids(found) == ["t0", "t1", "t2"]
    paths = {piece.id: [(s.relation, s.node, s.label) for s in piece.path]
             for piece in found.evidence}  # fmt: skip
    assert paths["t0"] == [("anchor", "e1", "t0")]
    assert paths["t2"] == [("anchor", "e1", "t0"), ("PRECEDES", "e2", "t1"),
                           ("PRECEDES", "e3", "t2")]  # fmt: skip
    # t1: 0.5 * 1 + 1 = 1.5; t2: 0.5 * 1.5 + 1 = 1.75; the anchor has no support but its own.
    graph = {piece.id: piece.parts.get("graph", 0.0) for piece in found.evidence}
    weight = RankConfig().graph
    expected = {"t0": 0, "t1": weight * 1.5 / 1.75, "t2": weight}
    assert graph == pytest.approx(expected, abs=1e-5)
    arms = {piece.id: piece.arms for piece in found.evidence}
    assert arms["t0"]["keyword"] == 1
    assert arms["t1"] == arms["t2"] == {}


def test_a_walk_over_a_cue_names_it(open_space: Opener, record: Maker) -> None:
    space = open_space()
    texts = ["A lantern in the boat.", "The lantern burns.", "Snow fell."]
    space.add([record(text, id=f"t{i}", session=str(i)) for i, text in enumerate(texts)])
    found = ask(space, "boat", along("CUES", depth=2))
    assert sorted(ids(found)) == ["t0", "t1"]
    piece = next(p for p in found.evidence if p.id == "t1")
    assert [(s.relation, s.node, s.label) for s in piece.path] == [
        ("anchor", "e1", "t0"),
        ("CUED_BY", "cue:lantern", "lantern"),
        ("CUES", "e2", "t1"),
    ]


def test_what_is_deleted_is_never_found_nor_walked_through(chain: Space) -> None:
    chain.journal.append_delete([2], None)
    chain._catch_up()
    assert ids(ask(chain, "boat", along("FOLLOWS", depth=3))) == ["t0"]
    for text in ("Snow fell.", "boat", "violins"):
        assert set(ids(ask(chain, text))) == {"t0", "t2", "t3"}


def test_the_walk_stays_within_the_times_wanted(memory: Space) -> None:
    found = ask(memory, "lantern", along("FOLLOWS", depth=5), before_us=19_002 * DAY_US)
    assert set(ids(found)) == {"t0", "t1"}
    assert set(ids(ask(memory, "lantern", along("FOLLOWS", depth=2)))) == {"t0", "t1", "t2"}


def test_a_late_recall_leaves_the_walk_out(chain: Space) -> None:
    config = along("FOLLOWS", depth=2)
    found = ask(chain, "boat", config, deadline=time.perf_counter() - 1)
    assert found.cut_short == "deadline"
    assert ids(found) == ["t0"]
    assert found.evidence[0].path == ()
    in_time = ask(chain, "boat", config, deadline=time.perf_counter() + 3600)
    assert in_time.cut_short is None
    assert len(in_time.evidence) == 3


@pytest.mark.parametrize("k", [1, 2, 4, 100])
def test_at_most_k_come_back(chain: Space, k: int) -> None:
    everything = ids(ask(chain, "boat", k=100))
    assert len(everything) == 4
    found = ask(chain, "boat", k=k)
    assert ids(found) == everything[:k]
    assert found.cut_short is None


@pytest.mark.parametrize("budget", [0, 1, 5, 6, 8, 9, 14, 100])
def test_the_token_budget_is_kept_and_reported(chain: Space, budget: int) -> None:
    whole = ask(chain, "boat").evidence
    tokens = [WordCounter().count(piece.text) for piece in whole]
    fit = sum(sum(tokens[: i + 1]) <= budget for i in range(len(tokens)))
    found = ask(chain, "boat", budget_tokens=budget)
    assert found.evidence == whole[:fit]
    assert found.tokens == sum(tokens[:fit]) <= budget
    assert found.cut_short == (None if fit == len(tokens) else "tokens")
    assert found.counter == "words/6"


def test_an_empty_memory_answers_nothing(open_space: Opener) -> None:
    found = ask(open_space(), "Where is the boat since yesterday?")
    assert found.evidence == ()
    assert (found.cut_short, found.tokens) == (None, 0)


@pytest.mark.parametrize("text", ["zzzz qqqq", "😀", "the of", "\ud800"])
def test_a_question_of_no_known_word_is_answered_by_likeness(chain: Space, text: str) -> None:
    found = ask(chain, text)
    assert set(ids(found)) == {"t0", "t1", "t2", "t3"}
    assert all("keyword" not in piece.arms for piece in found.evidence)
    assert all(math.isfinite(piece.score) for piece in found.evidence)


def test_equal_scores_are_in_the_order_of_keeping(open_space: Opener, record: Maker) -> None:
    space = open_space()
    space.add([record("the same words", id=str(i), session=str(i)) for i in range(6)])
    rank = RankConfig(fused=0.0, graph=0.0)
    found = ask(space, "same words", RecallConfig(rank=rank, beam=BeamConfig(depth=0)))
    assert len({piece.score for piece in found.evidence}) == 1
    assert ids(found) == [str(i) for i in range(6)]


def test_the_same_question_gets_the_same_answer(
    open_space: Opener, conversation: list[TurnRecord]
) -> None:
    space = open_space()
    space.add(conversation)
    texts = ["Where is the boat?", "Why snow yesterday?", "我爱猫", "When did Mira Haddad paint?"]
    first = [ask(space, text) for text in texts]
    space.publish()  # the delta merged: the order of edges is no part of the answer
    second = [ask(space, text) for text in texts]
    for one, other in zip(first, second, strict=True):
        assert one.evidence == other.evidence
        assert one.analysis == other.analysis
        assert len(one.evidence) == 10
        assert any(piece.path for piece in one.evidence)


def test_a_snapshot_does_not_change_under_its_reader(
    open_space: Opener, conversation: list[TurnRecord]
) -> None:
    space = open_space()
    space.add(conversation[:100])
    snapshot = space.snapshot()
    before = ask(space, "Where is the boat, Ada?", snapshot=snapshot)
    space.add([turn for turn in conversation[100:] if turn.session == "s3"])
    space.publish()
    after = ask(space, "Where is the boat, Ada?", snapshot=snapshot)
    assert {p.id for p in after.evidence} <= {turn.id for turn in conversation[:100]}
    assert ids(after) == ids(before)


def test_relations_are_named_by_their_forward_codes() -> None:
    assert [Relation(r).name for r in range(0, 16, 2)] == [
        "FOLLOWS", "CAUSES", "SIMILAR", "MENTIONS", "PART_OF", "ABOUT", "CUES", "SUPERSEDES",
    ]  # fmt: skip


def test_what_the_named_people_said_is_found_behind_the_best_of_all(
    open_space: Opener, record: Maker
) -> None:
    # Twenty strangers say just what is asked for, and Mira, in other words, what answers it.
    turns = [record("boat boat boat", session=f"s{i}", speaker="Teo", id="x") for i in range(20)]
    turns += [record("snow in the boat house", session="m", speaker="Mira", id="mira")]
    turns += [record("a long letter", session="m", speaker="Noor", id="noor")]
    space = open_space()
    space.add(turns)
    few = RecallConfig(anchors=AnchorConfig(per_arm=3), beam=BeamConfig(depth=0))
    found = {piece.id: piece for piece in ask(space, "What of a boat did Mira say?", few).evidence}
    assert found["mira"].arms["keyword"] == 4
    assert found["mira"].parts["present"] == 0.5
    assert "present" not in found["x"].parts
    # Who names nobody gets the best of all alone.
    found = {piece.id: piece for piece in ask(space, "What of a boat?", few).evidence}
    assert "mira" not in found or "keyword" not in found["mira"].arms


def test_questions_together_get_what_each_gets_alone(
    open_space: Opener, conversation: list[TurnRecord]
) -> None:
    space = open_space()
    space.add(conversation)
    start = conversation[1].time_us
    assert start is not None
    ada = space.graph.find(Kind.CUE, "ada")
    asked: list[dict[str, Any]] = [
        {"text": "Where is the boat?"},
        {"text": "Where is the boat?", "k": 100},
        {"text": "Why snow yesterday, Ada?", "budget_tokens": 20},
        {"text": "What did Teo say of a violin?", "speaker": ada},
        {"text": "我爱猫", "after_us": start, "before_us": start + 10 * DAY_US},
        {"text": "Who paints in Lisbon?", "deadline": time.perf_counter() - 1},
    ]
    unset: dict[str, Any] = dict.fromkeys(Question._fields)
    questions = [Question(**{**unset, "k": 10, **each}) for each in asked]
    vectors = space.embedder.queries([question.text for question in questions])
    searched = Searched(space.snapshot(), space.index, WORKSPACE, RecallConfig())
    together = recall_together(questions, vectors, searched, WordCounter())
    for found, each in zip(together, asked, strict=True):
        alone = ask(space, **each)
        assert found.evidence == alone.evidence
        assert found.analysis == alone.analysis
        assert (found.tokens, found.cut_short) == (alone.tokens, alone.cut_short)
        assert found.timings_ms.keys() == alone.timings_ms.keys()
    assert recall_together([], vectors[:0], searched, WordCounter()) == []
