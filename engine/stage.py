"""What a batch of turns adds to the graph, collected in lists and put into the arrays at once."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from .graph import EDGES, Graph
from .schema import RELATIONS, Relation, reverse


class Stage:
    """Edges, triples and postings that `flush` appends to a graph, in the order they came in.

    Appending to an array costs microseconds whatever its length, appending to a list a fraction of
    one: a turn has some sixty entries.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._empty()

    def _empty(self) -> None:
        self._src: list[int] = []
        self._columns: dict[str, list[float]] = {name: [] for name in EDGES}
        self._triples: dict[str, list[int]] = {"cue": [], "tag": [], "content": []}
        self._terms: list[int] = []
        self._docs: list[int] = []
        self._tfs: list[int] = []
        self._degrees: Counter[int] = Counter()

    def link(self, src: int, dsts: Sequence[int], relation: int, weights: Sequence[float]) -> None:
        """Edges from one node to others, and their reverses."""
        m = len(dsts)
        self._link([src] * m, dsts, relation, weights, [-1] * m)

    def add_triples(self, cues: Sequence[int], tag: int, content: int, weight: float) -> None:
        """Triples (cue, tag or -1, content), and the derived CUES edge of each with its row."""
        m = len(cues)
        first = len(self.graph.triples) + len(self._triples["cue"])
        self._triples["cue"] += cues
        self._triples["tag"] += [tag] * m
        self._triples["content"] += [content] * m
        rows = range(first, first + m)
        self._link(cues, [content] * m, Relation.CUES, [weight] * m, rows)

    def post(self, terms: Sequence[int], doc: int, tfs: Iterable[int]) -> None:
        """Occurrences of terms, each once, in a document."""
        self._terms += terms
        self._docs += [doc] * len(terms)
        self._tfs += tfs
        self._degrees.update(terms)

    def degree(self, term: int) -> int:
        """Documents that hold a term so far, those staged included; 0 for -1, an unknown term."""
        kept = self.graph.postings
        return self._degrees[term] + (kept.degree(term) if 0 <= term < len(kept) else 0)

    def flush(self) -> None:
        """Put everything into the graph; the stage is empty again."""
        graph = self.graph
        if self._triples["cue"]:
            graph.triples.extend(**self._triples)
        graph.edges.grow(len(graph))
        if self._src:
            columns = {n: np.array(v, EDGES[n]) for n, v in self._columns.items()}
            graph.edges.extend(np.array(self._src, np.int32), **columns)
            graph.relations += np.bincount(columns["relation"], minlength=RELATIONS)
        graph.postings.grow(len(graph.vocabulary))
        graph.postings.extend(
            np.array(self._terms, np.int32), doc=self._docs, tf=np.array(self._tfs, np.uint16)
        )
        self._empty()

    def _link(
        self,
        srcs: Sequence[int],
        dsts: Sequence[int],
        relation: int,
        weights: Sequence[float],
        payload: Sequence[int],
    ) -> None:
        m, columns = len(dsts), self._columns
        self._src += srcs
        self._src += dsts
        columns["dst"] += dsts
        columns["dst"] += srcs
        columns["relation"] += [relation] * m + [reverse(relation)] * m
        for _ in range(2):
            columns["weight"] += weights
            columns["payload"] += payload
