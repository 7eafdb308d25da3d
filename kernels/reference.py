"""What every kernel computes, in plain Python over arrays: the definition of the results.

The signatures are those of the public functions, but for `bm25`, which returns dictionaries instead
of filling a workspace. Arithmetic follows the kernels where their results are promised to the bit.
Slow by intent; for tests and benchmarks.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .beam import (
    ANCHOR,
    EPISODE,
    NO_LIMIT,
    OVER_BUDGET,
    OVER_LIMIT,
    TIME_NONE,
    Adjacency,
    BeamResult,
    Nodes,
    Queries,
)
from .bm25 import Documents, Params, Postings
from .rrf import TOP
from .types import F32Array, I32Array, I64Array, U16Array

LANES = 32
Edge = tuple[int, int, float, int]


def dots(vectors: U16Array, query: F32Array) -> F32Array:
    """Lane i sums the elements i, i + 32, ...; lanes are folded in halves; the rest follows."""
    return np.array([_dot(row, query) for row in vectors.view(np.float16)], np.float32)


def _dot(row: npt.NDArray[np.floating[Any]], query: F32Array) -> np.float32:
    products = row.astype(np.float32) * query
    whole = len(products) // LANES * LANES
    lanes = [np.float32(0)] * LANES
    for i in range(whole):
        lanes[i % LANES] += products[i]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [low + high for low, high in zip(lanes[:half], lanes[half:], strict=True)]
    for product in products[whole:]:
        lanes[0] += product
    return lanes[0]


def dots_at(vectors: U16Array, rows: I32Array | I64Array, query: F32Array) -> F32Array:
    """The same for chosen rows; 0.0 for negative ones."""
    halves = vectors.view(np.float16)
    return np.array([_dot(halves[row], query) if row >= 0 else 0 for row in rows], np.float32)


def neighbours(
    vectors: U16Array, start: int, stop: int, k: int, floor: float = -math.inf
) -> tuple[I32Array, F32Array]:
    """All earlier rows sorted by similarity descending, then row, cut at `k`."""
    rows, sims = np.full((stop - start, k), -1, np.int32), np.zeros((stop - start, k), np.float32)
    for i in range(start, stop):
        near = dots(vectors[:i], vectors[i].view(np.float16).astype(np.float32))
        best = topk(near, k, math.nextafter(np.float32(floor), -math.inf))
        rows[i - start, : best.size], sims[i - start, : best.size] = best, near[best]
    return rows, sims


def topk(scores: F32Array, k: int, floor: float = -math.inf) -> I32Array:
    """Everything above `floor`, sorted by score descending, then row, cut at `k`."""
    return topk_at(scores, np.arange(scores.size, dtype=np.int32), k, floor)


def topk_at(scores: F32Array, rows: I32Array, k: int, floor: float = -math.inf) -> I32Array:
    """The same among chosen rows."""
    above = [row for row in rows.tolist() if scores[row] > floor]
    return np.array(sorted(above, key=lambda row: (-scores[row], row))[:k], np.int32)


def rrf(lists: Sequence[I32Array], weights: F32Array, k: float = 60.0) -> tuple[I32Array, F32Array]:
    """A dictionary of sums."""
    sums: dict[int, float] = {}
    for ranked, weight in zip(lists, weights, strict=True):
        for rank, row in enumerate(ranked.tolist(), start=1):
            sums[row] = sums.get(row, 0.0) + float(weight) / (k + rank)
    scores = {row: np.float32(total) for row, total in sums.items()}
    rows = sorted(scores, key=lambda row: (-scores[row], row))
    return np.array(rows, np.int32), np.array([scores[row] for row in rows], np.float32)


def rrf_discounted(
    lists: Sequence[I32Array], weights: F32Array, k: float = 60.0
) -> tuple[I32Array, F32Array]:
    """`rrf` with every weight over 1 + the list's overlaps with the others."""
    discounted = [
        float(weight) / (1 + sum(_overlap(one, lists[m]) for m in range(len(lists)) if m != number))
        for number, (one, weight) in enumerate(zip(lists, weights, strict=True))
    ]
    return rrf(lists, np.array(discounted, np.float32), k)


def _overlap(one: I32Array, other: I32Array) -> float:
    depth = min(TOP, one.size, other.size)
    common = set(one[:depth].tolist()) & set(other[:depth].tolist())
    return len(common) / depth if depth else 0.0


def link(head: I32Array, count: I32Array, next_: I32Array, src: I32Array, start: int) -> None:
    """Entry by entry."""
    for entry, row in enumerate(src.tolist(), start):
        next_[entry], head[row] = head[row], entry
        count[row] += 1


def chain(next_: I32Array, entry: int) -> I64Array:
    """Back from the newest, then turned round."""
    entries = []
    while entry >= 0:
        entries.append(entry)
        entry = int(next_[entry])
    return np.array(entries[::-1], np.int64)


def build(n: int, src: I32Array) -> tuple[I64Array, I64Array]:
    """Entries sorted by row; Python's sort is stable."""
    rows = src.tolist()
    starts = [sum(row < start for row in rows) for start in range(n + 1)]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return np.array(starts, np.int64), np.array(order, np.int64)


def merge(indptr: I64Array, src: I32Array, n: int) -> tuple[I64Array, I64Array]:
    """A list of entries for each row, the base's first."""
    rows = [list(range(start, stop)) for start, stop in pairwise(indptr.tolist())]
    rows += [[] for _ in range(len(rows), n)]
    for entry, row in enumerate(src.tolist(), int(indptr[-1])):
        rows[row].append(entry)
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.array([entry for row in rows for entry in row], np.int64)


def seen_edges(graph: Adjacency, node: int) -> Iterator[Edge]:
    """The edges a reader sees: base in order, then delta newest first."""
    if node + 1 < graph.indptr.size:
        row = slice(graph.indptr[node], graph.indptr[node + 1])
        columns: list[Any] = [graph.dst, graph.relation, graph.weight, graph.payload]
        yield from zip(*(column[row] for column in columns), strict=True)
    e = int(graph.head[node])
    while e >= 0:
        if e < graph.m_delta:
            yield graph.d_dst[e], graph.d_relation[e], graph.d_weight[e], graph.d_payload[e]
        e = int(graph.next[e])


def bm25(
    terms: I32Array, boosts: F32Array, postings: Postings, documents: Documents, params: Params
) -> tuple[dict[int, float], dict[int, float]]:
    """Scores by episode row and by session row, of those that the terms reach."""
    lengths = dict(enumerate(documents.length.tolist()))
    scores: dict[int, float] = {}
    session_scores: dict[int, float] = {}
    average = max(documents.total_length, 1) / max(documents.n_docs, 1)
    session_average = max(documents.total_length, 1) / max(documents.n_sessions, 1)
    for term, boost in zip(terms.tolist(), boosts.tolist(), strict=True):
        tf = _frequencies(postings, term)
        idf = boost * _idf(documents.n_docs, len(tf))
        a, b = params.from_previous, params.from_following
        for row in range(postings.n):
            frequency = _in_context(tf, documents, row, postings.n, a, b)
            if frequency > 0:
                length = _in_context(lengths, documents, row, postings.n, a, b)
                ratio = length / (average * (1 + a + b))
                gain = _saturate(params.k1, params.b, frequency, ratio)
                scores[row] = scores.get(row, 0.0) + idf * gain
        sessions: dict[int, int] = {}
        for row, count in tf.items():
            session = int(documents.session[row])
            if 0 <= session < postings.n:
                sessions[session] = sessions.get(session, 0) + count
        idf = boost * _idf(documents.n_sessions, len(sessions))
        for session, count in sessions.items():
            ratio = int(documents.session_length[session]) / session_average
            gain = _saturate(params.session_k1, params.session_b, count, ratio)
            session_scores[session] = session_scores.get(session, 0.0) + idf * gain
    return scores, session_scores


def _frequencies(postings: Postings, term: int) -> dict[int, int]:
    tf: dict[int, int] = {}
    entries: list[tuple[int, int]] = []
    if 0 <= term < postings.indptr.size - 1:
        row = slice(postings.indptr[term], postings.indptr[term + 1])
        entries += zip(postings.doc[row].tolist(), postings.tf[row].tolist(), strict=True)
    e = int(postings.head[term]) if 0 <= term < postings.head.size else -1
    while e >= 0:
        if e < postings.m_delta:
            entries.append((int(postings.d_doc[e]), int(postings.d_tf[e])))
        e = int(postings.next[e])
    for doc, count in entries:
        if doc < postings.n and count > 0:
            tf[doc] = tf.get(doc, 0) + count
    return tf


def _idf(n: int, df: int) -> float:
    return math.log(1 + (max(n - df, 0) + 0.5) / (df + 0.5))


def _saturate(k1: float, b: float, tf: float, ratio: float) -> float:
    return tf * (k1 + 1) / (tf + k1 * (1 - b + b * ratio))


def _in_context(
    values: dict[int, int], documents: Documents, row: int, n: int, a: float, b: float
) -> float:
    before, after = int(documents.previous[row]), int(documents.following[row])
    mixed = float(values.get(row, 0))
    if 0 <= before < n:
        mixed += a * values.get(before, 0)
    if 0 <= after < n:
        mixed += b * values.get(after, 0)
    return mixed


def beam(
    adjacency: Adjacency,
    nodes: Nodes,
    queries: Queries,
    *,
    width: int = 40,
    depth: int = 5,
    budget: int = 200,
    similarity: float = 0.5,
    gamma: float = 0.9,
    hub: float = 0.0,
    limit: int = NO_LIMIT,
) -> BeamResult:
    """One query after the other, every step as a dictionary of candidates."""
    b = len(queries.vectors)
    result = BeamResult(
        np.zeros(b, np.int32),
        np.zeros((b, budget), np.int32),
        np.zeros((b, budget), np.float32),
        np.zeros((b, budget), np.int32),
        np.zeros((b, budget), np.uint8),
        np.zeros((b, budget), np.int32),
        np.zeros((b, budget), np.uint8),
        np.zeros((b, budget), np.float32),
        np.zeros(b, np.uint8),
    )
    for q in range(b):
        search = _Search(adjacency, nodes, queries, q, similarity, gamma, hub, limit)
        kept, cut = search.run(width, depth, budget)
        result.count[q] = len(kept)
        result.truncated[q] = OVER_BUDGET * cut + OVER_LIMIT * search.passed_hubs
        for place, (row, score, parent, relation, payload, step) in enumerate(kept):
            came = (score if step else np.float32(0), parent, relation, payload)
            came = search.support.get(row, came)
            result.rows[q, place], result.scores[q, place] = row, score
            result.support[q, place], result.parent[q, place] = came[:2]
            result.relation[q, place], result.payload[q, place] = came[2:]
            result.depth[q, place] = step
    return result


Candidate = tuple[np.float32, int, int, int]
Kept = tuple[int, np.float32, int, int, int, int]


class _Search:
    """The beam of one query."""

    def __init__(
        self,
        graph: Adjacency,
        nodes: Nodes,
        queries: Queries,
        q: int,
        similarity: float,
        gamma: float,
        hub: float,
        limit: int,
    ) -> None:
        self.graph, self.nodes, self.queries, self.q = graph, nodes, queries, q
        self.similarity, self.gamma, self.hub = similarity, np.float32(gamma), hub
        self.limit, self.passed_hubs = limit, False
        self.kept: list[Kept] = []
        self.factors: dict[int, np.float32] = {}
        self.support: dict[int, Candidate] = {}

    def run(self, width: int, depth: int, budget: int) -> tuple[list[Kept], bool]:
        """The nodes kept, and whether the budget left candidates out."""
        candidates = self.anchors()
        limit, first = len(candidates), 0
        for step in range(depth + 1):
            wanted = sorted(candidates, key=lambda row: (-candidates[row][0], row))[:limit]
            chosen = wanted[: budget - len(self.kept)]
            first = len(self.kept)
            for row in chosen:
                score, parent, relation, payload = candidates[row]
                self.kept.append((row, score, parent, relation, payload, step))
            if len(chosen) < len(wanted):
                return self.kept, True
            if step < depth:
                candidates = self.expand(first, min(len(self.kept), first + width))
                limit = width
        return self.kept, False

    def anchors(self) -> dict[int, Candidate]:
        found: dict[int, Candidate] = {}
        start, stop = self.queries.anchor_ptr[self.q : self.q + 2]
        for i in range(start, stop):
            row, score = int(self.queries.anchors[i]), self.queries.anchor_scores[i]
            better = row not in found or score > found[row][0]
            if 0 <= row < self.graph.n and self.visible(row) and better:
                found[row] = (score, -1, ANCHOR, -1)
        return found

    def expand(self, first: int, last: int) -> dict[int, Candidate]:
        known = {entry[0] for entry in self.kept}
        found: dict[int, Candidate] = {}
        for parent in range(first, last):
            for row, score, relation, payload in self.steps(self.kept[parent][0]):
                if not self.visible(row):
                    continue
                total = self.gamma * self.kept[parent][1] + score * self.factor(row)
                new = (total, parent, relation, payload)
                if row in known:
                    self.confirm(row, new)
                elif row not in found or self.rank(new) < self.rank(found[row]):
                    found[row] = new
        return found

    def confirm(self, row: int, new: Candidate) -> None:
        """Note what an edge gives to an anchor; not where it only walks back."""
        score, parent, _, _ = new
        depths = {entry[0]: entry[5] for entry in self.kept}
        from_row, _, came_from, _, _, step = self.kept[parent]
        walks_back = step > 0 and self.kept[came_from][0] == row
        if depths[row] > 0 or from_row == row or walks_back or score < 0:
            return
        if row not in self.support or self.rank(new) < self.rank(self.support[row]):
            self.support[row] = new

    def rank(self, candidate: Candidate) -> tuple[np.float32, int, int, int]:
        score, parent, relation, payload = candidate
        return -score, self.kept[parent][0], relation, payload

    def steps(self, node: int) -> Iterator[tuple[int, np.float32, int, int]]:
        """The edges of a node with all of their score but the likeness of the other end."""
        edges = list(seen_edges(self.graph, node))
        if len(edges) > self.limit:
            self.passed_hubs = True
            return
        damping = np.float32(len(edges) ** -float(np.float32(self.hub))) if edges else 1
        gain, tag_gain = self.queries.gain[self.q], self.queries.tag_gain[self.q]
        for dst, relation, weight, payload in edges:
            if gain[relation] == 0 or dst >= self.graph.n:
                continue
            score = weight * gain[relation] * damping
            if 0 <= payload < tag_gain.size:
                score *= tag_gain[payload]
            yield int(dst), np.float32(score), int(relation), int(payload)

    def visible(self, row: int) -> bool:
        if self.nodes.status[row] != 0:
            return False
        start, stop = self.queries.window[self.q]
        if start >= stop or self.nodes.kind[row] != EPISODE:
            return True
        time = int(self.nodes.time[row])
        return time != TIME_NONE and bool(start <= time < stop)

    def factor(self, row: int) -> np.float32:
        if row not in self.factors:
            vector = int(self.nodes.vector_row[row])
            halves = self.nodes.vectors.view(np.float16)
            known = 0 <= vector < len(halves)
            sim = _dot(halves[vector], self.queries.vectors[self.q]) if known else 0.0
            exponent = float(np.float32(self.similarity)) * (float(sim) - 1.0)
            self.factors[row] = np.float32(math.exp(exponent))
        return self.factors[row]
