"""Figures by category, against arithmetic on paper."""

from collections.abc import Callable

import msgspec
import pytest

from cuegraph.bench.figures import Scored, percentiles_of, score, summarise
from cuegraph.bench.key import Entry
from cuegraph.bench.spaces import Answer

Make = Callable[..., Scored]


def test_figures_by_category(scored: Make) -> None:
    figures = summarise(
        [
            scored("a", 1, 3, 8, 12, 40),  # 1/4, 1/2, 3/4, 1 at 5, 10, 25, 50
            scored("a", 4, 1),  # 100 throughout
            scored("b", 4, 30),  # 0 but for 100 at 50
            scored("b", 5, 2),
        ]
    )
    every = figures["1-4"]
    assert every.n == 3
    assert (every.recall_5, every.recall_10) == (41.67, 50.0)
    assert (every.recall_25, every.recall_50) == (58.33, 100.0)
    assert every.all_10 == 33.33
    assert every.tokens_top10 == 300.0
    # Resampled conversations: a twice 3/4, both 1/2, b twice 0.
    assert every.recall_10_ci95 == (0.0, 75.0)
    assert (figures["4"].n, figures["4"].recall_10) == (2, 50.0)
    assert (figures["5"].n, figures["5"].recall_10, figures["5"].recall_10_ci95) == (1, 100.0, None)
    assert (figures["2"].n, figures["2"].recall_10) == (0, None)


def test_adversarial_questions_say_how_to_read_them(scored: Make) -> None:
    figures = summarise([scored("a", 5, 1, bait=True), scored("a", 5, 1), scored("a", 4, 1)])
    assert figures["5"].bait == 1
    assert "finding them is no success" in (figures["5"].rule or "")
    assert figures["4"].rule is None


def test_names_in_json(scored: Make) -> None:
    figures = summarise([scored("a", 1, 1)])
    names = ["recall@5", "recall@10", "recall@25", "recall@50", "all@10", "recall@10_ci95"]
    assert list(msgspec.to_builtins(figures["1"])) == ["n", *names, "tokens_top10"]
    assert list(figures) == ["1-4", "1", "2", "3", "4", "5"]


def test_questions_without_evidence_are_not_scored() -> None:
    entries = [Entry("a", 0, 1, (), (), False), Entry("a", 1, 1, ("t1",), (), False)]
    answers = [Answer((), 0, {}), Answer(("t1",), 0, {})]
    assert [(q.entry.question, q.recall(5)) for q in score(entries, answers)] == [(1, 1.0)]
    with pytest.raises(ValueError, match="zip"):
        score(entries, answers[:1])


def test_percentiles_of_a_hundred_and_one() -> None:
    found = percentiles_of([float(value) for value in range(101)])
    assert found is not None
    assert (found.n, found.p50, found.p95, found.p99) == (101, 50.0, 95.0, 99.0)
