import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.kernels import reference
from cuegraph.kernels.bm25 import Documents, Params, Postings, Workspace, bm25

VOCABULARY, SESSION = 12, 5


def postings(entries: list[tuple[int, int, int]], n_base: int, m_delta: int, n: int) -> Postings:
    """Postings of (term, doc, tf): those of the first `n_base` documents as base, then the delta.

    A document is numbered as `row` numbers it; a term and a document that come again are left out.
    """
    known = {(row(doc), term): tf for term, doc, tf in entries if row(doc) < n}
    rows = sorted((doc, term, tf) for (doc, term), tf in known.items())
    base = sorted((term, doc, tf) for doc, term, tf in rows if doc < row(n_base))
    delta = [(doc, term, tf) for doc, term, tf in rows if doc >= row(n_base)]
    indptr = np.searchsorted([term for term, _, _ in base], np.arange(VOCABULARY - 1))
    head, chain = np.full(VOCABULARY, -1, np.int32), np.full(len(delta), -1, np.int32)
    places, count = np.zeros(len(delta), np.int32), [0] * VOCABULARY
    for e, (_, term, _) in enumerate(delta):
        chain[e], head[term] = head[term], e
        count[term] += 1
        places[e] = count[term]
    return Postings(
        indptr.astype(np.int64),
        np.array([doc for _, doc, _ in base], np.int32),
        np.array([tf for _, _, tf in base], np.uint16),
        head,
        chain,
        np.array([doc for doc, _, _ in delta], np.int32),
        np.array([tf for _, _, tf in delta], np.uint16),
        min(m_delta, len(delta)),
        n,
        np.array([term for _, term, _ in delta], np.int32),
        places,
    )


def row(doc: int) -> int:
    """Row of an episode: before the episodes of each session of five stands its node."""
    return doc + doc // SESSION + 1


def documents(n: int) -> Documents:
    """All rows below `n`: nodes of sessions, every eleventh of which holds nobody, and episodes."""
    rows = np.arange(n)
    first = rows - rows % (SESSION + 1)
    episode = rows != first
    length = np.where(episode, rows % 7 + 3, 0)
    sessions = np.bincount(first, length, minlength=n) if n else np.zeros(0)
    apart = first // (SESSION + 1) % 11 == 10
    return Documents(
        length.astype(np.int32),
        np.where(rows - first > 1, rows - 1, -1).astype(np.int32),
        np.where(episode & (rows - first < SESSION), rows + 1, -1).astype(np.int32),
        np.where(episode & ~apart, first, -1).astype(np.int32),
        sessions.astype(np.int32),
        int(episode.sum()),
        int(length.sum()),
        len(set(first[episode].tolist())),
    )


def ids(*terms: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array(terms, np.int32), np.ones(len(terms), np.float32)


def check(
    got: np.ndarray, space: Workspace, want: tuple[dict[int, np.float32], dict[int, np.float32]]
) -> None:
    """To the bit."""
    assert len(set(got.tolist())) == len(got)
    assert {doc for doc in got.tolist() if space.score[doc] > 0} == set(want[0])
    dense = np.zeros(space.score.size, np.float32)
    for scores in want:
        dense[list(scores)] = list(scores.values())
    np.testing.assert_array_equal(space.score, dense)
    assert space.session_score is space.score


ENTRIES = st.lists(
    st.tuples(st.integers(0, VOCABULARY - 2), st.integers(0, 24), st.integers(1, 4)), max_size=60
)
BOUNDS = st.tuples(st.integers(0, 30), st.integers(1, 6), st.integers(0, 6))


@given(
    ENTRIES,
    st.integers(0, 25),
    st.integers(0, 60),
    st.integers(1, 30),
    st.lists(st.integers(-1, VOCABULARY), max_size=5),
    BOUNDS | st.none(),
    st.lists(st.integers(0, 24), max_size=4),
)
def test_bm25_is_the_reference(
    entries: list[tuple[int, int, int]],
    n_base: int,
    m_delta: int,
    n: int,
    terms: list[int],
    bounds: tuple[int, int, int] | None,
    also: list[int],
) -> None:
    stored, known, space = postings(entries, n_base, m_delta, n), documents(n), Workspace(4)
    boosts = (np.arange(len(terms), dtype=np.float32) + 1) / 2
    query = np.array(terms, np.int32)
    further = np.array([row(doc) for doc in also if row(doc) < n], np.int32)
    for weights in ((), (1.2, 0.4, 0.0, 0.0, 2.0, 1.0)):
        params = Params(*weights)
        if bounds:
            params = params._replace(postings=bounds[0], newest=bounds[1], looked_up=bounds[2])
        want = reference.bm25(query, boosts, stored, known, params, further.tolist())
        check(bm25(query, boosts, stored, known, params, space, further), space, want)


def test_three_turns_by_hand() -> None:
    # One session of three turns of four words each; the middle one holds the term once.
    known = Documents(
        length=np.array([0, 4, 4, 4], np.int32),
        previous=np.array([-1, -1, 1, 2], np.int32),
        following=np.array([-1, 2, 3, -1], np.int32),
        session=np.array([-1, 0, 0, 0], np.int32),
        session_length=np.array([12, 0, 0, 0], np.int32),
        n_docs=3,
        total_length=12,
        n_sessions=1,
    )
    space = Workspace()
    unseen = postings([(0, 1, 1)], 1, 0, 4)
    assert bm25(*ids(0), unseen, known, Params(), space).tolist() == []
    got = bm25(*ids(0), postings([(0, 1, 1)], 2, 0, 4), known, Params(), space)
    assert sorted(got.tolist()) == [1, 2, 3]
    # A' = 4 * 2 = 8. Turn 0: tf' = 0.3, L' = 4 + 0.3 * 4 = 5.2, norm = 0.25 + 0.75 * 0.65 = 0.7375,
    # 0.3 * 2.5 / (0.3 + 1.5 * 0.7375) = 8/15. Turn 1: tf' = 1, L' = 8: 1. Turn 2: tf' = 0.7,
    # L' = 6.8, norm = 0.8875: 1.75 / 2.03125. idf = ln(1 + 2.5 / 1.5).
    idf = np.log(8 / 3)
    want = [idf * 8 / 15, idf, idf * 1.75 / 2.03125]
    np.testing.assert_allclose(space.score[1:4], want, rtol=1e-6)
    # The session is as long as the average one: 1 * ln(1 + 0.5 / 1.5).
    np.testing.assert_allclose(space.session_score[0], np.log(4 / 3), rtol=1e-6)


def test_without_context_it_is_plain_bm25() -> None:
    rng = np.random.default_rng(3)
    n, terms = 40, [0, 3, 5]
    tf = rng.poisson(0.4, (n, VOCABULARY - 1))
    entries = [(t, d, int(tf[d, t])) for d in range(n) for t in range(VOCABULARY - 1) if tf[d, t]]
    length, rows = tf.sum(axis=1), [row(doc) for doc in range(n)]
    known = documents(n + 8)._replace(n_docs=n, total_length=int(length.sum()))
    known.length[rows] = length
    space = Workspace()
    bm25(*ids(*terms), postings(entries, 20, 999, n + 8), known, Params(1.2, 0.6, 0, 0), space)
    df = (tf > 0).sum(axis=0)
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    norm = 1.2 * (1 - 0.6 + 0.6 * length / length.mean())
    want = (idf * tf * 2.2 / (tf + norm[:, None]))[:, terms].sum(axis=1)
    np.testing.assert_allclose(space.score[rows], want, rtol=1e-5)


def corpus() -> tuple[list[tuple[int, int, int]], Documents]:
    rng = np.random.default_rng(5)
    entries = zip(
        rng.integers(0, 11, 300), rng.integers(0, 50, 300), rng.integers(1, 4, 300), strict=True
    )
    return [(int(t), int(d), int(c)) for t, d, c in entries], documents(60)


BOUNDED = Params(postings=20, newest=15, looked_up=6)


@pytest.mark.parametrize("params", [Params(), BOUNDED])
def test_base_and_delta_and_the_order_of_words_give_the_same_bits(params: Params) -> None:
    entries, known = corpus()
    scores = set()
    for n_base, terms in ((0, (1, 2, 2, 9)), (17, (2, 9, 1, 2)), (60, (9, 2, 2, 1))):
        space = Workspace(60)
        stored = postings(entries, n_base, 300, 60)
        bm25(*ids(*terms), stored, known, params, space, np.array([7, 3, 7], np.int32))
        scores.add(space.score.tobytes())
    assert len(scores) == 1


def test_a_common_term_counts_where_a_rarer_one_leads() -> None:
    # Term 0 stands in turn 0 alone, term 1 in every turn, each a session of its own neighbours.
    entries = [(0, 0, 1), *((1, doc, 1) for doc in range(30))]
    stored, known, space = postings(entries, 30, 0, 40), documents(40), Workspace()
    whole = bm25(*ids(1, 0), stored, known, Params(), space)
    assert len(whole) == 30
    exact = space.score.copy()
    few = Params(postings=30)
    assert sorted(bm25(*ids(1, 0), stored, known, few, space).tolist()) == [row(0), row(1)]
    # What it finds has the score that it would have; nothing else has any.
    assert space.score[row(0)] == exact[row(0)] > space.score[row(1)] == exact[row(1)] > 0
    assert space.score[row(2)] == 0 < exact[row(2)]
    # And so has what is asked for besides, once, with its neighbours' words.
    also = np.array([row(17), row(17), row(0)], np.int32)
    got = bm25(*ids(1, 0), stored, known, few, space, also)
    assert sorted(got.tolist()) == [row(0), row(1), row(17)]
    assert space.score[row(17)] == exact[row(17)]
    # The next query knows nothing of it.
    bm25(*ids(0), stored, known, few, space)
    assert space.score[row(17)] == 0


def test_of_the_rarest_term_the_newest_documents_count() -> None:
    entries = [(term, doc, 1) for doc in range(20) for term in (0, 1)]
    known, space = documents(40), Workspace()
    for n_base in (0, 12, 17, 20):
        stored = postings(entries, n_base, 99, 40)
        got = bm25(*ids(0, 1), stored, known, Params(postings=5, newest=5), space)
        assert sorted(got.tolist()) == [row(doc) for doc in range(15, 20)]
    # df is still 20: of 34 turns, ln(1 + 14.5 / 20.5); turn 17 has two neighbours, a tf' of 2.
    alone = Params(b=0.0, postings=5, newest=5)
    bm25(*ids(0), stored, known, alone, space)
    idf = np.log(1 + (known.n_docs - 20 + 0.5) / 20.5)
    np.testing.assert_allclose(space.score[row(17)], idf * 2 * 2.5 / (2 + 1.5), rtol=1e-6)


def test_sessions_of_a_common_term_are_estimated() -> None:
    # Term 0 stands in turn 0, term 1 in turns 0 and 1 and in one of each further session.
    entries = [(0, 0, 1), (1, 0, 1), (1, 1, 3), *((1, doc, 1) for doc in range(5, 30, 5))]
    known, space = documents(40), Workspace()
    stored = postings(entries, 30, 0, 40)
    bm25(*ids(0, 1), stored, known, Params(postings=1, session_b=0.0), space)
    sessions = known.n_sessions

    def gain(tf: float, df: float) -> float:
        return float(np.log(1 + (sessions - df + 0.5) / (df + 0.5)) * tf * 2.5 / (tf + 1.5))

    want = gain(1, 1) + gain(4, sessions * (1 - np.exp(-7 / sessions)))
    np.testing.assert_allclose(space.session_score[0], want, rtol=1e-6)


def test_a_workspace_forgets_grows_and_wraps_its_stamps() -> None:
    entries, known = corpus()
    stored, space = postings(entries, 40, 300, 60), Workspace(2)
    for params in (Params(), BOUNDED):
        for terms in ((1, 2), (), (3,), (1, 2)):
            got = bm25(*ids(*terms), stored, known, params, space)
            check(got, space, reference.bm25(*ids(*terms), stored, known, params))
            space._counts[2] = 2**31 - 2


def test_threads_with_their_own_workspaces_agree() -> None:
    entries, known = corpus()
    stored, local = postings(entries, 40, 300, 60), threading.local()

    def run(_: int) -> bytes:
        if not hasattr(local, "space"):
            local.space = Workspace(60)
        rows = bm25(*ids(1, 2, 7), stored, known, BOUNDED, local.space)
        return rows.tobytes() + local.space.score.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(40)))) == 1


def test_read_only_and_wrong_input() -> None:
    entries, known = corpus()
    stored, space = postings(entries, 40, 300, 60), Workspace()
    terms, boosts = ids(1, 2)
    also = np.array([3], np.int32)
    for array in (terms, boosts, also, *stored[:7], *stored[9:], *known[:5]):
        array.flags.writeable = False
    assert bm25(terms, boosts, stored, known, Params(), space, also).size
    with pytest.raises(ValueError, match=r"boosts: expected 2 elements, got 1"):
        bm25(terms, boosts[:1], stored, known, Params(), space)
    with pytest.raises(ValueError, match=r"documents: expected at least 61 rows, got 60"):
        bm25(terms, boosts, stored._replace(n=61), known, Params(), space)
    for wrong in (-1, 60):
        with pytest.raises(ValueError, match=r"also: expected rows of \[0, 60\), got"):
            bm25(terms, boosts, stored, known, Params(), space, np.array([3, wrong], np.int32))
