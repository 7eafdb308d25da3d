"""Words before a date that change it: "the week before", "early", "the last Friday of", "since".

One table: a pattern and the function that makes a new span of the span behind it and the pattern's
groups, or None where the two do not go together. Prefixes without a function concern the whole
phrase, and `dates` reads them.
"""

from __future__ import annotations

from collections.abc import Callable

from .calendar_spans import (
    DAY,
    MONTHS,
    SEASONS,
    WEEKDAYS,
    Precision,
    Span,
    add_months,
    away,
    days_in,
    month_in,
    nearest_weekday,
    season_in,
    span_of,
    unit_at,
)
from .date_rules import AMOUNT, BEGINNINGS, NAMED, NUMBER, UNIT, WEEKDAY, amount_of, finder

_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_PARTS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}


def _part(span: Span, part: str) -> Span | None:
    """A third of a span of a week or more: of the days, or of the months where there are three."""
    if span.precision == "day":
        return None
    days = (span.stop - span.first).days
    months = round(days / 30.4)
    first, stop = (
        add_months(span.first, months * i // 3) if months > 2 else span.first + days * i // 3 * DAY
        for i in (_PARTS[part.lower()], _PARTS[part.lower()] + 1)
    )
    again = span.latest
    latest = (lambda us: _part(again(us), part) or span) if again else None
    return span_of(first, stop, "range")._replace(latest=latest)


def _nth(span: Span, ordinal: str, unit: str) -> Span | None:
    """The nth or last day, week (seven days), weekend or weekday of a month, season or year."""
    if span.precision not in ("month", "season", "year"):
        return None
    unit, n = unit.lower(), _ORDINALS.get(ordinal.lower(), 0)
    step, length = (1 if unit == "day" else 7), {"week": 7, "weekend": 2}.get(unit, 1)
    name = "saturday" if unit == "weekend" else unit
    first, last = span.first, span.stop - (7 if unit == "week" else 1) * DAY
    if name in WEEKDAYS:
        first, last = nearest_weekday(first - DAY, name, 1), nearest_weekday(span.stop, name, -1)
    day = first + (n - 1) * step * DAY if n else last
    precision: Precision = "week" if length == 7 else "range" if length == 2 else "day"
    return span_of(day, day + length * DAY, precision) if day <= last else None


def _within(span: Span, day: str | None, name: str) -> Span | None:
    """Reads "the weekend of 3 June", "Friday of last week", "summer, May or 8 May of last year"."""
    name = name.lower()
    if name in ("week", "weekend") and span.precision in ("day", "week"):
        return unit_at(span.first, name)
    if name in WEEKDAYS and span.precision == "week":
        return unit_at(nearest_weekday(span.first - DAY, name, 1), "day")
    if name in SEASONS and span.precision == "year":
        return season_in(name, span.first.year)
    if name in MONTHS and span.precision == "year":
        year = span.first.year
        return days_in(name, day, None, year) if day else month_in(name, year)
    return span if name == span.precision else None


def _beside(span: Span, amount: str | None, unit: str, side: str) -> Span:
    """Reads "the week before", "two days after", "the Friday before" a date."""
    unit, sign = unit.lower(), -1 if side.lower().startswith(("before", "prior")) else 1
    day = span.first if sign < 0 else span.stop - DAY
    if unit in WEEKDAYS:
        return unit_at(nearest_weekday(day, unit, sign), "day")
    if amount:
        return away(day, amount_of(amount), unit, sign)
    if unit == "weekend" and sign > 0:  # the first Saturday after `day`, be it in the same week
        return unit_at(day + 2 * DAY, unit)
    return unit_at(day, unit, sign)


THE = r"(?:the\s+)?"
PREFIXES: dict[str, tuple[str, Callable[..., Span | None] | None]] = {
    "part": (
        rf"{THE}(early|mid|late|(?:beginning|start|middle|end)(?=\s+of))(?:\s+of\s+|[\s-]+){THE}",
        _part,
    ),
    "nth": (
        rf"{THE}({'|'.join(_ORDINALS)}|last)\s+(day|weekend|week|{WEEKDAY})\s+(?:of|in)\s+{THE}",
        _nth,
    ),
    "beside": (
        rf"{THE}(?:{AMOUNT}\s+)?({UNIT}|{WEEKDAY})s?\s+"
        rf"(before|after|prior\s+to|following)\s+{THE}",
        _beside,
    ),
    "within": (
        rf"{THE}(?:{NUMBER}\s+)?(day|weekend|week|month|{NAMED})\s+of\s+{THE}",
        _within,
    ),
    "bound": (rf"(since|before|after|until|till|by|prior\s+to)\s+{THE}", None),
    "join": (rf"(from|between)\s+{THE}", None),
    "support": (rf"(in|during|of)\s+{THE}", None),
}
_UNITS = [*UNIT.split("|"), *WEEKDAYS]
PREFIX_BEGINNINGS = BEGINNINGS.union(
    _PARTS,
    _ORDINALS,
    [f"{unit}s" for unit in _UNITS],
    "since before after until till by prior from between during of".split(),
)
"""First words of the prefixes, in lower case."""
find_prefixes = finder(PREFIXES, PREFIX_BEGINNINGS)
