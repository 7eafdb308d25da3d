"""One measured figure, and what calls take: time on the wall and of the thread's processor."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from cuegraph import Embedder


class Figure(msgspec.Struct, frozen=True):
    """What a measured value is compared with: a rival, or a limit that nothing could beat."""

    name: str
    value: float
    unit: str


class Measured(msgspec.Struct, frozen=True):
    """One measurement.

    value   None where it could not be measured: `note` says why
    nodes   size that it was measured at; None where size plays no part
    beside  further figures of the same run, by name with unit
    """

    value: float | None
    nodes: int | None = None
    rival: Figure | None = None
    limit: Figure | None = None
    beside: dict[str, float] = msgspec.field(default_factory=dict)
    note: str | None = None


class Spent(NamedTuple):
    """Seconds on the wall, and of this thread's processor time, which neighbours disturb less."""

    wall_s: float
    cpu_s: float

    @classmethod
    def now(cls) -> Self:
        """Both clocks as they stand."""
        return cls(time.perf_counter(), time.thread_time())

    def less(self, *others: "Spent") -> "Spent":
        """What is left of it without others."""
        return Spent(
            self.wall_s - sum(other.wall_s for other in others),
            self.cpu_s - sum(other.cpu_s for other in others),
        )


class Metered:
    """An embedder that adds up what it takes, to be left out of what is measured around it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.spent = Spent(0.0, 0.0)

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched."""
        return self._metered(self._embedder.passages, texts)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search."""
        return self._metered(self._embedder.queries, texts)

    def _metered(
        self, embed: Callable[[Sequence[str]], npt.NDArray[np.float32]], texts: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        start = Spent.now()
        vectors = embed(texts)
        took = Spent.now().less(start)
        self.spent = Spent(self.spent.wall_s + took.wall_s, self.spent.cpu_s + took.cpu_s)
        return vectors


def taken(call: Callable[[], object], meter: Metered | None = None) -> Spent:
    """What one call takes, without what the embedder took meanwhile."""
    before = meter.spent if meter else Spent(0.0, 0.0)
    start = Spent.now()
    call()
    took = Spent.now().less(start)
    return took.less(meter.spent.less(before)) if meter else took


def median(values: Sequence[float]) -> float:
    """The median, as a Python float."""
    return float(np.median(values))
