"""What a durable write costs without embedding, in a large memory and in a small one."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cuegraph import Memory, Turn

from .measured import Measured, Metered, Spent, median, taken
from .spaces import Progress, silent
from .stores import CHUNK, add, complete
from .synthetic import SyntheticEmbedder, later_turns

SMALL = 1000
"""Turns of the memory that a large one is compared with."""
BATCHES = 16
"""So many of 256 are 4,096 events, after which a small memory publishes its snapshot; a large one
does so less often, and what it takes is measured when the memory is closed."""
WRITE, FLATNESS = "durable write", "write against one at 1e3 nodes"


def write_costs(store: Path, nodes: int, progress: Progress = silent) -> dict[str, Measured]:
    """Microseconds an event in batches of 256, and how many times that of a small memory it is.

    Written to copies of the stores, a batch to each in turn. The cost is the mean time on the wall,
    syncing included, and publishing where it fell among the batches; the ratio is that of the
    medians, which tells whether an ordinary batch is dearer. Time on the wall, since other threads
    than the caller's have a part in it, and the large memory's have one more: they link vectors.
    """
    batches = min(BATCHES, max(2, nodes // CHUNK))  # to a small store no more than it holds
    with TemporaryDirectory(dir=store.parent) as name:
        folder = Path(name)
        shutil.copytree(store, folder / "large")
        small_nodes = min(SMALL, nodes)
        complete(folder / "small", small_nodes, progress)
        meter = Metered(SyntheticEmbedder(nodes))
        large: list[Spent] = []
        small: list[Spent] = []
        with Memory.open(folder / "large", embedder=meter) as memory:
            chunks = _chunks(nodes, batches + 1)
            add(memory, next(chunks))
            for chunk in chunks:
                large.append(_event(memory, chunk, meter))
                with _copied(folder / "small", small_nodes) as (other, its, fresh):
                    small.append(_event(other, fresh, its))
            closing = taken(memory.close)
    return _figures(large, small, closing, nodes)


def _figures(
    large: Sequence[Spent], small: Sequence[Spent], closing: Spent, nodes: int
) -> dict[str, Measured]:
    def mean_us(spent: Sequence[Spent]) -> float:
        return sum(one.wall_s for one in spent) / len(spent) * 1e6

    middle = median([one.wall_s for one in large]) * 1e6
    middle_small = median([one.wall_s for one in small]) * 1e6
    beside = {
        "median batch, us": middle,
        "the caller's processor time, us": median([one.cpu_s for one in large]) * 1e6,
        "dearest batch, us": max(one.wall_s for one in large) * 1e6,
        "to publish at closing, ms": closing.wall_s * 1e3,
    }
    ratios = {
        "us": middle,
        "us at 1e3": middle_small,
        "ratio of means": mean_us(large) / mean_us(small),
    }
    return {
        WRITE: Measured(mean_us(large), nodes, beside=beside),
        FLATNESS: Measured(middle / middle_small, nodes, beside=ratios),
    }


def _event(memory: Memory, chunk: Sequence[Turn], meter: Metered) -> Spent:
    """What one event of a batch takes."""
    whole = taken(lambda: add(memory, chunk), meter)
    return Spent(whole.wall_s / len(chunk), whole.cpu_s / len(chunk))


@contextmanager
def _copied(store: Path, nodes: int) -> Iterator[tuple[Memory, Metered, list[Turn]]]:
    """A copy of a store, written to once, with its meter and the turns to write next."""
    meter = Metered(SyntheticEmbedder(nodes))
    first, second = _chunks(nodes, 2)
    with TemporaryDirectory(dir=store.parent) as folder:
        copy = shutil.copytree(store, Path(folder) / "copy")
        with Memory.open(copy, embedder=meter) as memory:
            add(memory, first)
            yield memory, meter, second


def _chunks(nodes: int, count: int) -> Iterator[list[Turn]]:
    """Batches of the turns that follow those of a store."""
    later = list(later_turns(nodes, count * CHUNK))
    yield from (later[start : start + CHUNK] for start in range(0, len(later), CHUNK))
