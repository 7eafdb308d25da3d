"""What every kernel computes, in plain Python over arrays: the definition of the results.

The signatures are those of the public functions, but for `bm25`, which returns dictionaries instead
of filling a workspace. Arithmetic follows the kernels where their results are promised to the bit.
Slow by intent; for tests and benchmarks.
"""

import math
from collections.abc import Collection, Iterator, Sequence
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
from .hnsw import LEVELS, NO_TWIN, WIDE, Index
from .ranking import (
    ASKS,
    KEYWORD,
    LIVE,
    LONG,
    NEIGHBOUR,
    ONLY_ASKS,
    PARTS,
    SESSION,
    SHORT,
    SPEAKER,
    VECTOR,
    Columns,
)
from .rrf import TOP
from .types import F32Array, I32Array, I64Array, U16Array

LANES = 32
Edge = tuple[int, int, np.float32, int]
"""Where it leads, relation, weight and tag."""


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


def link(
    head: I32Array, count: I32Array, next_: I32Array, places: I32Array, src: I32Array, start: int
) -> None:
    """Entry by entry."""
    for entry, row in enumerate(src.tolist(), start):
        next_[entry], head[row] = head[row], entry
        count[row] += 1
        places[entry] = count[row]


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
        tags = graph.tag[row] if graph.tag.size else [-1] * graph.dst[row].size
        yield from map(_edge, graph.dst[row], graph.link[row], tags)
    e = int(graph.head[node])
    while e >= 0:
        if e < graph.m_delta:
            yield _edge(graph.d_dst[e], graph.d_link[e], graph.d_tag[e])
        e = int(graph.next[e])


def _edge(dst: int, link: int, tag: int) -> Edge:
    return int(dst), int(link) % 16, np.float32((int(link) // 16 + 1) / 4096), int(tag)


def neighbours(graph: Adjacency, node: int, relation: int, limit: int) -> I32Array | None:
    """A list of those seen."""
    edges = list(seen_edges(graph, node))
    if len(edges) > limit:
        return None
    return np.array([dst for dst, kind, _, _ in edges if kind == relation], np.int32)


def linked(
    graph: Adjacency, rows: I32Array, relation: int, targets: I32Array
) -> npt.NDArray[np.bool_]:
    """By all edges of each row."""
    wanted = set(targets.tolist())
    ends = [
        {dst for dst, kind, _, _ in seen_edges(graph, row) if kind == relation}
        if 0 <= row < graph.n
        else set()
        for row in rows.tolist()
    ]
    return np.array([bool(wanted & found) for found in ends], np.bool_)


def bm25(
    terms: I32Array,
    boosts: F32Array,
    postings: Postings,
    documents: Documents,
    params: Params,
    also: Sequence[int] = (),
) -> tuple[dict[int, np.float32], dict[int, np.float32]]:
    """Scores by episode row and by session row, of those that have one."""
    search = _Bm25(postings, documents, params)
    held = [_frequencies(postings, term) for term in terms.tolist()]
    order = [i for i in range(terms.size) if held[i]]
    order.sort(key=lambda i: (len(held[i]), terms[i]))
    spent = np.cumsum([len(held[i]) for i in order])
    finding = max(1, int((spent <= params.postings).sum()))
    for i in order[:finding]:
        newest = dict(sorted(held[i].items())[-params.newest :])
        search.add(newest, len(held[i]), boosts[i], range(postings.n), counted=True)
    scores = search.scores
    best = sorted(scores, key=lambda row: (-scores[row], row))[: params.looked_up]
    for i in order[finding:]:
        search.add(held[i], len(held[i]), boosts[i], {*best, *also}, counted=False)
    return search.scores, search.session_scores


class _Bm25:
    """Sums by row, in float32 and in the order of the kernel."""

    def __init__(self, postings: Postings, documents: Documents, params: Params) -> None:
        self.n, self.documents, self.params = postings.n, documents, params
        self.lengths = dict(enumerate(documents.length.tolist()))
        self.scores: dict[int, np.float32] = {}
        self.session_scores: dict[int, np.float32] = {}
        total = max(documents.total_length, 1)
        self.average = total / max(documents.n_docs, 1)
        self.average *= 1 + params.from_previous + params.from_following
        self.session_average = total / max(documents.n_sessions, 1)

    def add(
        self, tf: dict[int, int], df: int, boost: np.float32, rows: Collection[int], counted: bool
    ) -> None:
        """A term for some rows; the sessions that hold it are counted or estimated."""
        k1, b, documents = self.params.k1, self.params.b, self.documents
        idf = _idf(documents.n_docs, df, boost)
        for row in rows:
            frequency = self.in_context(tf, row)
            if frequency > 0:
                gain = _saturate(k1, b, frequency, self.in_context(self.lengths, row), self.average)
                self.scores[row] = self.scores.get(row, np.float32(0)) + idf * gain
        sessions: dict[int, int] = {}
        for row in rows:
            session = int(documents.session[row])
            if row in tf and 0 <= session < self.n:
                sessions[session] = sessions.get(session, 0) + tf[row]
        count = max(documents.n_sessions, 1)
        holding = len(sessions) if counted else count * (1 - math.exp(-df / count))
        idf = _idf(documents.n_sessions, holding, boost)
        k1, b = self.params.session_k1, self.params.session_b
        for session, held in sessions.items():
            length = np.float32(documents.session_length[session])
            gain = _saturate(k1, b, np.float32(held), length, self.session_average)
            self.session_scores[session] = (
                self.session_scores.get(session, np.float32(0)) + idf * gain
            )

    def in_context(self, values: dict[int, int], row: int) -> np.float32:
        before, after = int(self.documents.previous[row]), int(self.documents.following[row])
        mixed = np.float32(values.get(row, 0))
        if 0 <= before < self.n:
            mixed += np.float32(self.params.from_previous) * np.float32(values.get(before, 0))
        if 0 <= after < self.n:
            mixed += np.float32(self.params.from_following) * np.float32(values.get(after, 0))
        return mixed


def _frequencies(postings: Postings, term: int) -> dict[int, int]:
    tf: dict[int, int] = {}
    if 0 <= term < postings.indptr.size - 1:
        row = slice(postings.indptr[term], postings.indptr[term + 1])
        tf.update(zip(postings.doc[row].tolist(), postings.tf[row].tolist(), strict=True))
    e = int(postings.head[term]) if 0 <= term < postings.head.size else -1
    while e >= 0:
        if e < postings.m_delta:
            tf[int(postings.d_doc[e])] = int(postings.d_tf[e])
        e = int(postings.next[e])
    return tf


def _idf(n: int, df: float, boost: np.float32) -> np.float32:
    return np.float32(float(boost) * math.log(1 + (max(n - df, 0.0) + 0.5) / (df + 0.5)))


def _saturate(
    k1: float, b: float, tf: np.float32, length: np.float32, average: float
) -> np.float32:
    floor, slope = np.float32(k1 * (1 - b)), np.float32(k1 * b / average)
    return tf * (np.float32(k1) + np.float32(1)) / (tf + floor + slope * length)


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
        for place, (row, score, parent, relation, tag, step) in enumerate(kept):
            came = (score if step else np.float32(0), parent, relation, tag)
            came = search.support.get(row, came)
            result.rows[q, place], result.scores[q, place] = row, score
            result.support[q, place], result.parent[q, place] = came[:2]
            result.relation[q, place], result.tag[q, place] = came[2:]
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
                score, parent, relation, tag = candidates[row]
                self.kept.append((row, score, parent, relation, tag, step))
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
            for row, score, relation, tag in self.steps(self.kept[parent][0]):
                if not self.visible(row):
                    continue
                total = self.gamma * self.kept[parent][1] + score * self.factor(row)
                new = (total, parent, relation, tag)
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
        score, parent, relation, tag = candidate
        return -score, self.kept[parent][0], relation, tag

    def steps(self, node: int) -> Iterator[tuple[int, np.float32, int, int]]:
        """The edges of a node with all of their score but the likeness of the other end."""
        edges = list(seen_edges(self.graph, node))
        if len(edges) > self.limit:
            self.passed_hubs = True
            return
        damping = np.float32(len(edges) ** -float(np.float32(self.hub))) if edges else 1
        gain, tag_gain = self.queries.gain[self.q], self.queries.tag_gain[self.q]
        for dst, relation, weight, tag in edges:
            if gain[relation] == 0 or dst >= self.graph.n:
                continue
            score = weight * gain[relation] * damping
            if 0 <= tag < tag_gain.size:
                score *= tag_gain[tag]
            yield int(dst), np.float32(score), int(relation), int(tag)

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


Scored = tuple[np.float32, int]
"""A row with its similarity negated, so that sorting puts the best first, ties by row."""


def extend(index: Index, vectors: U16Array, stop: int, *, ef: int, block: int) -> Index:
    """All lists as Python lists."""
    world = _World(index, vectors, stop)
    for first in range(len(index.links), stop, block):
        rows = range(first, min(first + block, stop))
        near = {row: world.before(row, first, ef) for row in rows}
        for row in rows:
            world.insert(row, first, near[row], ef)
    return world.index(stop)


def nearest(
    index: Index, vectors: U16Array, queries: F32Array, stops: I64Array, k: int, ef: int
) -> tuple[I32Array, F32Array]:
    """Everything found, sorted, cut at `k`."""
    world = _World(index, vectors, len(index.links))
    rows, sims = np.full((len(queries), k), -1, np.int32), np.zeros((len(queries), k), np.float32)
    for q, stop in enumerate(stops.tolist()):
        bound = min(stop, len(index.links))
        linked = world.search(queries[q], 0, bound, ef, world.entry(bound))
        found = [(sim, row) for sim, one in linked for row in [one, *world.twins.get(one, [])]]
        found = [(sim, row) for sim, row in found if row < bound]
        found += [world.scored(row, queries[q]) for row in range(bound, stop)]
        if len(found) < min(k, stop):
            found = [world.scored(row, queries[q]) for row in range(stop)]
        for place, (sim, row) in enumerate(sorted(found)[:k]):
            rows[q, place], sims[q, place] = row, -sim
    return rows, sims


class _World:
    """An index as dictionaries: links by (row, level), twins by the row that they repeat."""

    def __init__(self, index: Index, vectors: U16Array, stop: int) -> None:
        self.halves = vectors.view(np.float16)
        self.m = index.upper.shape[1]
        self.levels = [_level(row) for row in range(stop)]
        self.links: dict[tuple[int, int], list[int]] = {
            (row, level): [] for row in range(stop) for level in range(LEVELS)
        }
        self.twins: dict[int, list[int]] = {}
        self.entries = index.entries.tolist()
        for row in range(len(index.links)):
            lists = [index.links[row], *index.upper[index.start[row] : index.start[row + 1]]]
            for level, links in enumerate(lists):
                self.links[row, level] = [int(link) for link in links if link >= 0]
            if index.twins[row] < NO_TWIN:
                newest = -2 - int(index.twins[row])
                chain = [int(index.twins[newest])]
                while chain[-1] != newest:
                    chain.append(int(index.twins[chain[-1]]))
                self.twins[row] = chain

    def scored(self, row: int, query: F32Array) -> Scored:
        return -_dot(self.halves[row], query), row

    def is_twin(self, row: int) -> bool:
        return any(row in twins for twins in self.twins.values())

    def entry(self, bound: int) -> tuple[int, int]:
        """The row to start from and its level; level -1 where there is none."""
        reached = [level for level in range(LEVELS) if 0 <= self.entries[level] < bound]
        return (self.entries[reached[-1]], reached[-1]) if reached else (-1, -1)

    def search(
        self, query: F32Array, to: int, bound: int, ef: int, entry: tuple[int, int], wide: int = 0
    ) -> list[Scored]:
        """The best `ef` found on level `to`; fewer are kept on the levels above `wide`."""
        row, top = entry
        found = [self.scored(row, query)] if top >= to else []
        for level in range(top, to - 1, -1):
            found = self.search_level(
                query, level, bound, ef if level <= wide else min(ef, WIDE), found
            )
        return found

    def search_level(
        self, query: F32Array, level: int, bound: int, ef: int, start: list[Scored]
    ) -> list[Scored]:
        best, done, met = sorted(start)[:ef], set[int](), {row for _, row in start}
        while rows := [row for _, row in best if row not in done]:
            done.add(rows[0])
            for link in self.links[rows[0], level]:
                if link < bound and link not in met:
                    met.add(link)
                    best = sorted([*best, self.scored(link, query)])[:ef]
        return best

    def before(self, row: int, first: int, ef: int) -> list[list[Scored]]:
        """What is near a row among those before `first`, by level."""
        query, levels = self.halves[row].astype(np.float32), self.levels[row]
        entry = self.entry(first)
        return [
            self.search(query, level, first, ef, entry, wide=levels) for level in range(levels + 1)
        ]

    def insert(self, row: int, first: int, near: list[list[Scored]], ef: int) -> None:
        query = self.halves[row].astype(np.float32)
        for level, found in enumerate(near):
            block = [
                self.scored(other, query)
                for other in range(first, row)
                if self.levels[other] >= level and not self.is_twin(other)
            ]
            best = sorted(found + block)[:ef]
            own = self.halves[row].tobytes()
            same = [other for _, other in best if self.halves[other].tobytes() == own]
            if level == 0 and same:
                self.twins.setdefault(same[0], []).append(row)
                return
            self.links[row, level] = self.select(best, self.m)
            for link in self.links[row, level]:
                self.link_back(link, row, level)
            if self.entries[level] < 0:
                self.entries[level] = row

    def link_back(self, row: int, new: int, level: int) -> None:
        links, most = self.links[row, level], self.m if level else 2 * self.m
        links.append(new)
        if len(links) > most:
            query = self.halves[row].astype(np.float32)
            best = sorted(self.scored(link, query) for link in links)
            self.links[row, level] = self.select(best, most)

    def select(self, best: list[Scored], most: int) -> list[int]:
        """Those that are nearer to the row than to any chosen before them."""
        chosen: list[int] = []
        for sim, row in best:
            query = self.halves[row].astype(np.float32)
            if len(chosen) < most and all(self.scored(c, query)[0] >= sim for c in chosen):
                chosen.append(row)
        return chosen

    def index(self, n: int) -> Index:
        start = np.concatenate([[0], np.cumsum(self.levels)]).astype(np.int32)
        links = np.array([_padded(self.links[row, 0], 2 * self.m) for row in range(n)], np.int32)
        above = [
            _padded(self.links[row, level], self.m)
            for row in range(n)
            for level in range(1, self.levels[row] + 1)
        ]
        twins = np.full(n, NO_TWIN, np.int32)
        for row, chain in self.twins.items():
            twins[row] = -2 - chain[-1]
            for twin, newer in zip(chain, chain[1:] + chain[:1], strict=True):
                twins[twin] = newer
        upper = np.array(above, np.int32).reshape(-1, self.m)
        entries = np.array(self.entries, np.int32)
        return Index(links.reshape(n, 2 * self.m), upper, start, twins, entries)


def _padded(links: list[int], width: int) -> list[int]:
    return links + [-1] * (width - len(links))


def _level(row: int) -> int:
    """Zero nibbles at the end of a 32-bit hash ("triple32" family, two rounds)."""
    bits = row + 1
    bits = (bits ^ bits >> 16) * 0x21F0AAAD & 0xFFFFFFFF
    bits = (bits ^ bits >> 15) * 0x735A2D97 & 0xFFFFFFFF
    bits ^= bits >> 15
    return next((level for level in range(LEVELS - 1) if bits >> 4 * level & 15), LEVELS - 1)


def measure(
    nodes: I32Array,
    columns: Columns,
    scores: tuple[F32Array, F32Array],
    vectors: U16Array,
    query: F32Array,
    speakers: I32Array,
    middling: float = math.nan,
) -> tuple[F32Array, float]:
    """One measure after the other."""
    own = dots_at(vectors, columns.vector_row[nodes], query)
    if len(nodes) and math.isnan(middling):
        total = 0.0
        for likeness in own.tolist():
            total += likeness
        middling = float(np.float32(total / len(nodes)))
    out = np.zeros((len(nodes), PARTS), np.float32)
    out[:, KEYWORD] = scores[0][nodes]
    out[:, SESSION] = scores[1][columns.session[nodes]]
    out[:, VECTOR] = own
    for side in (columns.previous, columns.following):
        likeness = [_likeness(int(row), columns, vectors, query, middling) for row in side[nodes]]
        out[:, VECTOR] += NEIGHBOUR * np.array(likeness, np.float32)
    out[:, SPEAKER] = np.isin(columns.speaker[nodes], speakers)
    out[:, ASKS] = columns.flags[nodes] & ONLY_ASKS
    out[:, SHORT] = np.maximum(1 - columns.length[nodes] / LONG, 0)
    return out, middling


def _likeness(
    row: int, columns: Columns, vectors: U16Array, query: F32Array, middling: float
) -> float:
    if not 0 <= row < columns.n or columns.status[row] != LIVE:
        return middling
    return float(dots_at(vectors, columns.vector_row[row : row + 1], query)[0])


def scales(measures: F32Array) -> tuple[F32Array, F32Array]:
    """The extremes of three columns."""
    least, spread = np.zeros(PARTS, np.float32), np.ones(PARTS, np.float32)
    for part in (KEYWORD, SESSION):
        spread[part] = measures[:, part].max(initial=0) or np.inf
    if len(measures):
        least[VECTOR] = measures[:, VECTOR].min()
        spread[VECTOR] = measures[:, VECTOR].max() - least[VECTOR] or 1
    return least, spread


def score(
    nodes: I32Array, measures: F32Array, least: F32Array, spread: F32Array, weights: F32Array
) -> tuple[F32Array, F32Array, I64Array]:
    """Added up column by column, then sorted."""
    shares: F32Array = np.clip((measures - least) / spread, 0, 1).astype(np.float32)
    parts = weights * shares
    sums = np.zeros(len(nodes), np.float32)
    for part in parts.T:
        sums += part
    order = sorted(range(len(nodes)), key=lambda i: (-sums[i], nodes[i]))
    return parts, sums, np.array(order, np.int64)


def places(known: I32Array, wanted: I32Array) -> I32Array:
    """A dictionary of places."""
    place = {node: i for i, node in enumerate(known.tolist())}
    return np.array([place.get(node, -1) for node in wanted.tolist()], np.int32)


def join(known: I32Array, met: I32Array, support: F32Array) -> tuple[I32Array, F32Array]:
    """A dictionary that keeps its order."""
    values = dict.fromkeys(known.tolist(), 0.0)
    values |= dict(zip(met.tolist(), support.tolist(), strict=True))
    return np.array(list(values), np.int32), np.array(list(values.values()), np.float32)
