"""Metrics of ranked ids against gold ids, and intervals that resample whole conversations."""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

Interval = tuple[float, float]

RESAMPLES = 2000
"""Resamples behind an interval: its ends move by less than a tenth of its width with the seed."""
SEED = 41
_LEVEL = 0.95


def recall_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold ids that are among the first `k` ranked ones, 0 to 1.

    >>> recall_at_k(["a", "b", "c"], {"a", "c", "z"}, 2)
    0.3333333333333333
    """
    wanted = _distinct(gold)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def all_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 where all gold ids are among the first `k` ranked ones, else 0."""
    return float(_distinct(gold).issubset(ranked[:k]))


def bootstrap_interval(groups: Sequence[Sequence[float]]) -> Interval | None:
    """95 % interval of the mean over all values, by resampling whole groups.

    groups  the values of each conversation; empty ones are left out

    Questions of one conversation stand or fall together, so that an interval that resamples
    questions would be too narrow: drawn, with replacement, are as many conversations as there are,
    each with all of its questions (cluster bootstrap, Davison and Hinkley 1997, section 3.8). Ends
    are the 2.5 and 97.5 % quantiles of the means of 2,000 resamples, from a fixed seed; with few
    conversations they are rough, and rather too near. None for fewer than two: one tells nothing
    about others.
    """
    filled = [group for group in groups if len(group)]
    if len(filled) < 2:
        return None
    sums = np.array([np.sum(group) for group in filled], np.float64)
    counts = np.array([len(group) for group in filled], np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(filled), (RESAMPLES, len(filled)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def paired_interval(
    groups: Sequence[Sequence[float]], others: Sequence[Sequence[float]]
) -> Interval | None:
    """95 % interval of mean(groups) - mean(others), both about the same questions.

    The differences of single questions are resampled by conversation (see `bootstrap_interval`),
    which leaves out how hard the questions are. ValueError where the shapes differ.
    """
    differences = [
        [a - b for a, b in zip(group, other, strict=True)]
        for group, other in zip(groups, others, strict=True)
    ]
    return bootstrap_interval(differences)


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return float(np.mean(values)) if len(values) else None


def percentiles(values: Sequence[float], ranks: Sequence[float]) -> list[float] | None:
    """Percentiles at `ranks`, 0 to 100, linear between values; None of nothing."""
    if not len(values):
        return None
    found: npt.NDArray[np.float64] = np.percentile(np.asarray(values, np.float64), ranks)
    return [float(value) for value in found]


def _distinct(gold: Collection[str]) -> set[str]:
    if not gold:
        raise ValueError("gold: expected at least one id, got none")
    return set(gold)
