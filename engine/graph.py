"""The graph in memory: columns of nodes, typed relations, postings, triples, names and texts."""

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np

from ..io.turn import TurnRecord
from .chains import Chains
from .columns import Array, Names, Strings, Table, below, prefixed
from .schema import DELETED, LIVE, RELATIONS, TIME_NONE, Kind

NODES: Final = {
    "kind": np.uint8,
    "status": np.uint8,
    "flags": np.uint8,
    "time_us": np.int64,
    "seq": np.int64,  # journal row that an episode comes from, or -1
    "vector_row": np.int32,
    "body": np.int32,  # row of its text or label among the bodies
    "session": np.int32,  # node of an episode's session, or -1
    "previous": np.int32,  # episode: the one before it in its session; session: its newest
    "following": np.int32,  # episode: the one after it in its session
    "speaker": np.int32,  # cue node of who said it, or -1
    "length": np.int32,  # index terms of an episode
    "session_length": np.int32,  # index terms of a whole session, on its node
}
EDGES: Final = {
    "dst": np.int32,
    "relation": np.uint8,
    "weight": np.float32,
    "payload": np.int32,  # row of the triple behind a CUES edge, or -1
}
POSTINGS: Final = {"doc": np.int32, "tf": np.uint16}
TRIPLES: Final = {"cue": np.int32, "tag": np.int32, "content": np.int32}

ASKS = 1
"""Flag of an episode whose text only asks."""
NAMED = 2
"""Flag of a cue that was said as a name."""
SPEAKS = 4
"""Flag of a cue that names somebody who speaks in the memory."""

_decode = msgspec.msgpack.Decoder(TurnRecord).decode
_encode = msgspec.msgpack.Encoder().encode


class Graph:
    """All that is derived from the journal up to row `seq`, for one memory space.

    relations  int64 (16,)  edges of each relation
    newest     the episode added last, or -1
    latest     the episode with the latest time, of equal ones the first, or -1
    """

    def __init__(self, arrays: Mapping[str, Array] | None = None) -> None:
        given = arrays or {}
        self.nodes = Table(NODES, below("nodes", given) or None)
        self.edges = Chains(EDGES, below("edges", given) or None)
        self.postings = Chains(POSTINGS, below("postings", given) or None)
        self.triples = Table(TRIPLES, below("triples", given) or None)
        self.vector_nodes = Table({"node": np.int32}, below("vectors", given) or None)
        self.vocabulary = Names(below("vocabulary", given) or None)
        self.keys = Names(below("keys", given) or None)
        self.key_nodes = Table({"node": np.int32}, below("key_nodes", given) or None)
        self.bodies = Strings(**below("bodies", given))
        self.relations = np.array(given.get("relations", np.zeros(RELATIONS)), np.int64)
        totals = given.get("totals", np.array([0, 0, 0, 0, 0, -1, -1], np.int64)).tolist()
        self.seq, self.n_docs, self.total_length, self.n_sessions, self.n_deleted = totals[:5]
        self.newest, self.latest = totals[5:]

    def arrays(self) -> dict[str, Array]:
        """Everything as named arrays, the delta merged: what a snapshot holds."""
        totals = [self.seq, self.n_docs, self.total_length, self.n_sessions, self.n_deleted]
        totals += [self.newest, self.latest]
        return {
            **prefixed("nodes", self.nodes.arrays()),
            **self.edges.arrays("edges"),
            **self.postings.arrays("postings"),
            **prefixed("triples", self.triples.arrays()),
            **prefixed("vectors", self.vector_nodes.arrays()),
            **prefixed("vocabulary", self.vocabulary.arrays()),
            **prefixed("keys", self.keys.arrays()),
            **prefixed("key_nodes", self.key_nodes.arrays()),
            **prefixed("bodies", self.bodies.arrays()),
            "relations": self.relations,
            "totals": np.array(totals, np.int64),
        }

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def add_node(self, kind: Kind, body: bytes, **columns: int) -> int:
        """Row of a new node."""
        return self.nodes.append(
            **{
                "kind": kind,
                "status": LIVE,
                "flags": 0,
                "time_us": TIME_NONE,
                "seq": -1,
                "vector_row": -1,
                "body": self.bodies.append(body),
                "session": -1,
                "previous": -1,
                "following": -1,
                "speaker": -1,
                "length": 0,
                "session_length": 0,
                **columns,
            }
        )

    def find(self, kind: Kind, name: str) -> int:
        """Node of a kind by its normalised name, or -1."""
        number = self.keys.find(f"{kind.value}:{name}")
        return int(self.key_nodes["node"][number]) if number >= 0 else -1

    def named(self, kind: Kind, name: str, label: str) -> int:
        """Node of a kind by its normalised name, made if there is none; `label` is as said."""
        node = self.find(kind, name)
        if node < 0:
            node = self.add_node(kind, label.encode())
            # In this order: a reader that finds the key finds its node.
            self.key_nodes.append(node=node)
            self.keys.add(f"{kind.value}:{name}")
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

    def label(self, node: int) -> str:
        """What a node is called: a cue or session as said, an episode by its text."""
        body = self.bodies[int(self.nodes["body"][node])]
        return _decode(body).text if self.nodes["kind"][node] == Kind.EPISODE else body.decode()

    def turn(self, node: int) -> TurnRecord:
        """The turn that an episode keeps."""
        return _decode(self.bodies[int(self.nodes["body"][node])])

    def add_episode(self, record: TurnRecord, **columns: int) -> int:
        """Row of a new episode."""
        return self.add_node(Kind.EPISODE, _encode(record), **columns)
