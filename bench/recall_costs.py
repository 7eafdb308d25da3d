"""What a recall costs without the embedding of its question, one by one and in batches."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from cuegraph import Memory

from .measured import Measured, Metered, Spent, median, taken
from .synthetic import SyntheticEmbedder, questions

ASKED = 1000
"""Questions, at most as many as turns; the last percent of them is ten."""
BATCH = 256
_WARM = 20
SINGLE, BATCHED = "recall, single, p99", "recall, in batches"


def recall_costs(store: Path, nodes: int) -> dict[str, Measured]:
    """Milliseconds a question: the 99th percentile of single calls, the median of batches.

    Processor time of the one thread that asks; beside it time on the wall, and that of batches
    over a pool of the machine's cores.
    """
    texts = questions(nodes, min(ASKED, nodes))
    meter = Metered(SyntheticEmbedder(nodes))
    with Memory.open(store, embedder=meter, read_only=True) as memory:
        singles = _singles(memory, texts, meter)
        batches = _batches(memory, texts, meter)
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        Memory.open(store, embedder=meter, read_only=True, pool=pool) as memory,
    ):
        pooled = _batches(memory, texts, meter)
    p99 = float(np.percentile([spent.cpu_s for spent in singles], 99)) * 1e3
    beside = {
        "p50 ms": median([spent.cpu_s for spent in singles]) * 1e3,
        "p50 ms, wall": median([spent.wall_s for spent in singles]) * 1e3,
        "p99 ms, wall": float(np.percentile([spent.wall_s for spent in singles], 99)) * 1e3,
    }
    cpu = median([spent.cpu_s for spent in batches]) * 1e3
    walls = {
        "ms, wall": median([spent.wall_s for spent in batches]) * 1e3,
        f"ms, wall, {os.cpu_count()} threads": median([spent.wall_s for spent in pooled]) * 1e3,
    }
    return {
        SINGLE: Measured(p99, nodes, beside=beside),
        BATCHED: Measured(cpu, nodes, beside=walls),
    }


def _singles(memory: Memory, texts: Sequence[str], meter: Metered) -> list[Spent]:
    for text in texts[:_WARM]:
        memory.recall(text)
    return [taken(partial(memory.recall, text), meter) for text in texts]


def _batches(memory: Memory, texts: Sequence[str], meter: Metered) -> list[Spent]:
    """Of one question in each batch."""
    memory.recall_batch(texts[:_WARM])
    spent = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        whole = taken(partial(memory.recall_batch, batch), meter)
        spent.append(Spent(whole.wall_s / len(batch), whole.cpu_s / len(batch)))
    return spent
