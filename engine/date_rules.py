"""Words that are a date by themselves: "8 May 2023", "last week", "Friday", "two days ago".

One table: a pattern and the function that makes a span of the local moment and the pattern's
groups, or None. The words and patterns that other rules share stand here too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from typing import NamedTuple

from .calendar_spans import (
    DAY,
    MONTHS,
    SEASONS,
    WEEKDAYS,
    Span,
    away,
    date_at,
    days_in,
    holiday_in,
    latest,
    latest_weekday,
    month_in,
    move,
    nearby,
    nearest_weekday,
    season_in,
    span_of,
    unit_at,
)

_NUMBERS = [
    "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_FUZZY = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
_WORD = re.compile(r"\w+", re.ASCII)  # ASCII, so that a digit beside a Chinese character begins one
_DAY_WORDS = {"yesterday": -1, "last night": -1, "tomorrow": 1}  # any other: the day itself


class Found(NamedTuple):
    """Where a rule matched, and what its groups hold."""

    start: int
    end: int
    rule: str
    groups: tuple[str | None, ...]


def finder(
    rules: Mapping[str, tuple[str, object]], beginnings: Iterable[str]
) -> Callable[[str], Iterator[Found]]:
    """A function that finds the rules in a text, by position; the first in the table goes first.

    beginnings  the words, in lower case, that a rule may begin with; numbers may always
    """
    pattern = "|".join(f"(?P<{name}>{rule})" for name, (rule, _) in rules.items())
    compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
    own = {  # where the rule's groups lie in `Match.groups()`: behind the one that names it
        name: slice(first := compiled.groupindex[name], first + re.compile(rule).groups)
        for name, (rule, _) in rules.items()
    }
    words = frozenset(beginnings)

    def find(text: str) -> Iterator[Found]:
        end = 0
        # The rules are tried at the few words that may begin one: anywhere they take five times
        # as long.
        for word in _WORD.finditer(text):
            start, said = word.start(), word.group().lower()
            if start < end or not (said in words or said[0].isdigit()):
                continue
            if match := compiled.match(text, start):
                end, rule = match.end(), match.lastgroup or ""
                yield Found(start, end, rule, match.groups()[own[rule]])

    return find


def words_of(words: str) -> str:
    """In lower case, one space between."""
    return " ".join(words.lower().split())


def amount_of(words: str) -> tuple[int, ...]:
    """One number, or the least and the most that vague words stand for."""
    words = words.lower()
    if words.isdigit():
        return (int(words),)
    vague = next((bounds for key, bounds in _FUZZY.items() if key in words), None)
    return vague or (_NUMBERS.index(words) + 1 if words in _NUMBERS else 1,)


def _dated(us: int, year: str | None, in_year: Callable[[int], Span]) -> Span:
    return in_year(int(year)) if year else latest(in_year, us)


def _iso(us: int, year: str, month: str, day: str | None = None) -> Span:
    first = date(int(year), int(month), int(day or 1))
    return unit_at(first, "day" if day else "month")


def _slashes(us: int, month: str, day: str, year: str) -> Span:
    if int(month) > 12:
        month, day = day, month
    return _iso(us, year, month, day)


def _month_day(us: int, month: str, first: str, last: str | None, year: str | None) -> Span:
    return _dated(us, year, partial(days_in, month, first, last))


def _day_month(us: int, first: str, last: str | None, month: str, year: str | None) -> Span:
    return _month_day(us, month, first, last, year)


def _month(us: int, name: str, year: str | None = None) -> Span:
    return _dated(us, year, partial(month_in, name))


def _holiday(us: int, which: str | None, name: str, year: str | None) -> Span:
    in_year = partial(holiday_in, name)
    return nearby(which.lower(), in_year, us) if which else _dated(us, year, in_year)


def _named(us: int, which: str, name: str) -> Span:
    """Reads "last", "this", "this past" or "next", and a unit, a weekday, a month or a season."""
    which, name = which.lower(), name.lower()
    sign = {"this": 0, "next": 1}.get(which, -1)
    today = date_at(us)
    if name in WEEKDAYS:
        in_week = today + (WEEKDAYS.index(name) - today.weekday()) * DAY
        return unit_at(nearest_weekday(today, name, sign) if sign else in_week, "day")
    if name in SEASONS:
        return nearby(which, partial(season_in, name), us)
    if name in MONTHS:
        return nearby(which, partial(month_in, name), us)
    return unit_at(today, name, sign)


def _day_word(us: int, words: str) -> Span:
    return unit_at(date_at(us), "day", _DAY_WORDS.get(words_of(words), 0))


def _ago(us: int, amount: str, unit: str, direction: str = "in") -> Span:
    sign = -1 if direction.lower() == "ago" else 1
    return away(date_at(us), amount_of(amount), unit.lower(), sign)


def _around_now(us: int, which: str, amount: str, unit: str) -> Span:
    """The last or next so many units, from or up to the reference itself."""
    n, unit = amount_of(amount)[-1], unit.lower()
    if which.lower() in ("last", "past"):
        return Span(unit_at(move(date_at(us), unit, -n), "day").start, us, "range")
    return Span(us, unit_at(move(date_at(us), unit, n), "day").end, "range")


def _decade(us: int, year: str) -> Span:
    return span_of(date(int(year), 1, 1), date(int(year) + 10, 1, 1), "range")


_CLEAR = "january|february|july|september|october|november|december"
_UNCLEAR = "april|june|(?-i:May|March|August)"
_SHORT = r"(?-i:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_MONTH = rf"({_CLEAR}|{_UNCLEAR}|{_SHORT})"
WEEKDAY = "|".join(WEEKDAYS)
NAMED = rf"{WEEKDAY}|{_CLEAR}|{_UNCLEAR}|{'|'.join(SEASONS)}"
_YEAR = r"((?:19|20)\d\d|2100)"
_OF_YEAR = rf"(?:(?:\s*,\s*|\s+(?:of\s+)?){_YEAR}(?!\d))"
NUMBER = r"(\d\d?)(?:st|nd|rd|th)?"
_TO_NUMBER = rf"(?:\s*(?:-|–|to)\s*{NUMBER})?"
UNIT = "day|weekend|week|month|year"
_VAGUE = r"(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several"
AMOUNT = rf"({_VAGUE}|an?|{'|'.join(_NUMBERS)}|\d{{1,3}})"
_HOLIDAY = (
    r"(christmas(?:\s+(?:eve|day))?|new\s+year['’]?s(?:\s+(?:eve|day))?|halloween|"
    r"valentine['’]?s\s+day|thanksgiving)"
)

RULES: dict[str, tuple[str, Callable[..., Span]]] = {
    "iso": (rf"(?<![\d.]){_YEAR}[-/.](\d\d?)[-/.](\d\d?)(?!\d)", _iso),
    "iso_month": (rf"(?<![\d.]){_YEAR}-(\d\d)(?![\d-])", _iso),
    "slashes": (r"(?<![\d/])(\d\d?)/(\d\d?)/(\d{4})(?![\d/])", _slashes),
    "day_month": (
        rf"(?<![\d:.,/-])(?:(?:{WEEKDAY}),?\s+(?:the\s+)?)?{NUMBER}{_TO_NUMBER}"
        rf"\s+(?:of\s+)?{_MONTH}\b{_OF_YEAR}?",
        _day_month,
    ),
    "month_day": (
        rf"(?:(?:{WEEKDAY}),?\s+)?{_MONTH}\s+(?:the\s+)?{NUMBER}(?![\d:/%]){_TO_NUMBER}"
        rf"\b{_OF_YEAR}?",
        _month_day,
    ),
    "month_year": (rf"({_CLEAR}|{_UNCLEAR}|may|march|august|{_SHORT}){_OF_YEAR}", _month),
    "season": (
        rf"({'|'.join(SEASONS)}){_OF_YEAR}",
        lambda us, name, year: season_in(name, int(year)),
    ),
    "holiday": (rf"(?:(last|this|next)\s+)?{_HOLIDAY}\b{_OF_YEAR}?", _holiday),
    "day_word": (
        r"(today|tonight|yesterday|tomorrow|last\s+night|this\s+(?:morning|afternoon|evening))\b",
        _day_word,
    ),
    "around_now": (
        rf"(?:the\s+)?(last|past|next|coming)\s+{AMOUNT}\s+(day|week|month|year)s?\b",
        _around_now,
    ),
    "past_unit": (
        r"the\s+(?:last|past)\s+(week|month|year)\b(?!\s+of\b)",
        lambda us, unit: _around_now(us, "past", "one", unit),
    ),
    "before_last": (
        rf"({UNIT})\s+before\s+last\b(?!\s+(?:{UNIT}|{NAMED}))",
        lambda us, unit: unit_at(date_at(us), unit.lower(), -2),
    ),
    "named": (rf"(last|this\s+past|this|next)\s+(weekend|week|month|year|{NAMED})\b", _named),
    "ago": (rf"{AMOUNT}\s+({UNIT})s?\s+(ago|from\s+now)\b", _ago),
    "ahead": (
        rf"in\s+(?!an?\s+day){AMOUNT}\s+({UNIT})s?\b"
        r"(?!\s+(?:of|ago|before|after|later|earlier|prior)\b)",
        _ago,
    ),
    "decade": (r"((?:19|20)\d0)['’]?s\b", _decade),
    "other_day": (r"the\s+other\s+day\b", lambda us: _ago(us, "few", "day", "ago")),
    "month": (rf"({_CLEAR})\b", _month),
    "weak_month": (rf"({_UNCLEAR})\b", _month),
    "weekday": (
        rf"(?<!every\s)(?<!each\s)({WEEKDAY})\b",
        lambda us, name: latest_weekday(name.lower(), us),
    ),
    "weak_year": (
        rf"(?<![\w$€£.,/:-]){_YEAR}(?![\w%]|[.,:/-]\d)",
        lambda us, year: unit_at(date(int(year), 1, 1), "year"),
    ),
}
BEGINNINGS = frozenset(
    """
    christmas new halloween valentine valentines thanksgiving today tonight yesterday tomorrow
    last this next past coming the in a an couple few several
    jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()
).union(UNIT.split("|"), WEEKDAYS, MONTHS, SEASONS, _NUMBERS)
"""First words of the rules, in lower case."""
find_rules = finder(RULES, BEGINNINGS)
