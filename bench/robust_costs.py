"""What must not go wrong at length: dense graphs, deadlines, single additions, resident memory."""

import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cuegraph import Memory, Turn

from .measured import Measured, Metered, taken
from .spaces import Progress, silent
from .stores import CHUNK, add
from .synthetic import SyntheticEmbedder, questions, turns

DENSE, DEADLINE = "recall in a dense graph, p95", "recalls cut short by a deadline"
SINGLY, GROWTH = "vector index after single additions", "resident memory beyond its arrays"
DENSE_TURNS = 2000
RELATIONS = 42
"""Edges of each turn of the dense graph, at least."""
_WORDS, _SAID = 300, 24
"""Words that the dense turns share, and how many each says: each word is in 160 turns."""
SINGLE_ADDS = 60_000
RECALLS, ADDS = 50_000, 10_000
_WARM_RECALLS, _WARM_ADDS = 2000, 2048
_PAGE_BYTES = 4096


def robust_costs(nodes: int, progress: Progress = silent) -> dict[str, Measured]:
    """Each at the size that it is meant for, or at `nodes` where that is less."""
    progress("dense graph")
    found = dense_costs(min(DENSE_TURNS, nodes))
    progress("single additions")
    found |= single_costs(min(SINGLE_ADDS, nodes))
    progress("resident memory")
    return found | growth_costs(nodes)


def dense_costs(n: int) -> dict[str, Measured]:
    """Milliseconds of recalls among turns with dozens of edges each, and whether deadlines hold."""
    meter = Metered(SyntheticEmbedder(n))
    draw = random.Random(3)
    with TemporaryDirectory() as folder, Memory.open(folder, embedder=meter) as memory:
        add(memory, list(islice(_dense_turns(draw), n)))
        stats = memory.stats()
        relations = 2 * sum(stats.edges.values()) / (stats.turns + stats.nodes.get("cue", 0))
        asked = [" ".join(_words(draw, 6)) + "?" for _ in range(200)]
        for text in asked[:20]:
            memory.recall(text)
        times = [taken(lambda: memory.recall(text), meter).cpu_s * 1e3 for text in asked]  # noqa: B023
        late = [memory.recall(text, deadline_ms=0.001).cut_short for text in asked]
    beside = {"edges a node": relations, "p50 ms": float(np.median(times))}
    share = sum(reason == "deadline" for reason in late) / len(late)
    return {
        DENSE: Measured(float(np.percentile(times, 95)), n, beside=beside),
        DEADLINE: Measured(share, n),
    }


def single_costs(n: int) -> dict[str, Measured]:
    """Bytes a turn of the published index and graph after `n` additions of one turn each.

    Beside it those of the same turns added in batches: how they came must not matter.
    """
    sizes = {}
    for batch in (1, CHUNK):
        with TemporaryDirectory() as folder:
            with Memory.open(folder, embedder=SyntheticEmbedder(n)) as memory:
                made = turns(n)
                while chunk := list(islice(made, batch)):
                    add(memory, chunk)
            sizes[batch] = sum(path.stat().st_size for path in Path(folder).rglob("*.arrow")) / n
    beside = {"in batches, bytes a turn": sizes[CHUNK]}
    return {SINGLY: Measured(sizes[1] / sizes[CHUNK], n, beside=beside)}


def growth_costs(nodes: int) -> dict[str, Measured]:
    """Megabytes by which a process grows over many recalls and additions, beyond what it keeps.

    In a process of its own, after warm-up; what it keeps is counted by its files.
    """
    recalls, adds = min(RECALLS, 5 * nodes), min(ADDS, nodes)
    call = f"from cuegraph.bench.robust_costs import grown; grown({recalls}, {adds})"
    command = [sys.executable, "-c", call]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    resident, kept = (float(word) for word in run.stdout.split())
    beside = {"grown by, MB": resident, "kept, MB": kept}
    return {GROWTH: Measured(resident - kept, adds, beside=beside)}


def grown(recalls: int, adds: int) -> None:
    """Print the megabytes that this process grew by, and those that it added to its files."""
    size = _WARM_ADDS + adds
    made, asked = turns(size), questions(size, 1000)
    with TemporaryDirectory() as folder:
        with Memory.open(folder, embedder=SyntheticEmbedder(size)) as memory:
            _add(memory, islice(made, _WARM_ADDS))
            _recall(memory, asked, _WARM_RECALLS)
            before = _resident_mb()
            for part in range(10):
                _add(memory, islice(made, adds // 10))
                _recall(memory, asked[part:], recalls // 10)
            resident = _resident_mb() - before
        files = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.suffix != ".sqlite")
    print(resident, files / 1e6 * adds / size)


def _add(memory: Memory, made: Iterator[Turn]) -> None:
    while chunk := list(islice(made, 64)):
        add(memory, chunk)


def _recall(memory: Memory, asked: list[str], count: int) -> None:
    for i in range(count):
        memory.recall(asked[i % len(asked)])


def _resident_mb() -> float:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * _PAGE_BYTES / 1e6


def _dense_turns(draw: random.Random) -> Iterator[Turn]:
    number = 0
    while True:
        yield Turn(" ".join(_words(draw, _SAID)), id=str(number), speaker="Abeni")
        number += 1


def _words(draw: random.Random, count: int) -> list[str]:
    return [f"word{number:03d}x" for number in draw.sample(range(_WORDS), count)]
