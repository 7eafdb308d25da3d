"""The graph in memory: columns of nodes, typed relations, postings, names and labels."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from .chains import Chains
from .columns import Array, Names, Strings, Table, below, prefixed
from .schema import DELETED, LIVE, RELATIONS, TIME_NONE, Kind, Relation

NODES: Final = {
    "kind": np.uint8,
    "status": np.uint8,
    "flags": np.uint8,
    "time_us": np.int64,
    "seq": np.int32,  # journal row that made it: ascending with the node
    "vector_row": np.int32,
    "label": np.int32,  # row among the labels, or -1: an episode's text stands in the journal
    "session": np.int32,  # node of an episode's session, or -1
    "previous": np.int32,  # episode: the one before it in its session; session: its newest
    "following": np.int32,  # episode: the one after it in its session
    "speaker": np.int32,  # cue node of who said it, or -1
    "length": np.int32,  # index terms of an episode, or of all episodes of a session
}
EDGES: Final = {
    "dst": np.int32,
    "link": np.uint16,  # relation and weight, see `kernels.beam.pack`
    "tag": np.int32,  # number of the tag of a CUES edge, or -1
}
POSTINGS: Final = {"doc": np.int32, "tf": np.uint16}

_PREFIX: Final = {kind: f"{kind.value}:" for kind in Kind}

ASKS = 1
"""Flag of an episode whose text only asks."""
NAMED = 2
"""Flag of a cue that was said as a name."""
SPEAKS = 4
"""Flag of a cue that names somebody who speaks in the memory."""
ALIASED = 8
"""Flag of a cue that a text has said to be the same as another one."""


class Graph:
    """All that is derived from the journal up to row `seq`, for one memory space.

    A triple (cue, tag, content) of MRAgent is a CUES edge from cue to content with its tag.

    relations          int64 (16,)  edges of each relation
    newest             the episode added last, or -1
    latest             the episode with the latest time, of equal ones the first, or -1
    latest_offset_min  where that was said, minutes east of UTC
    by_time            int32 (t,)   the timed episodes below node `timed`, by time, then node
    present            who is known to speak in a session, for sessions written to lately
    """

    def __init__(self, arrays: Mapping[str, Array] | None = None) -> None:
        given = arrays or {}
        self.nodes = Table(NODES, below("nodes", given) or None)
        self.edges = Chains(EDGES, below("edges", given) or None, absent={"tag": -1})
        self.postings = Chains(POSTINGS, below("postings", given) or None)
        self.vector_nodes = Table({"node": np.int32}, below("vectors", given) or None)
        self.vocabulary = Names(below("vocabulary", given) or None)
        self.keys = Names(below("keys", given) or None)
        self.key_nodes = Table({"node": np.int32}, below("key_nodes", given) or None)
        self.labels = Strings(**below("labels", given))
        self.by_time = given.get("by_time", np.empty(0, np.int32))
        self.present: dict[int, set[int]] = {}
        self.relations = np.array(given.get("relations", np.zeros(RELATIONS)), np.int64)
        totals = given.get("totals", np.array([0, 0, 0, 0, 0, -1, -1, 0, 0], np.int64)).tolist()
        self.seq, self.n_docs, self.total_length, self.n_sessions, self.n_deleted = totals[:5]
        self.newest, self.latest, self.latest_offset_min, self.timed = totals[5:]

    def arrays(self) -> dict[str, Array]:
        """Everything as named arrays, the delta merged: what a snapshot holds."""
        totals = [self.seq, self.n_docs, self.total_length, self.n_sessions, self.n_deleted]
        totals += [self.newest, self.latest, self.latest_offset_min, len(self)]
        return {
            **prefixed("nodes", self.nodes.arrays()),
            **self.edges.arrays("edges"),
            **self.postings.arrays("postings"),
            **prefixed("vectors", self.vector_nodes.arrays()),
            **prefixed("vocabulary", self.vocabulary.arrays()),
            **prefixed("keys", self.keys.arrays()),
            **prefixed("key_nodes", self.key_nodes.arrays()),
            **prefixed("labels", self.labels.arrays()),
            "by_time": self._sorted_by_time(),
            "relations": self.relations,
            "totals": np.array(totals, np.int64),
        }

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def add_node(self, kind: Kind, label: str | None = None, **columns: int) -> int:
        """Row of a new node, made by the journal row `seq`."""
        return self.nodes.append(
            **{
                "kind": kind,
                "status": LIVE,
                "flags": 0,
                "time_us": TIME_NONE,
                "seq": self.seq,
                "vector_row": -1,
                "label": -1 if label is None else self.labels.append(label.encode()),
                "session": -1,
                "previous": -1,
                "following": -1,
                "speaker": -1,
                "length": 0,
                **columns,
            }
        )

    def find(self, kind: Kind, name: str) -> int:
        """Node of a kind by its normalised name, or -1."""
        number = self.keys.find(_PREFIX[kind] + name)
        return int(self.key_nodes["node"][number]) if number >= 0 else -1

    def find_all(self, kind: Kind, names: Sequence[str]) -> list[int]:
        """`find` of each name, in a fraction of the time."""
        start, nodes = _PREFIX[kind], self.key_nodes["node"]
        numbers = self.keys.find_all([start + name for name in names])
        return [int(nodes[number]) if number >= 0 else -1 for number in numbers]

    def named(self, kind: Kind, name: str, label: str) -> int:
        """Node of a kind by its normalised name, made if there is none; `label` is as said."""
        node = self.find(kind, name)
        if node < 0:
            node = self.add_node(kind, label)
            # In this order: a reader that finds the key finds its node.
            self.key_nodes.append(node=node)
            self.keys.add(_PREFIX[kind] + name)
        return node

    def flag(self, node: int, flags: int) -> None:
        """Set flags of a node."""
        now = int(self.nodes["flags"][node])
        if now & flags != flags:
            self.nodes.put("flags", node, now | flags)

    @property
    def latest_us(self) -> int:
        """Time of the latest episode, TIME_NONE where there is none with a time."""
        return TIME_NONE if self.latest < 0 else int(self.nodes["time_us"][self.latest])

    def delete(self, node: int) -> None:
        """Mark a node as deleted: no arm finds it, no walk passes it.

        Its words go on counting in the frequencies of terms, so that other scores do not move.
        """
        self.n_deleted += int(self.nodes["status"][node] == LIVE)
        self.nodes.put("status", node, DELETED)

    def merge(self) -> None:
        """Merge the deltas into new bases; readers keep the arrays that they have."""
        self.edges.merge()
        self.postings.merge()
        self.by_time, self.timed = self._sorted_by_time(), len(self)

    def linked(self, node: int, relation: Relation) -> Array:
        """Nodes that edges of one relation lead to, int32, oldest edge first."""
        row = self.edges.row(node)
        found: Array = row["dst"][row["link"] & (RELATIONS - 1) == relation]
        return found

    def label(self, node: int) -> str:
        """What a node is called, as first said; an episode has no label."""
        return self.labels[int(self.nodes["label"][node])].decode()

    def episodes_of(self, seqs: Sequence[int]) -> list[int]:
        """The episode that each journal row made, or -1."""
        kind, made = self.nodes["kind"], self.nodes["seq"]
        starts = np.searchsorted(made, np.array(seqs, made.dtype), "left").tolist()
        stops = np.searchsorted(made, np.array(seqs, made.dtype), "right").tolist()
        episodes = (
            np.flatnonzero(kind[start:stop] == Kind.EPISODE) + start
            for start, stop in zip(starts, stops, strict=True)
        )
        return [int(found[0]) if len(found) else -1 for found in episodes]

    def _sorted_by_time(self) -> Array:
        """`by_time` of all nodes."""
        if self.timed == len(self):
            return self.by_time
        kind, time_us = (self.nodes[name][self.timed :] for name in ("kind", "time_us"))
        later = np.flatnonzero((kind == Kind.EPISODE) & (time_us != TIME_NONE)) + self.timed
        nodes = np.concatenate([self.by_time, later.astype(np.int32)])
        # Stable, and almost in order already: equal times stay by node.
        return nodes[np.argsort(self.nodes["time_us"][nodes], kind="stable")]
