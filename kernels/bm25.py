"""Contextual BM25: a turn also answers for its neighbours, and a session counts as one document.

A document is an episode. A query term found in it counts fully for it, with `from_previous` for the
episode that follows it (answers follow questions) and with `from_following` for the one before it.
The same pass scores every session as the sum of its episodes. With both weights 0 the episode score
is plain BM25 (Robertson and Zaragoza 2009) with the idf of Lucene, ln(1 + (N - df + 0.5) /
(df + 0.5)).

What a query costs does not grow with the memory. Its rarest terms find the candidates, by their
postings; the commoner ones are looked up for the best of these alone, as the lists are that are not
essential to MaxScore (Turtle and Flood 1995). The word of a tenth of all turns would take most of
the time, and tells them apart least.
"""

import math
from typing import NamedTuple

import numpy as np

from .intrinsics import float_bits, prefetch
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
    deferred,
    kernel,
    named_tuple,
    tuple_of,
)

LAST_STAMP = 2**31 - 1
LARGEST = 2**63 - 1
LOW_BITS = 0xFFFFFFFF
AHEAD = 16
"""Rows fetched before they are read: the documents of a term lie far apart in every array."""

NO_ROWS: I32Array = np.empty(0, np.int32)


class Postings(NamedTuple):
    """Which documents hold a term: an immutable base and a chain of newer entries per term.

    The documents of a term ascend, each stands there once, and those of the delta come behind those
    of the base: documents are numbered in the order in which they are posted. Every tf is 1 or
    more. Delta entries >= m_delta, which a reader may not see, are skipped.

    indptr   int64 (v_base+1,)    row starts of the base, by term
    doc      int32, tf uint16     the base's entries
    head     int32 (v,)           newest delta entry of a term, or -1; v >= v_base is the vocabulary
    next     int32 (>= m_delta,)  the next older entry, or -1
    d_doc    int32, d_tf uint16   the delta's entries; `d_doc` never descends
    n        rows, more than any document seen
    d_term   int32 (>= m_delta,)  term of a delta entry
    d_place  int32 (>= m_delta,)  entries of its term in the delta up to it, itself included
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
    d_term: I32Array
    d_place: I32Array


class Documents(NamedTuple):
    """What is known of the documents, all arrays (>= n,) by row.

    length          int32  terms of the document itself
    previous        int32  row of the episode before it in its session; -1 or >= n = none
    following       int32  the episode after it; has to mirror `previous`
    session         int32  row of its session node, which is no document; -1 or >= n = none
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
    """k1 and b saturate episodes, session_k1 and session_b sessions; from_* weigh the context.

    The rest bounds what a query costs; see `bm25` for what that changes.

    postings   postings that may find candidates, in all
    newest     postings of the rarest term that do: all that it has, or its newest
    looked_up  candidates for which the other terms are looked up

    LoCoMo among 100,000 distractors is answered as well as without bounds where `also` holds what
    vectors find and what the people asked about have said; otherwise R@10 falls by two points.
    """

    k1: float = 1.5
    b: float = 0.75
    from_previous: float = 0.7
    from_following: float = 0.3
    session_k1: float = 1.5
    session_b: float = 0.75
    postings: int = 2048
    newest: int = 8192
    looked_up: int = 1024


class _Rows(NamedTuple):
    """By row, of episodes and of sessions.

    score  what the last query gave, 0 where it gave nothing
    stamp  a candidate's place added to the query's first stamp; less than that for others
    tf     frequency of the term at hand; 0 between terms
    """

    score: F32Array
    stamp: I32Array
    tf: F32Array

    @classmethod
    def zeros(cls, n: int) -> "_Rows":
        return cls(np.zeros(n, np.float32), np.zeros(n, np.int32), np.zeros(n, np.float32))


class _Places(NamedTuple):
    """Candidates, episodes or sessions, by the place at which they were found.

    row         the candidate
    tf          frequency of the term at hand; the last one of all is nobody's, and 0
    total       sum of the terms so far
    lengthened  slope of the model times the length
    seen        episodes: number of the last term that was added; sessions: places that hold a term
    """

    row: I32Array
    tf: F32Array
    total: F32Array
    lengthened: F32Array
    seen: I32Array

    @classmethod
    def zeros(cls, n: int) -> "_Places":
        tf, total, lengthened = (np.zeros(n + 1, np.float32) for _ in range(3))
        return cls(np.zeros(n, np.int32), tf, total, lengthened, np.zeros(n, np.int32))


class _Near(NamedTuple):
    """What belongs to the episodes, by place, and the documents of a term.

    previous, following  places of the neighbours; the last place of all for none
    session              place of the session, or -1
    origin               the place that it had before
    at, entry            where its row is, or would be, in a term's postings and in the delta
    held                 documents that hold the term at hand
    """

    previous: I32Array
    following: I32Array
    session: I32Array
    origin: I32Array
    at: I32Array
    entry: I32Array
    held: I32Array

    @classmethod
    def zeros(cls, n: int) -> "_Near":
        return cls(*(np.zeros(n, np.int32) for _ in range(7)))


class Workspace:
    """Scores by row and what it takes to compute them; one per thread, kept between calls.

    score          float32 (>= n,)  by episode row, 0 where the last call did not score it
    session_score  float32 (>= n,)  by session row; the same array, since no row is both
    """

    def __init__(self, n: int = 1024) -> None:
        self._allocate(n)

    def _allocate(self, n: int) -> None:
        # A candidate may have two places. What is never reached is never written, and no memory.
        self._rows, self._near = _Rows.zeros(n), _Near.zeros(2 * n)
        self._docs, self._sessions = _Places.zeros(2 * n), _Places.zeros(n)
        # Episodes scored, sessions scored, and the first stamp of the next query.
        self._counts: I64Array = np.array([0, 0, 1], np.int64)

    def claim(self, n: int) -> tuple[_Rows, _Places, _Places, _Near, I64Array]:
        """The arrays, with room for rows below `n` (grown by doubling) and for two stamps each."""
        size = self._rows.score.size
        if n > size or self._counts[2] + 2 * n > LAST_STAMP:
            self._allocate(size if n <= size else max(n, 2 * size))
        return self._rows, self._docs, self._sessions, self._near, self._counts

    @property
    def scored(self) -> I32Array:
        """Rows of the episodes that the last call scored, a view."""
        return self._docs.row[: self._counts[0]]

    @property
    def score(self) -> F32Array:
        return self._rows.score

    @property
    def session_score(self) -> F32Array:
        return self._rows.score


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


_POSTINGS = (RI64_1, RI32_1, RU16_1, RI32_1, RI32_1, RI32_1, RU16_1, I64, I64, RI32_1, RI32_1)
POSTINGS = named_tuple(Postings, *_POSTINGS)
LINKS = named_tuple(_Links, RI32_1, RI32_1, RI32_1, RI32_1, RI32_1, I64)
MODEL = named_tuple(_Model, F32, F32, F32, F32, F32)
ROWS = named_tuple(_Rows, F32_1, I32_1, F32_1)
PLACES = named_tuple(_Places, I32_1, F32_1, F32_1, F32_1, I32_1)
NEAR = named_tuple(_Near, I32_1, I32_1, I32_1, I32_1, I32_1, I32_1, I32_1)


@deferred(I64(POSTINGS, I64))
def _count(postings: Postings, term: Int) -> Int:
    """Documents that hold `term`."""
    count = np.int64(0)
    if term + 1 < postings.indptr.size:
        count += postings.indptr[term + 1] - postings.indptr[term]
    link = np.int64(postings.head[term])
    while link >= postings.m_delta:
        link = np.int64(postings.next[link])
    return count + (np.int64(postings.d_place[link]) if link >= 0 else 0)


@deferred(I64(POSTINGS, RI32_1, I64_1, I64_1))
def _rarest_first(postings: Postings, terms: I32Array, order: I64Array, df: I64Array) -> Int:
    """Fill `order` with the positions of the terms that anything holds, and `df`; how many.

    Ties by term, so that the order of the words of a question is no part of a sum.
    """
    known, keys = 0, np.empty(terms.size, np.int64)
    for position in range(terms.size):
        term = np.int64(terms[position])
        count = _count(postings, term) if 0 <= term < postings.head.size else np.int64(0)
        if count > 0:
            df[known], keys[known] = position, (count << np.int64(32)) | term
            known += 1
    by_count = np.argsort(keys[:known], kind="mergesort")
    for i in range(known):
        order[i] = df[by_count[i]]
    for i in range(known):
        df[i] = keys[by_count[i]] >> np.int64(32)
    return known


@deferred(F32(I64, F64, F32))
def _idf(n: Int, df: Float, boost: Float) -> Float:
    # Deleted documents still stand in the postings, so df can exceed n: never a negative weight.
    ratio = (max(n - df, 0.0) + 0.5) / (df + 0.5)
    return np.float32(np.float64(boost) * math.log(1.0 + ratio))


@deferred(F64(I64, I64))
def _strewn(df: Int, n_sessions: Int) -> Float:
    """Sessions that would hold a term of `df` documents if these were strewn at random."""
    count = np.float64(max(n_sessions, 1))
    return count * (1.0 - math.exp(-np.float64(df) / count))


@deferred(MODEL(F64, F64, F64, F64, I64, I64))
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


@deferred(F32(MODEL, F32, F32))
def _saturate(model: _Model, tf: Float, lengthened: Float) -> Float:
    return tf * (model.k1 + np.float32(1)) / (tf + model.floor + lengthened)


# The loops below touch arrays in line on purpose: numba counts references for every array that a
# call receives, which per row costs more than the arithmetic.
@deferred(I64(POSTINGS, I64, I64, ROWS, NEAR))
def _hold(postings: Postings, term: Int, newest: Int, rows: _Rows, near: _Near) -> Int:
    """Write the newest documents that hold `term` to `held`, their frequencies by row; how many."""
    held, tf = 0, rows.tf
    link = np.int64(postings.head[term])
    while link >= 0 and held < newest:
        if link < postings.m_delta:
            near.held[held], tf[postings.d_doc[link]] = postings.d_doc[link], postings.d_tf[link]
            held += 1
        link = np.int64(postings.next[link])
    if term + 1 < postings.indptr.size:
        stop = postings.indptr[term + 1]
        for e in range(max(postings.indptr[term], stop - (newest - held)), stop):
            if e + AHEAD < stop:
                prefetch(tf, np.int64(postings.doc[e + AHEAD]))
            near.held[held], tf[postings.doc[e]] = postings.doc[e], postings.tf[e]
            held += 1
    return held


@deferred(I64(LINKS, ROWS, PLACES, NEAR, MODEL, I64, I64, I64, I64, F32))
def _find(
    links: _Links,
    rows: _Rows,
    docs: _Places,
    near: _Near,
    model: _Model,
    held: Int,
    first: Int,
    found: Int,
    number: Int,
    idf: Float,
) -> Int:
    """Score what holds the term and the neighbours of that, each once; the candidates so far."""
    tf, n = rows.tf, links.n
    for i in range(held):
        if i + AHEAD < held:
            ahead = np.int64(near.held[i + AHEAD])
            prefetch(rows.stamp, ahead)
            prefetch(links.length, ahead)
            prefetch(links.previous, ahead)
            prefetch(links.following, ahead)
        holder = near.held[i]
        for row in (holder, links.following[holder], links.previous[holder]):
            if not 0 <= row < n:
                continue
            place = np.int64(rows.stamp[row]) - first
            if place >= 0 and docs.seen[place] == number:
                continue
            # Pulled from the neighbours in one fixed order: pushed, the sum would depend on the
            # order of the postings, which a merge of the delta changes.
            frequency, before, after = tf[row], links.previous[row], links.following[row]
            if 0 <= before < n:
                frequency += model.from_previous * tf[before]
            if 0 <= after < n:
                frequency += model.from_following * tf[after]
            if not frequency > 0:
                continue
            if place < 0:
                length, place = np.float32(links.length[row]), np.int64(found)
                if 0 <= before < n:
                    length += model.from_previous * np.float32(links.length[before])
                if 0 <= after < n:
                    length += model.from_following * np.float32(links.length[after])
                rows.stamp[row], docs.row[place] = first + place, row
                docs.total[place], docs.lengthened[place] = 0, model.slope * length
                found += 1
            docs.seen[place] = number
            docs.total[place] += idf * _saturate(model, frequency, docs.lengthened[place])
    return found


@deferred(tuple_of(I64, I64)(LINKS, ROWS, PLACES, NEAR, MODEL, I64, I64, I64))
def _find_sessions(
    links: _Links,
    rows: _Rows,
    sessions: _Places,
    near: _Near,
    model: _Model,
    held: Int,
    first: Int,
    found: Int,
) -> tuple[Int, Int]:
    """Sum the frequencies by session: how many hold the term, and the candidates so far."""
    holding = 0
    for i in range(held):
        if i + 2 * AHEAD < held:
            prefetch(links.session, np.int64(near.held[i + 2 * AHEAD]))
            ahead = max(np.int64(links.session[near.held[i + AHEAD]]), 0)
            prefetch(rows.stamp, ahead)
            prefetch(links.session_length, ahead)
        row = links.session[near.held[i]]
        if not 0 <= row < links.n:
            continue
        place = np.int64(rows.stamp[row]) - first
        if place < 0:
            place, length = np.int64(found), np.float32(links.session_length[row])
            rows.stamp[row], sessions.row[place], sessions.tf[place] = first + place, row, 0
            sessions.total[place], sessions.lengthened[place] = 0, model.slope * length
            found += 1
        if sessions.tf[place] == 0:
            sessions.seen[holding] = place
            holding += 1
        sessions.tf[place] += rows.tf[near.held[i]]
    return holding, found


@deferred(VOID(PLACES, MODEL, I64, F32))
def _score_sessions(sessions: _Places, model: _Model, holding: Int, idf: Float) -> None:
    """Add a term to the sessions that hold it, and forget how often."""
    for i in range(holding):
        place = sessions.seen[i]
        gain = _saturate(model, sessions.tf[place], sessions.lengthened[place])
        sessions.total[place] += idf * gain
        sessions.tf[place] = 0


@deferred(VOID(ROWS, NEAR, I64))
def _release(rows: _Rows, near: _Near, held: Int) -> None:
    for i in range(held):
        rows.tf[near.held[i]] = 0


@deferred(I64(RI32_1, ROWS, PLACES, I64, I64))
def _find_also(also: I32Array, rows: _Rows, docs: _Places, first: Int, found: Int) -> Int:
    """Make candidates of further rows; the candidates so far."""
    for row in also:
        if rows.stamp[row] < first:
            rows.stamp[row], docs.row[found], docs.total[found] = first + found, row, 0
            found += 1
    return found


@deferred(I64(RI32_1, ROWS, PLACES, NEAR, I64, I64, I64, I64))
def _choose(
    also: I32Array,
    rows: _Rows,
    docs: _Places,
    near: _Near,
    found: Int,
    stop: Int,
    most: Int,
    first: Int,
) -> Int:
    """Give new places from `stop` on to the best of those `found`, ties by row, and to `also`.

    The end of the new places.
    """
    keys = np.empty(found + 1, np.int64)
    for i in range(found):
        # Compares like (total, -row), since no total is negative.
        high, low = np.int64(float_bits(docs.total[i])), LOW_BITS - np.int64(docs.row[i])
        keys[i] = (high << np.int64(32)) | low
    keys[found] = LARGEST
    least: Int = np.partition(keys, found - most)[found - most] if most < found else np.int64(0)
    for i in range(found + also.size):
        place = np.int64(i if i < found else rows.stamp[also[i - found]] - first)
        if place < found and (i >= found or keys[place] >= least):
            row = docs.row[place]
            rows.stamp[row], docs.row[stop] = first + stop, row
            docs.total[stop], near.origin[stop] = docs.total[place], place
            stop += 1
    return stop


@deferred(I64(LINKS, ROWS, PLACES, NEAR, MODEL, I64, I64, I64))
def _surround(
    links: _Links,
    rows: _Rows,
    docs: _Places,
    near: _Near,
    model: _Model,
    start: Int,
    stop: Int,
    first: Int,
) -> Int:
    """Write lengths and the places of neighbours of the candidates in [start, stop).

    Neighbours that are not among these get places behind them. The end of all places.
    """
    end, nowhere, n = stop, docs.tf.size - 1, links.n
    for i in range(start, stop):
        row = docs.row[i]
        length, before, after = (
            np.float32(links.length[row]),
            links.previous[row],
            links.following[row],
        )
        near.previous[i], near.following[i] = nowhere, nowhere
        if 0 <= before < n:
            length += model.from_previous * np.float32(links.length[before])
        if 0 <= after < n:
            length += model.from_following * np.float32(links.length[after])
        for beside in (before, after):
            if 0 <= beside < n and rows.stamp[beside] < first + start:
                rows.stamp[beside], docs.row[end] = first + end, beside
                end += 1
        if 0 <= before < n:
            near.previous[i] = rows.stamp[before] - first
        if 0 <= after < n:
            near.following[i] = rows.stamp[after] - first
        docs.lengthened[i] = model.slope * length
    return end


@deferred(I64(LINKS, ROWS, PLACES, PLACES, NEAR, MODEL, I64, I64, I64, I64))
def _surround_by_sessions(
    links: _Links,
    rows: _Rows,
    docs: _Places,
    sessions: _Places,
    near: _Near,
    model: _Model,
    start: Int,
    stop: Int,
    first: Int,
    found: Int,
) -> Int:
    """Write the places of the candidates' sessions; the sessions so far."""
    for i in range(start, stop):
        row, near.session[i] = links.session[docs.row[i]], -1
        if not 0 <= row < links.n:
            continue
        if rows.stamp[row] < first:
            length = np.float32(links.session_length[row])
            rows.stamp[row], sessions.row[found], sessions.tf[found] = first + found, row, 0
            sessions.total[found], sessions.lengthened[found] = 0, model.slope * length
            found += 1
        near.session[i] = rows.stamp[row] - first
    return found


@deferred(VOID(RI32_1, I64, I64, PLACES, I64, I64, I32_1))
def _search(
    doc: I32Array, start: Int, stop: Int, docs: _Places, begin: Int, end: Int, at: I32Array
) -> None:
    """Write to `at` the first entry of [start, stop) whose document is not below each place's row.

    A search sets out from where the last one ended, in steps that double: rows come in runs that
    ascend, most of them beside the one before.
    """
    found = start
    for i in range(begin, end):
        row, step = docs.row[i], 1
        if found < stop and doc[found] < row:
            while found + step < stop and doc[found + step] < row:
                found += step
                step *= 2
            low, high = found + 1, min(found + step, stop)
        else:
            while found - step >= start and doc[found - step] >= row:
                found -= step
                step *= 2
            low, high = max(found - step + 1, start), found
        while low < high:
            middle = (low + high) >> 1
            if doc[middle] < row:
                low = middle + 1
            else:
                high = middle
        found = low
        at[i] = found


@deferred(VOID(POSTINGS, I64, PLACES, NEAR, I64, I64))
def _look_up(
    postings: Postings, term: Int, docs: _Places, near: _Near, begin: Int, end: Int
) -> None:
    """Write the frequencies of a term in the rows of some places, as far as the base knows them."""
    start: Int = np.int64(0)
    stop: Int = np.int64(0)
    if term + 1 < postings.indptr.size:
        start, stop = postings.indptr[term], postings.indptr[term + 1]
    _search(postings.doc, start, stop, docs, begin, end, near.at)
    for i in range(begin, end):
        at, docs.tf[i] = np.int64(near.at[i]), 0
        if at < stop and postings.doc[at] == docs.row[i]:
            docs.tf[i] = postings.tf[at]


@deferred(VOID(POSTINGS, I64, PLACES, NEAR, I64, I64))
def _look_up_newer(
    postings: Postings, term: Int, docs: _Places, near: _Near, begin: Int, end: Int
) -> None:
    """The same in the delta, where the entries of one document stand together from `entry` on."""
    for i in range(begin, end):
        entry, row = np.int64(near.entry[i]), docs.row[i]
        while entry < postings.m_delta and postings.d_doc[entry] == row:
            if postings.d_term[entry] == term:
                docs.tf[i] = postings.d_tf[entry]
            entry += 1


@deferred(VOID(PLACES, NEAR, MODEL, I64, I64, F32))
def _score(docs: _Places, near: _Near, model: _Model, start: Int, stop: Int, idf: Float) -> None:
    """Add a term that was looked up to the candidates in [start, stop)."""
    tf = docs.tf
    for i in range(start, stop):
        frequency = tf[i] + model.from_previous * tf[near.previous[i]]
        frequency += model.from_following * tf[near.following[i]]
        if frequency > 0:
            docs.total[i] += idf * _saturate(model, frequency, docs.lengthened[i])


@deferred(I64(PLACES, PLACES, NEAR, I64, I64))
def _pool(docs: _Places, sessions: _Places, near: _Near, start: Int, stop: Int) -> Int:
    """Sum the frequencies of the candidates in [start, stop) by session; how many hold the term."""
    holding = 0
    for i in range(start, stop):
        place = near.session[i]
        if place < 0 or docs.tf[i] == 0:
            continue
        if sessions.tf[place] == 0:
            sessions.seen[holding] = place
            holding += 1
        sessions.tf[place] += docs.tf[i]
    return holding


@deferred(VOID(PLACES, NEAR, I64, I64))
def _return_totals(docs: _Places, near: _Near, start: Int, stop: Int) -> None:
    for i in range(start, stop):
        docs.total[near.origin[i]] = docs.total[i]


@deferred(VOID(F32_1, PLACES, I64))
def _show(score: F32Array, candidates: _Places, count: Int) -> None:
    """Write the totals by row."""
    for i in range(count):
        if i + AHEAD < count:
            prefetch(score, np.int64(candidates.row[i + AHEAD]))
        score[candidates.row[i]] = candidates.total[i]


@deferred(VOID(F32_1, PLACES, I64))
def _forget(score: F32Array, candidates: _Places, count: Int) -> None:
    for i in range(count):
        if i + AHEAD < count:
            prefetch(score, np.int64(candidates.row[i + AHEAD]))
        score[candidates.row[i]] = 0


@kernel(
    VOID(
        *(RI32_1, RF32_1, RI32_1),
        *_POSTINGS,
        *(RI32_1, RI32_1, RI32_1, RI32_1, RI32_1, I64, I64, I64),
        *(F64, F64, F64, F64, F64, F64, I64, I64, I64),
        *(ROWS, PLACES, PLACES, NEAR, I64_1),
    )
)
def _bm25(
    terms: I32Array,
    boosts: F32Array,
    also: I32Array,
    indptr: I64Array,
    doc: I32Array,
    tf: U16Array,
    head: I32Array,
    next: I32Array,
    d_doc: I32Array,
    d_tf: U16Array,
    m_delta: Int,
    n: Int,
    d_term: I32Array,
    d_place: I32Array,
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
    most: Int,
    newest: Int,
    looked_up: Int,
    rows: _Rows,
    docs: _Places,
    sessions: _Places,
    near: _Near,
    counts: I64Array,
) -> None:
    postings = Postings(indptr, doc, tf, head, next, d_doc, d_tf, m_delta, n, d_term, d_place)
    links = _Links(length, previous, following, session, session_length, n)
    model = _model(k1, b, from_previous, from_following, total_length, n_docs)
    session_model = _model(session_k1, session_b, 0.0, 0.0, total_length, n_sessions)
    _forget(rows.score, docs, counts[0])
    _forget(rows.score, sessions, counts[1])
    order, df = np.empty(terms.size, np.int64), np.empty(terms.size, np.int64)
    known = _rarest_first(postings, terms, order, df)
    first, found, rooms, spent, t = counts[2], np.int64(0), np.int64(0), np.int64(0), 0
    while t < known and (t == 0 or spent + df[t] <= most):
        term, boost = np.int64(terms[order[t]]), boosts[order[t]]
        held = _hold(postings, term, newest, rows, near)
        idf = _idf(n_docs, np.float64(df[t]), boost)
        found = _find(links, rows, docs, near, model, held, first, found, t, idf)
        holding, rooms = _find_sessions(
            links, rows, sessions, near, session_model, held, first, rooms
        )
        _score_sessions(
            sessions, session_model, holding, _idf(n_sessions, np.float64(holding), boost)
        )
        _release(rows, near, held)
        spent += df[t]
        t += 1
    scored, end = found, found
    if t < known:
        scored = _find_also(also, rows, docs, first, found)
        stop = _choose(also, rows, docs, near, found, scored, looked_up, first)
        end = _surround(links, rows, docs, near, model, found, stop, first)
        rooms = _surround_by_sessions(
            links, rows, docs, sessions, near, session_model, found, stop, first, rooms
        )
        _search(d_doc, 0, m_delta, docs, found, end, near.entry)
        for i in range(t, known):
            term, boost = np.int64(terms[order[i]]), boosts[order[i]]
            _look_up(postings, term, docs, near, found, end)
            _look_up_newer(postings, term, docs, near, found, end)
            _score(docs, near, model, found, stop, _idf(n_docs, np.float64(df[i]), boost))
            holding = _pool(docs, sessions, near, found, stop)
            idf = _idf(n_sessions, _strewn(df[i], n_sessions), boost)
            _score_sessions(sessions, session_model, holding, idf)
        _return_totals(docs, near, scored, stop)
    _show(rows.score, docs, scored)
    _show(rows.score, sessions, rooms)
    counts[0], counts[1], counts[2] = scored, rooms, first + end


def bm25(
    terms: I32Array,
    boosts: F32Array,
    postings: Postings,
    documents: Documents,
    params: Params,
    workspace: Workspace,
    also: I32Array = NO_ROWS,
) -> I32Array:
    """Rows of the episodes that a query's terms reach, their scores left in `workspace`.

    terms    int32 (t,)    term ids; unknown ones (< 0 or beyond the vocabulary) are skipped, a
                           term given twice counts twice
    boosts   float32 (t,)  factor of each term's idf, above 0
    also     int32 (a,)    rows that are scored besides those that are found
    returns  int32 (m,)    no order to rely on, each once; a view, valid until the workspace's next
                           call. A row of `also` that no term reaches may be there, with score 0

    Fills `workspace.score[row]` of these rows and `workspace.session_score` of sessions; all others
    are 0. With an episode's own frequency tf and length L, those of the previous episode (index p)
    and of the following one (f):

        tf' = tf + from_previous * tf_p + from_following * tf_f, likewise L', and
        A'  = (1 + from_previous + from_following) * total_length / n_docs
        score = sum over terms of boost * idf * tf' (k1 + 1) / (tf' + k1 (1 - b + b L' / A'))
        idf   = ln(1 + (N - df + 0.5) / (df + 0.5)), df = documents that hold the term themselves

    Sessions: the same formula without context, over sessions. Sums are float32, terms in the order
    of df, ties by term.

    All that is exact while the df of all terms sum to at most `params.postings`. Where they do not,
    only the first terms find episodes, as long as their df sum to that; the first one always does,
    but with its `params.newest` newest documents alone. Any other term counts for these rows only:
    the `params.looked_up` that the first terms score best, ties by row, and those of `also`. It
    counts for a session as often as these rows hold it, and the df of the idf is what random
    documents would have, n_sessions * (1 - exp(-df / n_sessions)).

    Raises ValueError where dtypes or lengths differ, or a row of `also` is out of range.
    """
    check_array("terms", terms, np.int32)
    check_array("boosts", boosts, np.float32)
    check_array("also", also, np.int32)
    if terms.size != boosts.size:
        raise ValueError(f"boosts: expected {terms.size} elements, got {boosts.size}")
    shortest = min(array.size for array in documents[:5])
    if shortest < postings.n:
        raise ValueError(f"documents: expected at least {postings.n} rows, got {shortest}")
    if also.size and not 0 <= also.min() <= also.max() < postings.n:
        raise ValueError(
            f"also: expected rows of [0, {postings.n}), got {also.min()} to {also.max()}"
        )
    spaces = workspace.claim(postings.n)
    _bm25(terms, boosts, also, *postings, *documents, *params, *spaces)
    return workspace.scored
