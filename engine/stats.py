"""Counting what a space holds."""

import numpy as np

from ..io.schema import FORMAT_VERSION
from .graph import SPEAKS
from .report import Stats
from .schema import DELETED, Kind, Relation
from .snapshot import Snapshot
from .space import Space


def speakers_of(snapshot: Snapshot) -> list[str]:
    """Names of those who speak in the memory, as first said, in the order of their first turns."""
    rows = np.flatnonzero(snapshot.nodes["flags"] & SPEAKS)
    return [snapshot.graph.label(int(row)) for row in rows]


def stats_of(space: Space) -> Stats:
    """Size and state of a space."""
    snapshot = space.snapshot()
    graph, nodes = snapshot.graph, snapshot.nodes
    episodes = nodes["kind"] == Kind.EPISODE
    kinds = np.bincount(nodes["kind"], minlength=len(Kind))
    return Stats(
        path=str(space.directory),
        turns=int(episodes.sum()),
        deleted=int((nodes["status"][episodes] == DELETED).sum()),
        sessions=graph.n_sessions,
        speakers=tuple(speakers_of(snapshot)),
        nodes={kind.name.lower(): int(kinds[kind]) for kind in Kind if kinds[kind]},
        edges={
            r.name: int(graph.relations[r]) for r in Relation if r % 2 == 0 and graph.relations[r]
        },
        triples=int(graph.relations[Relation.CUES]),
        terms=len(graph.vocabulary),
        journal_rows=snapshot.seq,
        vectors=len(graph.vector_nodes),
        vectors_indexed=space.index.indexed,
        embedder=space.embedder.name,
        dimension=space.embedder.dimension,
        format_version=FORMAT_VERSION,
        bytes_on_disk=space.bytes_on_disk(),
        verified=space.verified,
        notices=tuple(space.notices),
    )
