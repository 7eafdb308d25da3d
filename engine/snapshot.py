"""What one reader sees: the arrays of the graph with their watermarks, never changed under it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..io.turn import TurnRecord
from ..kernels.beam import Adjacency, Nodes
from ..kernels.bm25 import Documents, Postings
from .columns import Array
from .graph import Graph


class Snapshot(NamedTuple):
    """The graph as it stood after journal row `seq`.

    by_time  int32 (t,)  the timed episodes below node `timed_from`, by time, then node

    A writer appends behind the watermarks that the parts carry, and puts merged arrays in place of
    the old ones, which readers keep. `graph` serves texts and names, which are only appended to.
    """

    graph: Graph
    seq: int
    n: int
    nodes: dict[str, Array]
    adjacency: Adjacency
    beam_nodes: Nodes
    postings: Postings
    documents: Documents
    vectors: npt.NDArray[np.uint16]
    vector_nodes: npt.NDArray[np.int32]
    by_time: npt.NDArray[np.int32]
    timed_from: int
    read_turns: Callable[[Sequence[int]], list[TurnRecord]]

    def turns(self, episodes: Sequence[int] | Array) -> list[TurnRecord]:
        """The turns that episodes keep, read from the journal together."""
        return self.read_turns(self.nodes["seq"][episodes].tolist())


def take_snapshot(
    graph: Graph,
    vectors: npt.NDArray[np.uint16],
    read_turns: Callable[[Sequence[int]], list[TurnRecord]],
) -> Snapshot:
    """The graph as it stands now, with the vectors of its episodes and their turns by seq."""
    nodes = graph.nodes.arrays()
    return Snapshot(
        graph=graph,
        seq=graph.seq,
        n=len(graph),
        nodes=nodes,
        adjacency=_adjacency(graph),
        beam_nodes=Nodes(
            vectors=vectors,
            vector_row=nodes["vector_row"],
            status=nodes["status"],
            kind=nodes["kind"],
            time=nodes["time_us"],
        ),
        postings=_postings(graph),
        documents=_documents(graph, nodes),
        vectors=vectors,
        vector_nodes=graph.vector_nodes["node"],
        by_time=graph.by_time,
        timed_from=graph.timed,
        read_turns=read_turns,
    )


def _adjacency(graph: Graph) -> Adjacency:
    base, delta = graph.edges.base, graph.edges.delta
    return Adjacency(
        indptr=base["indptr"],
        dst=base["dst"],
        link=base["link"],
        tag=base["tag"],
        head=graph.edges.heads["head"],
        next=delta.whole("next"),
        d_dst=delta["dst"],
        d_link=delta["link"],
        d_tag=delta["tag"],
        m_delta=len(delta),
        n=len(graph),
    )


def _postings(graph: Graph) -> Postings:
    base, delta = graph.postings.base, graph.postings.delta
    return Postings(
        indptr=base["indptr"],
        doc=base["doc"],
        tf=base["tf"],
        head=graph.postings.heads["head"],
        next=delta.whole("next"),
        d_doc=delta["doc"],
        d_tf=delta["tf"],
        m_delta=len(delta),
        n=len(graph),
        d_term=delta["src"],
        d_place=delta["place"],
    )


def _documents(graph: Graph, nodes: dict[str, Array]) -> Documents:
    return Documents(
        length=nodes["length"],
        previous=nodes["previous"],
        following=nodes["following"],
        session=nodes["session"],
        session_length=nodes["length"],
        n_docs=graph.n_docs,
        total_length=graph.total_length,
        n_sessions=graph.n_sessions,
    )
