"""Spans of the calendar in local time: units, weekdays, months, seasons and holidays.

ValueError and OverflowError mean "no such date": only the years 1 to 9999 have dates. Weeks run
from Monday to Sunday; seasons are those of the northern hemisphere in whole months, and the winter
of 2022 starts in December 2022.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Final, Literal, NamedTuple

Precision = Literal["day", "week", "month", "season", "year", "range"]

DAY: Final = timedelta(days=1)
DAY_US: Final = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()

MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_HOLIDAYS = {
    "christmas": (12, 25),
    "christmasday": (12, 25),
    "christmaseve": (12, 24),
    "newyears": (1, 1),
    "newyearsday": (1, 1),
    "newyearseve": (12, 31),
    "halloween": (10, 31),
    "valentinesday": (2, 14),
}


class Span(NamedTuple):
    """[start, end) in local microseconds; `latest` re-reads a repeating date at another moment."""

    start: int
    end: int
    precision: Precision
    latest: Callable[[int], Span] | None = None

    @property
    def first(self) -> date:
        """The day it starts on."""
        return date_at(self.start)

    @property
    def stop(self) -> date:
        """The day it ends before."""
        return date_at(self.end)


def date_at(local_us: int) -> date:
    """The day of a moment."""
    return date.fromordinal(local_us // DAY_US + _EPOCH)


def span_of(first: date, stop: date, precision: Precision) -> Span:
    """The days [first, stop)."""
    start, end = ((day.toordinal() - _EPOCH) * DAY_US for day in (first, stop))
    return Span(start, end, precision)


def add_months(day: date, n: int) -> date:
    """The same day n months later, or the last of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + n, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def move(day: date, unit: str, n: int) -> date:
    """The day n days, weeks, months or years later."""
    if unit in ("day", "week"):
        return day + n * timedelta(days=7 if unit == "week" else 1)
    return add_months(day, n * 12 if unit == "year" else n)


def unit_at(day: date, unit: str, n: int = 0) -> Span:
    """The calendar unit that holds `day`, moved by n units; a weekend is that of the week."""
    monday = day - day.weekday() * DAY
    match unit:
        case "day":
            return span_of(day + n * DAY, day + (n + 1) * DAY, "day")
        case "week":
            return span_of(monday + 7 * n * DAY, monday + 7 * (n + 1) * DAY, "week")
        case "weekend":
            saturday = monday + (7 * n + 5) * DAY
            return span_of(saturday, saturday + 2 * DAY, "range")
        case "month":
            first = add_months(day.replace(day=1), n)
            return span_of(first, add_months(first, 1), "month")
        case _:
            return span_of(date(day.year + n, 1, 1), date(day.year + n + 1, 1, 1), "year")


def away(day: date, amounts: tuple[int, ...], unit: str, sign: int) -> Span:
    """So many units before (sign -1) or after `day`; from the least to the most amount."""
    spans = [
        span_of(day + (7 * n - 3) * DAY, day + (7 * n + 4) * DAY, "week")
        if unit == "week"
        else unit_at(day, unit, n)
        for n in sorted(sign * n for n in amounts)
    ]
    return spans[0] if len(spans) == 1 else Span(spans[0].start, spans[-1].end, "range")


def nearest_weekday(day: date, name: str, sign: int) -> date:
    """The nearest such weekday strictly before (sign -1) or after `day`."""
    distance = sign * (WEEKDAYS.index(name) - day.weekday()) % 7
    return day + sign * (distance or 7) * DAY


def latest_weekday(name: str, us: int) -> Span:
    """The last such weekday before the day of `us`."""
    span = unit_at(nearest_weekday(date_at(us), name, -1), "day")
    return span._replace(latest=partial(latest_weekday, name))


def latest(in_year: Callable[[int], Span], us: int) -> Span:
    """The last occurrence that has begun by `us`; nine years reach over a missing 29 February."""
    year = date_at(us).year
    for candidate in range(year, max(year - 9, 0), -1):
        try:
            span = in_year(candidate)
        except ValueError:
            continue
        if span.start <= us:
            return span._replace(latest=partial(latest, in_year))
    raise ValueError("no such date")


def nearby(which: str, in_year: Callable[[int], Span], us: int) -> Span:
    """The "last" to have ended, "this" or "next" occurrence of what comes once a year."""
    year = date_at(us).year
    spans = [in_year(year + n) for n in (-2, -1, 0, 1)]
    if which == "next":
        return next(span for span in spans if span.start > us)
    if which == "this":
        return next((span for span in spans if span.start <= us < span.end), spans[2])
    return next(span for span in reversed(spans) if span.end <= us)


def month_in(name: str, year: int) -> Span:
    """A month, by three letters or more of its name."""
    number = [month[:3] for month in MONTHS].index(name[:3].lower()) + 1
    return unit_at(date(year, number, 1), "month")


def season_in(name: str, year: int) -> Span:
    """The season that starts in this year."""
    first = date(year, SEASONS[name.lower()], 1)
    return span_of(first, add_months(first, 3), "season")


def holiday_in(name: str, year: int) -> Span:
    """A holiday, by its name with or without spaces and apostrophes."""
    key = re.sub(r"[\s'’]", "", name.lower())
    if key == "thanksgiving":  # the fourth Thursday of November
        return unit_at(nearest_weekday(date(year, 10, 31), "thursday", 1) + 21 * DAY, "day")
    month, day = _HOLIDAYS[key]
    return unit_at(date(year, month, day), "day")


def days_in(month: str, first: str, last: str | None, year: int) -> Span:
    """A day of a month, or the days from `first` to `last`."""
    start = month_in(month, year).first
    days = [start.replace(day=int(day)) for day in (first, last or first)]
    return span_of(days[0], days[1] + DAY, "range" if last else "day")
