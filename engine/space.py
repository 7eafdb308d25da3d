"""One memory space: the journal, the vectors, and the graph that follows them."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from .checks import Checks
from .columns import Array, below, prefixed
from .config import GraphConfig
from .graph import Graph
from .indexing import index_turn
from .schema import Relation
from .snapshot import Snapshot, take_snapshot
from .stage import Stage
from .vector_index import VectorIndex, rules
from .vectors import Vectors

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]

GRAPH_VERSION: Final = "2"
"""Version of the rules that derive the graph; snapshots of another one are rebuilt."""
PUBLISH_ROWS: Final = 4096
"""Journal rows after which a snapshot is published, which bounds the replay at the next open."""
PUBLISH_SHARE: Final = 16
"""A large space waits for this part of its rows, so that the cost of a row does not grow."""


_NEEDED_FIRST: Final = (
    *("nodes.kind", "nodes.status", "nodes.flags", "nodes.speaker", "nodes.session"),
    *("nodes.previous", "nodes.following", "nodes.length", "nodes.vector_row"),
    *("vocabulary.hashes", "keys.hashes"),
)
"""Arrays of which any answer reads hundreds of rows, here and there."""


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
        self._beside = ThreadPoolExecutor(1, "cuegraph-neighbours")
        self.index = VectorIndex()
        self._published = 0
        self._behind = False
        self._checks = Checks()
        self.graph = self._load()
        self._catch_up()
        self._checks.start()

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
            self._behind |= self.journal.changed() or bool(self._checks.faults)
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
                max_seq=self.journal.last_seq(),
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
                self._checks.close()
                self._beside.shutdown()
                self.index.close()
                self._vectors.close()
                self.journal.close()

    @property
    def verified(self) -> bool:
        """Whether all files have been read and were found sound, or were mended, since opening."""
        return self._checks.passed

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
            read_only=self.read_only,
        )
        self.notices += notices
        if loaded is None:
            return Graph()
        loaded.read_ahead(_NEEDED_FIRST)
        if loaded.check:
            self._checks.put_off("snapshot", loaded.check)
        self._vectors.expect(loaded.stamp["vectors"], self._checks)
        self.index = VectorIndex(below("hnsw", loaded.arrays), on_disk=self._vectors.on_disk)
        self._published = loaded.seq
        return Graph(loaded.arrays)

    def _catch_up(self) -> None:
        """Follow the journal from where the graph stands."""
        self._mend()
        while rows := list(self.journal.rows_after(self.graph.seq, limit=PUBLISH_ROWS)):
            if not self.read_only and not self._checks.passed:
                # What is written must not come from anything damaged.
                self._checks.finish()
                self._mend()
                continue
            self._vectors.repair(rows)
            self._index_rows(rows)
        self._take()

    def _mend(self) -> None:
        """Make good what the checks of opened files found damaged."""
        faults = self._checks.faults
        if faults:
            self._behind, self._published = True, -1
        if "vectors" in faults:
            self._vectors.mend()
            del faults["vectors"]
        if "snapshot" in faults:
            self.notices.append(faults.pop("snapshot"))
            self.index.close()
            self.graph, self.index = Graph(), VectorIndex()

    def _take(self) -> None:
        vectors = self._vectors.view(len(self.graph.vector_nodes))
        self._snapshot = take_snapshot(self.graph, vectors, self.journal.turns)

    def _index_rows(self, rows: Sequence[Row]) -> None:
        first = len(self.graph.vector_nodes)
        stop = first + sum(row.vector_row is not None for row in rows)
        vectors = self._vectors.view(stop)
        floor = self._unrelated + self.config.similar_floor * (1 - self._unrelated)
        # The neighbours take as long as all the rest, and a core of their own.
        neighbours = (vectors, first, stop, self.config.similar, floor)
        near = self._beside.submit(self.index.neighbours, *neighbours)
        stage, ends = Stage(self.graph), list[int]()
        for row in rows:
            if row.kind == "turn":
                self._index_turn(stage, row)
            elif row.kind == "delete":
                (node,) = self.graph.episodes_of([row.target()])
                self.graph.delete(node)
            elif row.vector_row is not None:  # of a kind that a later version writes
                self.graph.vector_nodes.append(node=-1)
            self.graph.seq = row.seq
            if row.vector_row is not None:
                ends.append(len(stage))
        self._link_similar(stage, first, np.array(ends, np.int64), *near.result())
        stage.flush()
        self.index.cover(vectors)

    def _index_turn(self, stage: Stage, row: Row) -> None:
        vector_row = -1 if row.vector_row is None else row.vector_row
        node = index_turn(stage, row.seq, row.turn(), vector_row, self.config)
        if vector_row >= 0:
            self.graph.vector_nodes.append(node=node)

    def _link_similar(self, stage: Stage, first: int, ends: Array, rows: I32, cosines: F32) -> None:
        """Edges from the episodes of the vectors from `first` on to those that are most like them.

        ends           int64 (m,)  where the stage ended with each vector's row
        rows, cosines  int32 and float32 (m, k)  each vector's neighbours, or -1

        They stand where they would if they had been known at once: the graph must not depend on
        how many turns came together.
        """
        nodes = self.graph.vector_nodes["node"]
        new, others = np.broadcast_to(nodes[first:, None], rows.shape), nodes[rows]
        known = (rows >= 0) & (others >= 0) & (new >= 0)
        places = np.broadcast_to(ends[:, None], rows.shape)[known]
        weights = self._similarity(cosines[known])
        stage.insert(places, new[known], others[known], Relation.SIMILAR, weights)

    def _similarity(self, cosine: F32) -> F32:
        """Cosines on the scale from unrelated texts (0) to the same text (1)."""
        scaled: F32 = (cosine - np.float32(self._unrelated)) / np.float32(1 - self._unrelated)
        # Of float16 rows the same text can come out at a little more than 1.
        return np.clip(scaled, np.float32(0), np.float32(1))
