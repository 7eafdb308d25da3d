"""One memory space: the journal, the vectors, and the graph that follows them."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..io.errors import StoreError
from ..io.journal import Journal
from ..io.row import Appended, Row
from ..io.snapshot import newest_snapshot, write_snapshot
from ..io.turn import TurnRecord
from ..llm.embedder import Embedder, unrelated_cosine
from .columns import below, prefixed
from .config import GraphConfig
from .graph import Graph
from .indexing import index_turn
from .schema import Kind, Relation
from .snapshot import Snapshot, take_snapshot
from .stage import Stage
from .vector_index import Near, VectorIndex, rules
from .vectors import Vectors

F32 = npt.NDArray[np.float32]

GRAPH_VERSION: Final = "1"
"""Version of the rules that derive the graph; snapshots of another one are rebuilt."""
PUBLISH_ROWS: Final = 4096
"""Journal rows after which a snapshot is published, which bounds the replay at the next open."""
PUBLISH_SHARE: Final = 16
"""A large space waits for this part of its rows, so that the cost of a row does not grow."""


class Space:
    """A directory with one memory. Many threads may use it; other processes may, too."""

    def __init__(
        self,
        directory: Path,
        embedder: Embedder,
        *,
        read_only: bool = False,
        busy_timeout_s: float = 5.0,
        config: GraphConfig | None = None,
    ) -> None:
        self.directory = directory
        self.embedder = embedder
        self.read_only = read_only
        self.config = config or GraphConfig()
        self.notices: list[str] = []
        self._unrelated = unrelated_cosine(embedder)
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self.journal = Journal.open(
            directory,
            embedder=embedder.name,
            dimension=embedder.dimension,
            read_only=read_only,
            busy_timeout_s=busy_timeout_s,
        )
        self._vectors = Vectors(
            directory, embedder, self.journal, read_only=read_only, tell=self.notices.append
        )
        self.index = VectorIndex()
        self._published = 0
        self._behind = False
        self.graph = self._load()
        self._catch_up()

    def add(self, records: Sequence[TurnRecord]) -> list[Appended]:
        """What became of each turn, once those added are safe on disk and in the graph."""
        known = [self.journal.lookup(record.session, record.id) for record in records]
        new = [i for i, seq in enumerate(known) if seq is None]
        vectors = self._vectors.embed([records[i] for i in new])
        at = {position: row for row, position in enumerate(new)}

        def write(first_row: int, positions: list[int]) -> list[int]:
            return self._vectors.append(first_row, vectors[[at[i] for i in positions]])

        outcomes = self.journal.append_turns(records, write)
        with self._lock:
            self._catch_up()
            if self.graph.seq - self._published >= max(
                PUBLISH_ROWS, self.graph.seq // PUBLISH_SHARE
            ):
                self._try_to_publish()
        return outcomes

    def snapshot(self) -> Snapshot:
        """What has been acknowledged so far, by this process or another one."""
        # One at a time: `changed` tells of a change once, and whoever comes next must see it too.
        with self._refreshing:
            self._behind |= self.journal.changed()
            if self._behind:
                with self._lock:
                    self._catch_up()
                self._behind = False
        return self._snapshot

    def publish(self) -> None:
        """Write the derived form to disk, for the next open to map."""
        with self._lock:
            if self.read_only or self.graph.seq == self._published:
                return
            self.graph.merge()
            write_snapshot(
                self.directory,
                {**self.graph.arrays(), **prefixed("hnsw", self.index.arrays())},
                seq=self.graph.seq,
                space=self.journal.space,
                stamp={
                    **self._stamp,
                    "vectors": self._vectors.mark(len(self.graph.vector_nodes)),
                },
            )
            self._published = self.graph.seq
            self._take()

    def _try_to_publish(self) -> None:
        """Publish; a failure is a notice, because what was added is safe without it."""
        try:
            self.publish()
        except (StoreError, OSError) as failure:
            self.notices.append(f"snapshot not written: {failure}")

    def bytes_on_disk(self) -> dict[str, int]:
        """Bytes of each file of the space, by its path in the directory."""
        files = [path for path in sorted(self.directory.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.directory)): path.stat().st_size for path in files}

    def close(self) -> None:
        """Publish what is new and let go of the files."""
        with self._lock:
            try:
                self.publish()
            finally:
                self.index.close()
                self._vectors.close()
                self.journal.close()

    @property
    def _stamp(self) -> Mapping[str, str]:
        config = msgspec.json.encode(self.config).decode()
        return {
            "graph": GRAPH_VERSION,
            "embedder": self.embedder.name,
            "config": config,
            "index": rules(),
        }

    def _load(self) -> Graph:
        """The graph of the newest sound snapshot, or an empty one."""
        loaded, notices = newest_snapshot(
            self.directory,
            space=self.journal.space,
            max_seq=self.journal.last_seq(),
            expected_stamp=self._stamp,
        )
        self.notices += notices
        if loaded is None:
            return Graph()
        self.index = VectorIndex(below("hnsw", loaded.arrays))
        sound = self._vectors.sound(loaded.stamp["vectors"])
        self._published = loaded.seq if sound else -1
        return Graph(loaded.arrays)

    def _catch_up(self) -> None:
        """Follow the journal from where the graph stands."""
        while rows := list(self.journal.rows_after(self.graph.seq, limit=PUBLISH_ROWS)):
            self._vectors.repair(rows)
            self._index_rows(rows)
        self._take()

    def _take(self) -> None:
        self._snapshot = take_snapshot(self.graph, self._vectors.view(len(self.graph.vector_nodes)))

    def _index_rows(self, rows: Sequence[Row]) -> None:
        first = len(self.graph.vector_nodes)
        stop = first + sum(row.vector_row is not None for row in rows)
        vectors = self._vectors.view(stop)
        floor = self._unrelated + self.config.similar_floor * (1 - self._unrelated)
        near = self.index.neighbours(vectors, first, stop, self.config.similar, floor)
        stage = Stage(self.graph)
        for row in rows:
            if row.kind == "turn":
                self._index_turn(stage, row, near, first)
            elif row.kind == "delete":
                self.graph.delete(self._node_of(row.target()))
            elif row.vector_row is not None:  # of a kind that a later version writes
                self.graph.vector_nodes.append(node=-1)
            self.graph.seq = row.seq
        stage.flush()
        self.index.cover(vectors)

    def _index_turn(self, stage: Stage, row: Row, near: Near, first: int) -> None:
        vector_row = -1 if row.vector_row is None else row.vector_row
        node = index_turn(stage, row.seq, row.turn(), vector_row, self.config)
        if vector_row < 0:
            return
        self.graph.vector_nodes.append(node=node)
        rows, cosines = near[0][vector_row - first], near[1][vector_row - first]
        others = np.where(rows >= 0, self.graph.vector_nodes["node"][rows], -1)
        known = others >= 0
        weights = self._similarity(cosines[known]).tolist()
        stage.link(node, others[known].tolist(), Relation.SIMILAR, weights)

    def _similarity(self, cosine: F32) -> F32:
        """Cosines on the scale from unrelated texts (0) to the same text (1)."""
        scaled: F32 = (cosine - np.float32(self._unrelated)) / np.float32(1 - self._unrelated)
        return np.maximum(scaled, np.float32(0))

    def _node_of(self, seq: int) -> int:
        """Node of the episode that a journal row holds; episodes stand in journal order."""
        nodes = self.graph.nodes
        episodes = np.flatnonzero(nodes["kind"] == Kind.EPISODE)
        return int(episodes[np.searchsorted(nodes["seq"][episodes], seq)])
