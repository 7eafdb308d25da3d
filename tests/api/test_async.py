"""Many callers at once: the awaitable twins, and threads that read while one writes."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cuegraph import AsyncMemory, InputError, Memory, Recall, StoreError, Turn

TURNS = [
    Turn("My sister moved to Lisbon.", id="1", speaker="Ada", time="2024-05-01T10:00:00Z"),
    Turn("The ferry was late again.", id="2", speaker="Ben", time="2024-05-02T10:00:00Z"),
    Turn("She sells painted tiles.", id="3", speaker="Ada", time="2024-05-03T10:00:00Z"),
]
QUESTION = "Where does Ada's sister live?"

# Four threads ask for the newest turn that they know to be kept while one adds 500 of them, and
# the files are published every 64 rows. A child of its own, since a race may end the process.
RACE = """
import sys, threading, time
import cuegraph.engine.space as space
from cuegraph import Memory, Turn
from cuegraph.engine import vector_index

space.PUBLISH_ROWS = 64
vector_index.EXACT_BELOW, vector_index.BLOCK = map(int, sys.argv[2:])
ADDED, READERS = 500, 4
memory = Memory.open(sys.argv[1], embedder="hash")
kept, sound, asked, done = 0, True, [0] * READERS, threading.Event()

def text(n):
    return f"Parcel p{n}q went to the harbour with the {n % 7}th ferry, Mira said."

def read(reader):
    global sound
    while not done.is_set() or not asked[reader]:
        time.sleep(0.001)  # lets the writer have its turn
        newest = kept
        if not newest:
            continue
        found = memory.recall(f"Where did parcel p{newest}q go?", k=10).evidence
        asked[reader] += 1
        numbers = [int(piece.id) for piece in found]
        # One at a time is being added: what is found is kept, or just about to be acknowledged.
        if newest not in numbers or max(numbers) > kept + 1:
            sound = False
            print("asked for", newest, "got", numbers, flush=True)
        if any(piece.text != text(int(piece.id)) for piece in found):
            sound = False
            print("torn", found, flush=True)

threads = [threading.Thread(target=read, args=(i,)) for i in range(READERS)]
for thread in threads:
    thread.start()
for n in range(1, ADDED + 1):
    memory.add([Turn(text(n), id=str(n), speaker="Ada" if n % 2 else "Ben")])
    kept = n
done.set()
for thread in threads:
    thread.join()
memory.close()
print("sound" if sound else "unsound", min(asked) > 0)
"""


def said(recall: Recall) -> bytes:
    """A recall without its timings, which differ between runs."""
    fields: dict[str, Any] = msgspec.to_builtins(recall)
    return msgspec.json.encode({**fields, "timings_ms": None})


def test_the_twins_answer_as_the_plain_calls(tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncMemory.open(tmp_path, embedder="hash") as memory:
            assert (await memory.add(TURNS)).added == 3
            found = await memory.recall(QUESTION, k=2)
            both = await memory.recall_batch([QUESTION, "What is late?"], k=2)
            with Memory.open(tmp_path, embedder="hash") as plain:
                assert said(found) == said(plain.recall(QUESTION, k=2))
                assert [*map(said, both)] == [
                    *map(said, plain.recall_batch([QUESTION, "What is late?"], k=2))
                ]
                assert await memory.narrate(found) == plain.narrate(found)
                assert (await memory.stats()).turns == plain.stats().turns == 3

    asyncio.run(main())


def test_the_twins_raise_as_the_plain_calls(tmp_path: Path) -> None:
    async def main() -> None:
        memory = await AsyncMemory.open(tmp_path, embedder="hash")
        with pytest.raises(InputError, match="query"):
            await memory.recall(" ")
        await memory.close()
        await memory.close()
        with pytest.raises(StoreError, match="closed"):
            await memory.add(TURNS)

    asyncio.run(main())


def test_calls_run_side_by_side(tmp_path: Path) -> None:
    async def add_and_ask(memory: AsyncMemory, n: int) -> list[str]:
        await memory.add([Turn(f"The code of door d{n}d is {n}.", id=str(n))])
        found = await memory.recall(f"What is the code of door d{n}d?", k=50)
        return [piece.id for piece in found.evidence]

    async def main() -> None:
        async with await AsyncMemory.open(tmp_path, embedder="hash") as memory:
            answers = await asyncio.gather(*(add_and_ask(memory, n) for n in range(40)))
            assert all(str(n) in ids for n, ids in enumerate(answers))
            assert (await memory.stats()).turns == 40

    asyncio.run(main())


@pytest.mark.parametrize(("exact_below", "block"), [(8192, 1024), (128, 16)])
def test_threads_read_while_one_adds(tmp_path: Path, exact_below: int, block: int) -> None:
    """Below the size of the vector index, and above it."""
    arguments = [str(tmp_path / "store"), str(exact_below), str(block)]
    command = [sys.executable, "-X", "faulthandler", "-c", RACE, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "sound True\n", "")
    with Memory.open(tmp_path / "store", embedder="hash", read_only=True) as memory:
        assert memory.stats().turns == 500
