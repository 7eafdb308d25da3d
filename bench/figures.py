"""Figures of ranked evidence by category of LoCoMo, in percent."""

from collections.abc import Mapping, Sequence

import msgspec

from .key import Entry
from .metrics import Interval, all_at_k, bootstrap_interval, mean, percentiles, recall_at_k
from .spaces import Answer

GROUPS: Mapping[str, tuple[int, ...]] = {
    "1-4": (1, 2, 3, 4),
    **{str(category): (category,) for category in range(1, 6)},
}
ADVERSARIAL = (
    "asks about one person what another did; the cited turns are the bait, so that finding them "
    "is no success; counted apart, never in 1-4"
)


class Scored(msgspec.Struct, frozen=True):
    """One question with its evidence and its ranking."""

    entry: Entry
    answer: Answer

    def recall(self, k: int) -> float:
        """Share of the evidence among the first `k`."""
        return recall_at_k(self.answer.ranked, self.entry.gold, k)


class Figures(msgspec.Struct, frozen=True, omit_defaults=True):
    """Means over the questions of a category, in percent; None where there are none.

    tokens_top10  tokens of the texts of the first ten, mean
    rule, bait    of adversarial questions: how to read them, and in how many all of the evidence
                  was said by others than those whom the question names
    """

    n: int
    recall_5: float | None = msgspec.field(name="recall@5")
    recall_10: float | None = msgspec.field(name="recall@10")
    recall_25: float | None = msgspec.field(name="recall@25")
    recall_50: float | None = msgspec.field(name="recall@50")
    all_10: float | None = msgspec.field(name="all@10")
    recall_10_ci95: Interval | None = msgspec.field(name="recall@10_ci95")
    tokens_top10: float | None
    rule: str | None = None
    bait: int | None = None


class Percentiles(msgspec.Struct, frozen=True):
    """Of single calls of `recall`, in milliseconds."""

    n: int
    p50: float
    p95: float
    p99: float


class Latency(msgspec.Struct, frozen=True):
    """Of one question: all but its embedding; and with it, for questions spread over the file."""

    without_embedding: Percentiles | None
    with_embedding: Percentiles | None


def score(entries: Sequence[Entry], answers: Sequence[Answer]) -> list[Scored]:
    """The questions that have evidence, each with its answer; both in the same order."""
    pairs = zip(entries, answers, strict=True)
    return [Scored(entry, answer) for entry, answer in pairs if entry.gold]


def summarise(questions: Sequence[Scored]) -> dict[str, Figures]:
    """The figures of each category, and of 1 to 4 together."""
    return {
        name: _figures([q for q in questions if q.entry.category in categories])
        for name, categories in GROUPS.items()
    }


def by_conversation(questions: Sequence[Scored], k: int) -> list[list[float]]:
    """Recall at `k` of the questions, by conversation."""
    groups: dict[str, list[float]] = {}
    for question in questions:
        groups.setdefault(question.entry.conversation, []).append(question.recall(k))
    return list(groups.values())


def percent(value: float | None) -> float | None:
    """A share as percent, rounded to two decimals."""
    return None if value is None else round(100 * value, 2)


def percent_interval(interval: Interval | None) -> Interval | None:
    """An interval of shares as percent, rounded to two decimals."""
    return None if interval is None else (round(100 * interval[0], 2), round(100 * interval[1], 2))


def _figures(questions: Sequence[Scored]) -> Figures:
    ranked = [(q.answer.ranked, q.entry.gold) for q in questions]
    means = {k: percent(mean([recall_at_k(*pair, k) for pair in ranked])) for k in (5, 10, 25, 50)}
    adversarial = bool(questions) and all(q.entry.category == 5 for q in questions)
    tokens = mean([q.answer.tokens_top10 for q in questions])
    return Figures(
        n=len(questions),
        recall_5=means[5],
        recall_10=means[10],
        recall_25=means[25],
        recall_50=means[50],
        all_10=percent(mean([all_at_k(*pair, 10) for pair in ranked])),
        recall_10_ci95=percent_interval(bootstrap_interval(by_conversation(questions, 10))),
        tokens_top10=None if tokens is None else round(tokens, 1),
        rule=ADVERSARIAL if adversarial else None,
        bait=sum(q.entry.bait for q in questions) if adversarial else None,
    )


def percentiles_of(values: Sequence[float]) -> Percentiles | None:
    """The percentiles of milliseconds; None of nothing."""
    found = percentiles(values, (50, 95, 99))
    return None if found is None else Percentiles(len(values), *(round(ms, 3) for ms in found))
