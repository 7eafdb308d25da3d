"""A memory: keeps turns durably, and returns for a question the turns that answer it."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self, Unpack

import numpy as np
import numpy.typing as npt

from .batch import Batch, Moment, RecallOptions
from .engine.analysis import is_speaker
from .engine.config import GraphConfig, RecallConfig
from .engine.entities import normal
from .engine.evidence import Recall
from .engine.handles import Handles
from .engine.narrative import Narrative
from .engine.narrative import narrate as narrate_recall
from .engine.recall import TOGETHER, Question, Searched, recall_together
from .engine.report import AddReport, Item, Stats
from .engine.schema import Kind
from .engine.snapshot import Snapshot
from .engine.space import Space
from .engine.stats import speakers_of, stats_of
from .engine.tokens import TokenCounter, WordCounter
from .io.errors import InputError, StoreError
from .io.turn import Turn, TurnRecord, normalise, read_time, read_zone
from .kernels.bm25 import Workspace
from .llm.cache import Cached, VectorCache
from .llm.embedder import Embedder, open_embedder

F32 = npt.NDArray[np.float32]
_HANDLES = Handles()
_THREAD = threading.local()


class Memory:
    """One memory space: a tenant's, a user's, or a conversation's. Safe to use from many threads.

    >>> import tempfile
    >>> with Memory.open(tempfile.mkdtemp(), embedder="hash") as memory:
    ...     report = memory.add([Turn("My sister moved to Lisbon.", speaker="Ada")])
    ...     memory.recall("Where does Ada's sister live?").evidence[0].text
    'My sister moved to Lisbon.'
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        *,
        read_only: bool = False,
        zone: str | None = None,
        busy_timeout_s: float = 5.0,
        counter: TokenCounter | None = None,
        graph: GraphConfig | None = None,
        config: RecallConfig | None = None,
        pool: Executor | None = None,
        handles: Handles | None = None,
    ) -> None:
        """Use `open`."""
        self.path = path
        self.embedder = embedder
        self.config = config or RecallConfig()
        self._graph = graph
        self._read_only = read_only
        self._zone = zone
        self._busy_timeout_s = busy_timeout_s
        self._counter = counter or WordCounter()
        self._pool = pool
        self._handles = handles or _HANDLES
        self._closed = False
        self._owner = object()
        with self._lease():
            pass

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | str | None = None,
        cache: VectorCache | None = None,
        read_only: bool = False,
        zone: str | None = None,
        busy_timeout_s: float = 5.0,
        counter: TokenCounter | None = None,
        graph: GraphConfig | None = None,
        config: RecallConfig | None = None,
        pool: Executor | None = None,
        handles: Handles | None = None,
    ) -> Self:
        """The memory in the directory `path`, made there unless it exists.

        embedder        an embedder, or the name of one (see `open_embedder`); share one among many
        cache           vectors of texts embedded before, shared among memories and runs
        read_only       the memory must exist, and is not written to
        zone            where times without an offset were said, as "Europe/Rome"; None refuses them
        busy_timeout_s  seconds to wait for another process that writes
        counter         counts tokens; the default needs no model
        graph, config   settings of writing and of reading
        pool            runs the questions of a batch side by side; None = one after the other
        handles         bounds how many memories are open at once; None = the process's own, 64

        Raises StoreError where the directory cannot be used, StoreMismatchError where it was
        written with another embedder or a newer version, ModelError where the embedder fails.
        """
        if not isinstance(embedder, str) and embedder is not None:
            model = embedder
        else:
            model = open_embedder(embedder)
        if cache is not None:
            model = Cached(model, cache)
        return cls(
            Path(path).absolute(),
            model,
            read_only=read_only,
            zone=zone,
            busy_timeout_s=busy_timeout_s,
            counter=counter,
            graph=graph,
            config=config,
            pool=pool,
            handles=handles,
        )

    def __enter__(self) -> Self:
        """The memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Publish the derived files and let go of all files. What was added is safe without it."""
        self._closed = True
        self._handles.drop(self._owner)

    def add(self, turns: Iterable[Turn], *, zone: str | None = None) -> AddReport:
        """What became of each turn; those added are safe on disk and found by the next recall.

        The same turn again changes nothing. A turn that cannot be kept, or whose id is taken by
        another content, is reported and left out; the others are kept.

        zone    where times without an offset were said; None = as given to `open`

        Raises StoreBusyError where another process writes for too long, StoreError where the disk
        fails, ModelError where the embedder fails: then no turn of the call is kept.

        >>> import tempfile
        >>> with Memory.open(tempfile.mkdtemp(), embedder="hash") as memory:
        ...     report = memory.add([Turn("Tea at five."), Turn("")])
        ...     report.added, report.problems[0].reason
        (1, "text: expected more than blanks, got ''")
        """
        if self._read_only:
            raise StoreError(
                f"expected a memory to write to, got one opened read-only: {self.path}"
            )
        items: list[Item] = []
        records: list[tuple[int, TurnRecord]] = []
        seen: Counter[tuple[str, str]] = Counter()
        for i, turn in enumerate(turns):
            if not isinstance(turn, Turn):
                raise InputError(f"turn {i}: expected a Turn, got {type(turn).__name__}")
            try:
                record = _normalised(turn, zone or self._zone, seen)
            except InputError as problem:
                items.append(_rejected(i, turn, str(problem)))
            else:
                records.append((i, record))
        with self._lease() as space:
            outcomes = space.add([record for _, record in records])
        for (i, record), outcome in zip(records, outcomes, strict=True):
            reason = _conflict(record) if outcome.status == "conflict" else None
            items.append(Item(i, record.id, record.session, outcome.status, reason))
        return AddReport(tuple(sorted(items, key=lambda item: item.index)))

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recall:
        """The turns that may answer `query`, best first, each with the reasons it is there.

        options  see `RecallOptions`: k, budget_tokens, deadline_ms, after, before, speaker, asked

        Raises InputError for a blank query, a bad option or an unknown speaker; ModelError where
        the embedder fails.
        """
        return self.recall_batch([query], **options)[0]

    def recall_batch(
        self, queries: Iterable[str], **options: Unpack[RecallOptions]
    ) -> list[Recall]:
        """`recall` of each query, in order; the queries are embedded together."""
        return self._recall(Batch(queries, self.embedder, options))

    def narrate(self, recall: Recall, *, budget_tokens: int = 1000) -> Narrative:
        """The evidence of a recall as one text for a model's context, of at most so many tokens."""
        if budget_tokens < 1:
            raise InputError(f"budget_tokens: expected at least 1, got {budget_tokens}")
        with self._lease() as space:
            return narrate_recall(recall, space.snapshot(), self._counter, budget_tokens)

    def stats(self) -> Stats:
        """Counts of what the memory holds, the bytes it takes, and what was noticed at opening."""
        with self._lease() as space:
            return stats_of(space)

    def _lease(self) -> AbstractContextManager[Space]:
        if self._closed:
            raise StoreError(f"expected an open memory, got a closed one: {self.path}")
        return self._handles.lease(self._owner, self._open_space)

    def _open_space(self) -> Space:
        return Space(
            self.path,
            self.embedder,
            read_only=self._read_only,
            busy_timeout_s=self._busy_timeout_s,
            config=self._graph,
        )

    def _recall(self, batch: Batch) -> list[Recall]:
        """Answer a batch, or this memory's part of a larger one."""
        with self._lease() as space:
            snapshot = space.snapshot()
            template = self._template(snapshot, batch)
            questions = [template._replace(text=query) for query in batch.queries]

            def answer(start: int) -> list[Recall]:
                part = slice(start, start + TOGETHER)
                searched = Searched(snapshot, space.index, _workspace(), self.config)
                found = recall_together(
                    questions[part], batch.vectors[part], searched, self._counter
                )
                for one in found:
                    one.timings_ms["embedding"] = batch.embedding_ms
                return found

            run = map if self._pool is None else self._pool.map
            parts = run(answer, range(0, len(questions), TOGETHER))
            return [recall for part in parts for recall in part]

    def _template(self, snapshot: Snapshot, batch: Batch) -> Question:
        """The question that all of a batch share but for its text."""
        options = batch.options
        deadline_ms, speaker = options.get("deadline_ms"), options.get("speaker")
        asked_us, offset = self._moment("asked", options.get("asked"))
        return Question(
            text="",
            k=options.get("k", 10),
            budget_tokens=options.get("budget_tokens"),
            deadline=None if deadline_ms is None else batch.started + deadline_ms / 1e3,
            after_us=self._moment("after", options.get("after"))[0],
            before_us=self._moment("before", options.get("before"))[0],
            speaker=None if speaker is None else _speaker(snapshot, speaker),
            asked_us=asked_us,
            utc_offset_min=offset,
        )

    def _moment(self, name: str, moment: Moment | None) -> tuple[int | None, int | None]:
        try:
            return read_time(moment, read_zone(self._zone or "UTC"))
        except InputError as problem:
            raise InputError(f"{name}: {problem}") from problem


def recall_batch(
    pairs: Sequence[tuple[Memory, str]], **options: Unpack[RecallOptions]
) -> list[Recall]:
    """`recall` of each (memory, query), in order, over as many memories as there are.

    All queries of one embedder are embedded together, and those of one memory are asked together.
    Memories beyond the bound on open ones are closed again when they have answered.

    >>> import tempfile
    >>> with Memory.open(tempfile.mkdtemp(), embedder="hash") as memory:
    ...     report = memory.add([Turn("Tea at five.")])
    ...     len(recall_batch([(memory, "When is tea?"), (memory, "What is at five?")]))
    2
    """
    recalls: dict[int, Recall] = {}
    for asked in _grouped([memory.embedder.name for memory, _ in pairs]):
        memories = [pairs[i][0] for i in asked]
        batch = Batch([pairs[i][1] for i in asked], memories[0].embedder, options)
        for group in _grouped([id(memory) for memory in memories]):
            found = memories[group[0]]._recall(batch.part(group))
            recalls.update(zip((asked[i] for i in group), found, strict=True))
    return [recalls[i] for i in range(len(pairs))]


def _grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """Places of equal keys together, groups in the order of their first ones."""
    groups: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _normalised(turn: Turn, zone: str | None, seen: Counter[tuple[str, str]]) -> TurnRecord:
    """The turn as it is kept; one without an id is told from equal ones before it in the call."""
    record = normalise(turn, zone=zone)
    if turn.id is not None:
        return record
    content = (record.session, record.id)
    seen[content] += 1
    return normalise(turn, zone=zone, occurrence=seen[content] - 1) if seen[content] > 1 else record


def _workspace() -> Workspace:
    """Scratch arrays of this thread."""
    if not hasattr(_THREAD, "workspace"):
        _THREAD.workspace = Workspace()
    workspace: Workspace = _THREAD.workspace
    return workspace


def _speaker(snapshot: Snapshot, name: str) -> int:
    cue = snapshot.graph.find(Kind.CUE, normal(name))
    if cue < 0 or not is_speaker(snapshot, cue):
        known = ", ".join(speakers_of(snapshot)[:10]) or "nobody"
        raise InputError(f"speaker: expected one of those who speak ({known}), got {name!r}")
    return cue


def _rejected(index: int, turn: Turn, reason: str) -> Item:
    identity = turn.id if isinstance(turn.id, str) else None
    session = turn.session if isinstance(turn.session, str) else None
    return Item(index, identity, session, "rejected", reason)


def _conflict(record: TurnRecord) -> str:
    return (
        f"id: expected an id that is new or the same content, got {record.id!r} of session "
        f"{record.session!r}, which is kept with another content"
    )
