"""What a batch of turns adds to the graph, collected in lists and put into the arrays at once."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ..kernels.beam import pack
from .columns import Array
from .graph import Graph
from .schema import RELATIONS, Relation, reverse

_PRESENT = 4096
"""Sessions whose speakers are remembered; of others they are read from the edges again."""


class Stage:
    """Edges and postings that `flush` appends to a graph, in the order they came in.

    Appending to an array costs microseconds whatever its length, appending to a list a fraction of
    one: a turn has some sixty entries.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._empty()

    def _empty(self) -> None:
        self._src: list[int] = []
        self._dst: list[int] = []
        self._relation: list[int] = []
        self._weight: list[float] = []
        self._tag: list[int] = []
        self._inserted: tuple[Array, ...] = ()
        self._terms: list[int] = []
        self._docs: list[int] = []
        self._tfs: list[int] = []
        self._degrees: Counter[int] = Counter()

    def link(self, src: int, dsts: Sequence[int], relation: int, weights: Sequence[float]) -> None:
        """Edges from one node to others, and their reverses."""
        self._link([src] * len(dsts), dsts, relation, weights, -1)

    def __len__(self) -> int:
        """Edges staged so far, reverses included: a place to insert further ones at."""
        return len(self._src)

    def insert(self, places: Array, src: Array, dst: Array, relation: int, weight: Array) -> None:
        """Edges src[i] -> dst[i], with their reverses, put in where the stage once ended.

        places int (m,), src and dst int32 (m,), weight float32 (m,)
        """
        both = np.repeat(np.array([relation, reverse(relation)], np.uint8), len(src))
        self._inserted = (
            np.tile(places, 2),
            np.concatenate([src, dst]),
            np.concatenate([dst, src]),
            both,
            np.tile(weight, 2),
        )

    def add_triples(self, cues: Sequence[int], tag: int, content: int, weight: float) -> None:
        """Triples (cue, number of a tag or -1, content): a CUES edge each."""
        m = len(cues)
        self._link(cues, [content] * m, Relation.CUES, [weight] * m, tag)

    def post(self, terms: Sequence[int], doc: int, tfs: Iterable[int]) -> None:
        """Occurrences of terms, each once, in a document."""
        self._terms += terms
        self._docs += [doc] * len(terms)
        self._tfs += tfs
        self._degrees.update(terms)

    def degree(self, term: int) -> int:
        """Documents that hold a term so far, those staged included."""
        return self._degrees[term] + self.graph.postings.degree(term)

    def flush(self) -> None:
        """Put everything into the graph; the stage is empty again."""
        graph = self.graph
        graph.edges.grow(len(graph))
        if self._src:
            src, dst, relation, weight, tag = self._edges()
            graph.edges.extend(src, dst=dst, link=pack(relation, weight), tag=tag)
            graph.relations += np.bincount(relation, minlength=RELATIONS)
        graph.postings.grow(len(graph.vocabulary))
        graph.postings.extend(
            np.array(self._terms, np.int32), doc=self._docs, tf=np.array(self._tfs, np.uint16)
        )
        if len(graph.present) > _PRESENT:
            graph.present.clear()
        self._empty()

    def _edges(self) -> list[Array]:
        """All staged edges as columns: src, dst, relation, weight, tag."""
        staged: list[Array] = [
            np.array(self._src, np.int32),
            np.array(self._dst, np.int32),
            np.array(self._relation, np.uint8),
            np.array(self._weight, np.float32),
            np.array(self._tag, np.int32),
        ]
        if not self._inserted:
            return staged
        places, *columns = self._inserted
        columns = [*columns, np.full(len(places), -1, np.int32)]
        return [np.insert(old, places, new) for old, new in zip(staged, columns, strict=True)]

    def _link(
        self,
        srcs: Sequence[int],
        dsts: Sequence[int],
        relation: int,
        weights: Sequence[float],
        tag: int,
    ) -> None:
        m = len(dsts)
        self._src += srcs
        self._src += dsts
        self._dst += dsts
        self._dst += srcs
        self._relation += [relation] * m + [reverse(relation)] * m
        self._weight += weights
        self._weight += weights
        self._tag += [tag] * (2 * m)
