import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.kernels import reference
from cuegraph.kernels.bm25 import Documents, Params, Postings, Workspace, bm25

VOCABULARY = 12


def postings(entries: list[tuple[int, int, int]], n_base: int, m_delta: int, n: int) -> Postings:
    """Postings of (term, doc, tf): the first `n_base` as base, the others as delta."""
    base = sorted(entries[:n_base], key=lambda entry: entry[0])
    indptr = np.searchsorted([term for term, _, _ in base], np.arange(VOCABULARY - 1))
    delta = entries[n_base:]
    head, chain = np.full(VOCABULARY, -1, np.int32), np.full(len(delta), -1, np.int32)
    for e, (term, _, _) in enumerate(delta):
        chain[e], head[term] = head[term], e
    return Postings(
        indptr.astype(np.int64),
        np.array([doc for _, doc, _ in base], np.int32),
        np.array([tf for _, _, tf in base], np.uint16),
        head,
        chain,
        np.array([doc for _, doc, _ in delta], np.int32),
        np.array([tf for _, _, tf in delta], np.uint16),
        m_delta,
        n,
    )


def documents(n: int, session: int = 5) -> Documents:
    """Every `session` rows are a session, whose row is that of its first document."""
    rows = np.arange(n)
    length = (rows % 7 + 3).astype(np.int32)
    first = rows - rows % session
    sessions = np.bincount(first, length, minlength=n) if n else np.zeros(0)
    return Documents(
        length,
        np.where(rows == first, -1, rows - 1).astype(np.int32),
        np.where(rows % session == session - 1, -1, rows + 1).astype(np.int32),
        np.where(rows % 11 == 10, -1, first).astype(np.int32),
        sessions.astype(np.int32),
        n,
        int(length.sum()),
        len(set(first.tolist())),
    )


def ids(*terms: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array(terms, np.int32), np.ones(len(terms), np.float32)


def check(
    got: np.ndarray, space: Workspace, want: tuple[dict[int, float], dict[int, float]]
) -> None:
    for rows, values, expected in (
        (got, space.score, want[0]),
        (space.sessions, space.session_score, want[1]),
    ):
        assert sorted(rows.tolist()) == sorted(expected)
        dense = np.zeros(values.size)
        dense[list(expected)] = list(expected.values())
        np.testing.assert_allclose(values, dense, rtol=1e-5, atol=1e-6)


ENTRIES = st.lists(
    st.tuples(st.integers(0, VOCABULARY - 2), st.integers(0, 24), st.integers(0, 4)), max_size=60
)


@given(
    ENTRIES,
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(1, 25),
    st.lists(st.integers(-1, VOCABULARY), max_size=5),
)
def test_bm25_is_the_reference(
    entries: list[tuple[int, int, int]], n_base: int, m_delta: int, n: int, terms: list[int]
) -> None:
    stored, known, space = postings(entries, n_base, m_delta, n), documents(n), Workspace(4)
    boosts = (np.arange(len(terms), dtype=np.float32) + 1) / 2
    query = np.array(terms, np.int32)
    for params in (Params(), Params(1.2, 0.4, 0.0, 0.0, 2.0, 1.0)):
        got = bm25(query, boosts, stored, known, params, space)
        check(got, space, reference.bm25(query, boosts, stored, known, params))


def test_three_turns_by_hand() -> None:
    # One session of three turns of four words each; the middle one holds the term once.
    known = Documents(
        length=np.array([4, 4, 4, 0], np.int32),
        previous=np.array([-1, 0, 1, -1], np.int32),
        following=np.array([1, 2, -1, -1], np.int32),
        session=np.array([3, 3, 3, -1], np.int32),
        session_length=np.array([0, 0, 0, 12], np.int32),
        n_docs=3,
        total_length=12,
        n_sessions=1,
    )
    space = Workspace()
    got = bm25(*ids(0), postings([(0, 1, 1)], 1, 0, 4), known, Params(), space)
    assert sorted(got.tolist()) == [0, 1, 2]
    # A' = 4 * 2 = 8. Turn 0: tf' = 0.3, L' = 4 + 0.3 * 4 = 5.2, norm = 0.25 + 0.75 * 0.65 = 0.7375,
    # 0.3 * 2.5 / (0.3 + 1.5 * 0.7375) = 8/15. Turn 1: tf' = 1, L' = 8: 1. Turn 2: tf' = 0.7,
    # L' = 6.8, norm = 0.8875: 1.75 / 2.03125. idf = ln(1 + 2.5 / 1.5).
    idf = np.log(8 / 3)
    want = [idf * 8 / 15, idf, idf * 1.75 / 2.03125, 0]
    np.testing.assert_allclose(space.score[:4], want, rtol=1e-6)
    # The session is as long as the average one: 1 * ln(1 + 0.5 / 1.5).
    assert space.sessions.tolist() == [3]
    np.testing.assert_allclose(space.session_score[3], np.log(4 / 3), rtol=1e-6)


def test_without_context_it_is_plain_bm25() -> None:
    rng = np.random.default_rng(3)
    n, terms = 40, [0, 3, 5]
    tf = rng.poisson(0.4, (n, VOCABULARY - 1))
    entries = [(t, d, int(tf[d, t])) for d in range(n) for t in range(VOCABULARY - 1) if tf[d, t]]
    length = tf.sum(axis=1)
    known = documents(n)._replace(length=length.astype(np.int32), total_length=int(length.sum()))
    space = Workspace(n)
    bm25(*ids(*terms), postings(entries, 100, 999, n), known, Params(1.2, 0.6, 0, 0), space)
    df = (tf > 0).sum(axis=0)
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    norm = 1.2 * (1 - 0.6 + 0.6 * length / length.mean())
    want = (idf * tf * 2.2 / (tf + norm[:, None]))[:, terms].sum(axis=1)
    np.testing.assert_allclose(space.score, want, rtol=1e-5)


def corpus() -> tuple[list[tuple[int, int, int]], Documents]:
    rng = np.random.default_rng(5)
    entries = zip(
        rng.integers(0, 11, 300), rng.integers(0, 60, 300), rng.integers(1, 4, 300), strict=True
    )
    return [(int(t), int(d), int(c)) for t, d, c in entries], documents(60)


def test_base_and_delta_give_the_same_bits() -> None:
    entries, known = corpus()
    scores = set()
    for n_base in (0, 100, 300):
        space = Workspace(60)
        bm25(*ids(1, 2, 2, 9), postings(entries, n_base, 300, 60), known, Params(), space)
        scores.add(space.score.tobytes() + space.session_score.tobytes())
    assert len(scores) == 1


def test_a_workspace_forgets_grows_and_wraps_its_stamps() -> None:
    entries, known = corpus()
    stored, space = postings(entries, 200, 300, 60), Workspace(2)
    for terms in ((1, 2), (), (3,), (1, 2)):
        got = bm25(*ids(*terms), stored, known, Params(), space)
        check(got, space, reference.bm25(*ids(*terms), stored, known, Params()))
        space._counts[2] = 2**31 - 2


def test_threads_with_their_own_workspaces_agree() -> None:
    entries, known = corpus()
    stored, local = postings(entries, 200, 300, 60), threading.local()

    def run(_: int) -> bytes:
        if not hasattr(local, "space"):
            local.space = Workspace(60)
        rows = bm25(*ids(1, 2, 7), stored, known, Params(), local.space)
        return rows.tobytes() + local.space.score.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(40)))) == 1


def test_read_only_and_wrong_input() -> None:
    entries, known = corpus()
    stored, space = postings(entries, 200, 300, 60), Workspace()
    terms, boosts = ids(1, 2)
    for array in (terms, boosts, *stored[:7], *known[:5]):
        array.flags.writeable = False
    assert bm25(terms, boosts, stored, known, Params(), space).size
    with pytest.raises(ValueError, match=r"boosts: expected 2 elements, got 1"):
        bm25(terms, boosts[:1], stored, known, Params(), space)
    with pytest.raises(ValueError, match=r"documents: expected at least 61 rows, got 60"):
        bm25(terms, boosts, stored._replace(n=61), known, Params(), space)
