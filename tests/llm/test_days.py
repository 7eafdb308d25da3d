"""Days, months and years as models write them."""

from datetime import date

import pytest

from cuegraph.llm.days import read_span


@pytest.mark.parametrize(
    ("start", "end", "first", "stop", "precision"),
    [
        ("2024-05-24", "2024-05-24", date(2024, 5, 24), date(2024, 5, 25), "day"),
        ("2024-02", "2024-02", date(2024, 2, 1), date(2024, 3, 1), "month"),
        ("2023-12", "2023-12", date(2023, 12, 1), date(2024, 1, 1), "month"),
        ("2024", "2024", date(2024, 1, 1), date(2025, 1, 1), "year"),
        ("2024-05-13", "2024-05-19", date(2024, 5, 13), date(2024, 5, 20), "range"),
        ("2024-2-9", "2024-03", date(2024, 2, 9), date(2024, 4, 1), "range"),
        ("2023-11", "", date(2023, 11, 1), None, "range"),
        ("", "2023", None, date(2024, 1, 1), "range"),
        ("0001", "0001", date(1, 1, 1), date(2, 1, 1), "year"),
    ],
)
def test_a_span_runs_from_the_first_day_to_after_the_last(
    start: str, end: str, first: date | None, stop: date | None, precision: str
) -> None:
    assert read_span(start, end) == (first, stop, precision)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("", ""),
        ("2024-05-24", "2024-05-23"),
        ("2024-06", "2024-05-31"),
        ("2023-02-29", "2023-02-29"),
        ("2024-13", "2024-13"),
        ("2024-00", "2024-00"),
        ("0000", "0000"),
        ("last week", "2024"),
        ("2024", "soon"),
        ("24-05-2024", ""),
        ("2024-05-2400", ""),
        ("٢٠٢٤", ""),
        ("2024\n", ""),
        ("9999-12-31", "9999-12-31"),
    ],
)
def test_what_is_no_time_is_none(start: str, end: str) -> None:
    assert read_span(start, end) is None
