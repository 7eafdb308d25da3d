"""Metrics and bootstrap intervals, against arithmetic on paper."""

import pytest

from cuegraph.bench.metrics import (
    all_at_k,
    bootstrap_interval,
    mean,
    paired_interval,
    percentiles,
    recall_at_k,
)


def test_recall_counts_distinct_gold_within_k() -> None:
    ranked = ["a", "b", "c", "d"]
    assert recall_at_k(ranked, ["b", "d", "z", "b"], 3) == pytest.approx(1 / 3)
    assert recall_at_k(ranked, ["b", "d"], 4) == 1
    assert recall_at_k([], ["b"], 5) == 0
    assert all_at_k(ranked, ["a", "c"], 3) == 1
    assert all_at_k(ranked, ["a", "c"], 2) == 0


@pytest.mark.parametrize("metric", [recall_at_k, all_at_k])
def test_no_gold_has_no_recall(metric: object) -> None:
    assert callable(metric)
    with pytest.raises(ValueError, match="expected at least one id"):
        metric(["a"], [], 5)


def test_two_conversations_resample_to_either_or_both() -> None:
    # Means are 0, 3/4 and 1, with 1/4, 1/2 and 1/4 of the resamples: 0 and 1 are the ends.
    assert bootstrap_interval([[1, 1, 1], [0]]) == (0, 1)


def test_forty_coins() -> None:
    # The mean of a resample is binomial(40, 1/2) / 40, whose quantiles are 14 / 40 and 26 / 40.
    found = bootstrap_interval([[float(i % 2)] for i in range(40)])
    assert found is not None
    assert found == pytest.approx((14 / 40, 26 / 40), abs=1.01 / 40)


def test_conversations_are_resampled_whole() -> None:
    alike = bootstrap_interval([[0, 1], [1, 0], [0, 1], [1, 0]])
    apart = bootstrap_interval([[0, 0], [1, 1], [0, 0], [1, 1]])
    assert alike == (0.5, 0.5)
    assert apart is not None
    assert apart[0] < 0.25
    assert apart[1] > 0.75


def test_the_same_values_give_the_same_interval() -> None:
    groups = [[0.1, 0.7], [0.4], [0.9, 0.2, 0.3]]
    assert bootstrap_interval(groups) == bootstrap_interval([*groups, []])


@pytest.mark.parametrize("groups", [[], [[]], [[0.3, 0.5], []]])
def test_fewer_than_two_conversations_have_no_interval(groups: list[list[float]]) -> None:
    assert bootstrap_interval(groups) is None


def test_a_constant_gain_has_a_paired_interval_of_no_width() -> None:
    base = [[0.0, 0.5], [0.25, 0.75, 0.0]]
    better = [[value + 0.25 for value in group] for group in base]
    assert paired_interval(better, base) == (0.25, 0.25)
    assert paired_interval(base, better) == (-0.25, -0.25)
    with pytest.raises(ValueError, match="zip"):
        paired_interval(base, [[0.0], [0.25, 0.75, 0.0]])


def test_mean_and_percentiles() -> None:
    assert mean([1, 2, 6]) == 3
    assert mean([]) is None
    assert percentiles([0, 10, 20, 30, 40], (50, 95)) == [20, 38]
    assert percentiles([], (50,)) is None
