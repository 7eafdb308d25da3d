"""Days, months and years as a model writes them: "2024-05-24", "2024-05", "2024"."""

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple

Precision = Literal["day", "month", "year", "range"]

_DAY: Final = timedelta(days=1)
_PRECISIONS: Final[tuple[Precision, ...]] = ("year", "month", "day")
_FORM: Final = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")


class Span(NamedTuple):
    """[first, stop) in whole days; None for a side that is open.

    precision  "day", "month" or "year" where it is one of those, else "range"
    """

    first: date | None
    stop: date | None
    precision: Precision


def read_span(start: str, end: str) -> Span | None:
    """The time from the first day of `start` to the last of `end`; "" leaves a side open.

    None where a side is no day, month or year, where the last day is before the first, and where
    both sides are open.

    >>> span = read_span("2024-02", "2024-02")
    >>> f"{span.first} {span.stop} {span.precision}"
    '2024-02-01 2024-03-01 month'
    """
    try:
        first = _read(start)[0] if start else None
        stop = _read(end)[1] if end else None
    except (ValueError, OverflowError):  # no such date, or no day after it
        return None
    if (first is None and stop is None) or (first and stop and stop <= first):
        return None
    return Span(first, stop, _precision(start) if start == end else "range")


def _read(said: str) -> tuple[date, date]:
    """[first, stop) of a day, month or year."""
    form = _FORM.fullmatch(said)
    if form is None:
        raise ValueError(said)
    year, month, day = form.groups()
    first = date(int(year), int(month or 1), int(day or 1))
    if month is None:
        return first, first.replace(month=12, day=31) + _DAY
    if day is None:
        return first, first.replace(day=monthrange(first.year, first.month)[1]) + _DAY
    return first, first + _DAY


def _precision(said: str) -> Precision:
    return _PRECISIONS[said.count("-")]
