"""Contextual BM25: a turn also answers for its neighbours, and a session counts as one document.

A document is an episode. A query term found in it counts fully for it, with `from_previous` for the
episode that follows it (answers follow questions) and with `from_following` for the one before it.
The same pass scores every session as the sum of its episodes. With both weights 0 the episode score
is plain BM25 (Robertson and Zaragoza 2009) with the idf of Lucene, ln(1 + (N - df + 0.5) /
(df + 0.5)).
"""

from typing import NamedTuple

import numpy as np

from .types import (
    F32,
    F32_1,
    F64,
    I32_1,
    I64,
    I64_1,
    RF32_1,
    RI32_1,
    RI64_1,
    RU16_1,
    VOID,
    F32Array,
    Float,
    I32Array,
    I64Array,
    Int,
    U16Array,
    check_array,
    kernel,
    named_tuple,
)

LAST_STAMP = 2**31 - 1


class Postings(NamedTuple):
    """Which documents hold a term: an immutable base and a chain of newer entries per term.

    A document may stand more than once under a term; its frequencies add up. Entries that a reader
    may not see are skipped: documents >= n, and delta entries >= m_delta.

    indptr   int64 (v_base+1,)    row starts of the base, by term
    doc      int32, tf uint16     the base's entries
    head     int32 (v,)           newest delta entry of a term, or -1; v >= v_base is the vocabulary
    next     int32 (>= m_delta,)  the next older entry, or -1
    d_doc    int32, d_tf uint16   the delta's entries
    """

    indptr: I64Array
    doc: I32Array
    tf: U16Array
    head: I32Array
    next: I32Array
    d_doc: I32Array
    d_tf: U16Array
    m_delta: int
    n: int


class Documents(NamedTuple):
    """What is known of the documents, all arrays (>= n,) by row.

    length          int32  terms of the document itself
    previous        int32  row of the episode before it in its session; -1 or >= n = none
    following       int32  the episode after it; has to mirror `previous`
    session         int32  row of its session node; -1 or >= n = none
    session_length  int32  by session row: terms of all its episodes
    n_docs          live episodes, the N of the idf
    total_length    terms of all of them
    n_sessions      sessions that hold them
    """

    length: I32Array
    previous: I32Array
    following: I32Array
    session: I32Array
    session_length: I32Array
    n_docs: int
    total_length: int
    n_sessions: int


class Params(NamedTuple):
    """k1 and b saturate episodes, session_k1 and session_b sessions; from_* weigh the context."""

    k1: float = 1.5
    b: float = 0.75
    from_previous: float = 0.7
    from_following: float = 0.3
    session_k1: float = 1.5
    session_b: float = 0.75


class _Space(NamedTuple):
    score: F32Array
    tf: F32Array
    stamp: I32Array
    touched: I32Array
    holders: I32Array

    @classmethod
    def zeros(cls, n: int) -> "_Space":
        score, tf = np.zeros(n, np.float32), np.zeros(n, np.float32)
        stamp, touched, holders = (np.zeros(n, np.int32) for _ in range(3))
        return cls(score, tf, stamp, touched, holders)


class Workspace:
    """Scores by row and what it takes to compute them; one per thread, kept between calls.

    score          float32 (>= n,)  by episode row, 0 where the last call did not touch it
    session_score  float32 (>= n,)  by session row, likewise
    sessions       int32            rows with a session score, in no order to rely on; a view
    """

    def __init__(self, n: int = 1024) -> None:
        self._allocate(n)

    def _allocate(self, n: int) -> None:
        self._docs, self._sessions = _Space.zeros(n), _Space.zeros(n)
        # Documents touched, sessions touched, and the terms scored so far: the stamp of a term.
        self._counts: I64Array = np.zeros(3, np.int64)

    def claim(self, n: int, terms: int) -> tuple[_Space, _Space, I64Array]:
        """The arrays, with room for rows below `n` (grown by doubling) and for so many stamps."""
        size = self.score.size
        if n > size or self._counts[2] + terms > LAST_STAMP:
            self._allocate(size if n <= size else max(n, 2 * size))
        return self._docs, self._sessions, self._counts

    @property
    def score(self) -> F32Array:
        return self._docs.score

    @property
    def session_score(self) -> F32Array:
        return self._sessions.score

    @property
    def sessions(self) -> I32Array:
        return self._sessions.touched[: self._counts[1]]


# Bundles that the kernels hand on. The entry takes its inputs flat, because numba does not convert
# a tuple of writable arrays to a tuple of read-only ones.
class _Links(NamedTuple):
    length: I32Array
    previous: I32Array
    following: I32Array
    session: I32Array
    session_length: I32Array
    n: Int


class _Model(NamedTuple):
    k1: Float
    from_previous: Float
    from_following: Float
    floor: Float
    slope: Float


POSTINGS = named_tuple(Postings, RI64_1, RI32_1, RU16_1, RI32_1, RI32_1, RI32_1, RU16_1, I64, I64)
LINKS = named_tuple(_Links, RI32_1, RI32_1, RI32_1, RI32_1, RI32_1, I64)
SPACE = named_tuple(_Space, F32_1, F32_1, I32_1, I32_1, I32_1)
MODEL = named_tuple(_Model, F32, F32, F32, F32, F32)


@kernel(I64(POSTINGS, I64, SPACE))
def _hold_term(postings: Postings, term: Int, docs: _Space) -> Int:
    """Write the documents that hold `term` to `holders`, their frequencies to `tf`; how many."""
    held, n, tf = 0, postings.n, docs.tf
    if term + 1 < postings.indptr.size:
        for e in range(postings.indptr[term], postings.indptr[term + 1]):
            doc = postings.doc[e]
            if doc < n and postings.tf[e] > 0:
                if tf[doc] == 0:
                    docs.holders[held] = doc
                    held += 1
                tf[doc] += np.float32(postings.tf[e])
    link = np.int64(postings.head[term])
    while link >= 0:
        doc = postings.d_doc[link]
        if link < postings.m_delta and doc < n and postings.d_tf[link] > 0:
            if tf[doc] == 0:
                docs.holders[held] = doc
                held += 1
            tf[doc] += np.float32(postings.d_tf[link])
        link = np.int64(postings.next[link])
    return held


@kernel(I64(LINKS, SPACE, I64, SPACE))
def _hold_sessions(links: _Links, docs: _Space, docs_held: Int, sessions: _Space) -> Int:
    """The same for the sessions of these documents."""
    held, tf = 0, sessions.tf
    for i in range(docs_held):
        doc = docs.holders[i]
        row = links.session[doc]
        if 0 <= row < links.n:
            if tf[row] == 0:
                sessions.holders[held] = row
                held += 1
            tf[row] += docs.tf[doc]
    return held


@kernel(F32(I64, I64, F32))
def _idf(n: Int, df: Int, boost: Float) -> Float:
    # Deleted documents still stand in the postings, so df can exceed n: never a negative weight.
    ratio = (max(n - df, 0) + 0.5) / (df + 0.5)
    return np.float32(boost * np.log(1.0 + ratio))


@kernel(MODEL(F64, F64, F64, F64, I64, I64))
def _model(
    k1: Float, b: Float, from_previous: Float, from_following: Float, total: Int, count: Int
) -> _Model:
    """The formula's constants: k1 (1 - b + b L / A) is floor + slope * L."""
    average = max(total, 1) / max(count, 1) * (1.0 + from_previous + from_following)
    return _Model(
        np.float32(k1),
        np.float32(from_previous),
        np.float32(from_following),
        np.float32(k1 * (1.0 - b)),
        np.float32(k1 * b / average),
    )


@kernel(F32(MODEL, F32, F32))
def _saturate(model: _Model, tf: Float, length: Float) -> Float:
    return tf * (model.k1 + np.float32(1)) / (tf + model.floor + model.slope * length)


# The two loops below touch arrays in line on purpose: numba counts references for every array that
# a call receives, which per row costs more than the arithmetic.
@kernel(I64(LINKS, SPACE, MODEL, I64, I64, I64, F32, I64))
def _score_docs(
    links: _Links,
    docs: _Space,
    model: _Model,
    held: Int,
    before: Int,
    stamp: Int,
    idf: Float,
    touched: Int,
) -> Int:
    """Score what holds the term and the neighbours of that, each once; the number touched."""
    tf, n = docs.tf, links.n
    for i in range(held):
        holder = docs.holders[i]
        for row in (holder, links.following[holder], links.previous[holder]):
            if not 0 <= row < n or docs.stamp[row] == stamp:
                continue
            # Pulled from the neighbours in one fixed order: pushed, the sum would depend on the
            # order of the postings, which a merge of the delta changes.
            frequency, length = tf[row], np.float32(links.length[row])
            near = links.previous[row]
            if 0 <= near < n:
                frequency += model.from_previous * tf[near]
                length += model.from_previous * np.float32(links.length[near])
            near = links.following[row]
            if 0 <= near < n:
                frequency += model.from_following * tf[near]
                length += model.from_following * np.float32(links.length[near])
            if frequency > 0:
                if docs.stamp[row] <= before:
                    docs.touched[touched] = row
                    touched += 1
                docs.stamp[row] = stamp
                docs.score[row] += idf * _saturate(model, frequency, length)
    return touched


@kernel(I64(LINKS, SPACE, MODEL, I64, I64, I64, F32, I64))
def _score_sessions(
    links: _Links,
    sessions: _Space,
    model: _Model,
    held: Int,
    before: Int,
    stamp: Int,
    idf: Float,
    touched: Int,
) -> Int:
    """Score the sessions that hold the term; the number touched."""
    for i in range(held):
        row = sessions.holders[i]
        length = np.float32(links.session_length[row])
        if sessions.stamp[row] <= before:
            sessions.touched[touched] = row
            touched += 1
        sessions.stamp[row] = stamp
        sessions.score[row] += idf * _saturate(model, sessions.tf[row], length)
    return touched


@kernel(VOID(SPACE, I64))
def _release(space: _Space, holders: Int) -> None:
    for i in range(holders):
        space.tf[space.holders[i]] = 0


@kernel(VOID(SPACE, I64))
def _forget(space: _Space, touched: Int) -> None:
    for i in range(touched):
        space.score[space.touched[i]] = 0


@kernel(
    VOID(
        *(RI32_1, RF32_1),
        *(RI64_1, RI32_1, RU16_1, RI32_1, RI32_1, RI32_1, RU16_1, I64, I64),
        *(RI32_1, RI32_1, RI32_1, RI32_1, RI32_1, I64, I64, I64),
        *(F64, F64, F64, F64, F64, F64),
        *(SPACE, SPACE, I64_1),
    )
)
def _bm25(
    terms: I32Array,
    boosts: F32Array,
    indptr: I64Array,
    doc: I32Array,
    tf: U16Array,
    head: I32Array,
    next: I32Array,
    d_doc: I32Array,
    d_tf: U16Array,
    m_delta: Int,
    n: Int,
    length: I32Array,
    previous: I32Array,
    following: I32Array,
    session: I32Array,
    session_length: I32Array,
    n_docs: Int,
    total_length: Int,
    n_sessions: Int,
    k1: Float,
    b: Float,
    from_previous: Float,
    from_following: Float,
    session_k1: Float,
    session_b: Float,
    docs: _Space,
    sessions: _Space,
    counts: I64Array,
) -> None:
    postings = Postings(indptr, doc, tf, head, next, d_doc, d_tf, m_delta, n)
    links = _Links(length, previous, following, session, session_length, n)
    model = _model(k1, b, from_previous, from_following, total_length, n_docs)
    session_model = _model(session_k1, session_b, 0.0, 0.0, total_length, n_sessions)
    _forget(docs, counts[0])
    _forget(sessions, counts[1])
    counts[:2] = 0
    before = counts[2]
    for t in range(terms.size):
        if not 0 <= terms[t] < head.size:
            continue
        counts[2] += 1
        held = _hold_term(postings, terms[t], docs)
        idf = _idf(n_docs, held, boosts[t])
        counts[0] = _score_docs(links, docs, model, held, before, counts[2], idf, counts[0])
        held_s = _hold_sessions(links, docs, held, sessions)
        idf = _idf(n_sessions, held_s, boosts[t])
        counts[1] = _score_sessions(
            links, sessions, session_model, held_s, before, counts[2], idf, counts[1]
        )
        _release(docs, held)
        _release(sessions, held_s)


def bm25(
    terms: I32Array,
    boosts: F32Array,
    postings: Postings,
    documents: Documents,
    params: Params,
    workspace: Workspace,
) -> I32Array:
    """Rows of the episodes that a query's terms reach, their scores left in `workspace`.

    terms    int32 (t,)    term ids; unknown ones (< 0 or beyond the vocabulary) are skipped, a
                           term given twice counts twice
    boosts   float32 (t,)  factor of each term's idf
    returns  int32 (m,)    no order to rely on; a view, valid until the workspace's next call

    Fills `workspace.score[row]` of these rows and `workspace.session_score` of the rows in
    `workspace.sessions`; all others are 0. With an episode's own frequency tf and length L, those
    of the previous episode (index p) and of the following one (f):

        tf' = tf + from_previous * tf_p + from_following * tf_f, likewise L', and
        A'  = (1 + from_previous + from_following) * total_length / n_docs
        score = sum over terms of boost * idf * tf' (k1 + 1) / (tf' + k1 (1 - b + b L' / A'))
        idf   = ln(1 + (N - df + 0.5) / (df + 0.5)), df = documents that hold the term themselves

    Sessions: the same formula without context, over sessions. Sums are float32, terms in the order
    given. Raises ValueError where dtypes or lengths differ.
    """
    check_array("terms", terms, np.int32)
    check_array("boosts", boosts, np.float32)
    if terms.size != boosts.size:
        raise ValueError(f"boosts: expected {terms.size} elements, got {boosts.size}")
    shortest = min(array.size for array in documents[:5])
    if shortest < postings.n:
        raise ValueError(f"documents: expected at least {postings.n} rows, got {shortest}")
    docs, sessions, counts = workspace.claim(postings.n, terms.size)
    _bm25(terms, boosts, *postings, *documents, *params, docs, sessions, counts)
    return docs.touched[: counts[0]]
