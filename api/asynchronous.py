"""The memory for asynchronous callers: the same calls, each in a thread of its own."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self, Unpack

from .batch import RecallOptions
from .engine.evidence import Recall
from .engine.narrative import Narrative
from .engine.report import AddReport, Stats
from .io.turn import Turn
from .memory import Memory


class AsyncMemory:
    """`Memory` with awaitable calls; kernels, files and embedders let other threads run.

    >>> import asyncio, tempfile
    >>> async def main() -> int:
    ...     async with await AsyncMemory.open(tempfile.mkdtemp(), embedder="hash") as memory:
    ...         await memory.add([Turn("Tea at five.")])
    ...         return len((await memory.recall("When is tea?")).evidence)
    >>> asyncio.run(main())
    1
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @classmethod
    async def open(cls, path: str | Path, **options: Any) -> Self:
        """`Memory.open`."""
        return cls(await asyncio.to_thread(Memory.open, path, **options))

    async def __aenter__(self) -> Self:
        """The memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    async def add(self, turns: Iterable[Turn], *, zone: str | None = None) -> AddReport:
        """`Memory.add`."""
        return await asyncio.to_thread(self.memory.add, turns, zone=zone)

    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recall:
        """`Memory.recall`."""
        return await asyncio.to_thread(self.memory.recall, query, **options)

    async def recall_batch(
        self, queries: Iterable[str], **options: Unpack[RecallOptions]
    ) -> list[Recall]:
        """`Memory.recall_batch`."""
        return await asyncio.to_thread(self.memory.recall_batch, queries, **options)

    async def narrate(self, recall: Recall, *, budget_tokens: int = 1000) -> Narrative:
        """`Memory.narrate`."""
        return await asyncio.to_thread(self.memory.narrate, recall, budget_tokens=budget_tokens)

    async def stats(self) -> Stats:
        """`Memory.stats`."""
        return await asyncio.to_thread(self.memory.stats)

    async def close(self) -> None:
        """`Memory.close`."""
        await asyncio.to_thread(self.memory.close)
