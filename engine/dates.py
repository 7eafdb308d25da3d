"""Time expressions in running text, read as windows of time.

Three steps, each one table: an atom is a date by itself ("8 May 2023", "last week", "Friday"), a
prefix changes the atom behind it ("the week before", "early", "since"), and "from ... to ..." joins
two. Chinese and Japanese are put into these English words first (`dates_zh`).

Conventions, where English leaves a choice:

- without a year, the most recent occurrence that has begun by the reference: memory looks back;
- a weekday by itself or with "last" lies strictly before the reference's day, with "next" strictly
  after it, with "this" in the reference's week; weeks run from Monday to Sunday;
- "5/8/2023" is month first, unless only day first is a date;
- seasons are those of the northern hemisphere in whole months; the winter of 2022 starts in
  December 2022; "last" season, month or holiday is the last that has ended;
- "two weeks ago" is that day and three days on either side, "two months ago" that calendar month,
  "two years ago" that calendar year; a couple is 2 to 3, a few 2 to 5, several 3 to 7;
- April, June, May, March and August without day or year need a word such as "in" before them, the
  last three a capital too: the others are names and words as often as months.

Libraries were tried (parsedatetime, dateparser): they give points, not windows, and take "sat",
"second" or "we" for dates, so only the standard calendar is used.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from functools import partial
from typing import Final, Literal, NamedTuple

import msgspec

from .dates_zh import english_phrases

Precision = Literal["day", "week", "month", "season", "year", "range"]

TIME_MIN: Final = -(2**63) + 1  # -2**63 itself means "no time" elsewhere
TIME_MAX: Final = 2**63 - 1

_MINUTE_US = 60_000_000
_DAY_US = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()
_DAY = timedelta(days=1)

_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
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
_NUMBERS = [
    "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_FUZZY = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_PARTS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_DAY_WORDS = {"yesterday": -1, "last night": -1, "tomorrow": 1}  # any other: the day itself


class Window(msgspec.Struct, frozen=True):
    """A time expression and the half-open window [start_us, end_us) it stands for.

    start_us, end_us  microseconds UTC; TIME_MIN or TIME_MAX where the expression has no such end
    precision         what was named: a "day", ... "year"; "range" for weekends, parts and spans
    text, start, end  the words as said, and where: text == whole[start:end]
    """

    start_us: int
    end_us: int
    precision: Precision
    text: str
    start: int
    end: int


class _Span(NamedTuple):
    """[start, end) in local microseconds; `latest` re-reads a repeating date at another moment."""

    start: int
    end: int
    precision: Precision
    latest: Callable[[int], _Span] | None = None

    @property
    def first(self) -> date:
        return _date(self.start)

    @property
    def stop(self) -> date:
        return _date(self.end)


class _Phrase(NamedTuple):
    """Words text[start:end] and their span; a weak one needs a supporting word before it."""

    start: int
    end: int
    span: _Span
    weak: bool = False


def find_windows(text: str, reference_us: int, utc_offset_min: int = 0) -> list[Window]:
    """The time expressions of `text` as windows, by position, never overlapping.

    reference_us    microseconds UTC, the moment of speaking; where it is no date of the years 1 to
                    9999 (an unknown time), only expressions that name their year are read
    utc_offset_min  the speaker's offset from UTC in minutes; days begin at the speaker's midnight

    Of two overlapping expressions the longer is kept. What is no date is no match; never raises.

    >>> [w.text for w in find_windows("We met last week, on 3 May 2023.", 1_684_000_000_000_000)]
    ['last week', '3 May 2023']
    """
    if not _HINT.search(text.lower()):
        return []
    offset_us = utc_offset_min * _MINUTE_US
    now_us = reference_us + offset_us
    phrases = _read(text, now_us)
    for start, end, words in english_phrases(text):
        phrases += [_Phrase(start, end, phrase.span) for phrase in _read(words, now_us)]
    return [
        _window(text, phrase, offset_us)
        for phrase in _without_overlaps(phrases)
        if phrase.span.start < phrase.span.end
    ]


def calendar_terms(time_us: int, utc_offset_min: int = 0) -> tuple[str, ...]:
    """Search terms of a moment: year, month, year-month, date, weekday; () outside years 1 to 9999.

    >>> calendar_terms(1_683_550_000_000_000)
    ('2023', 'may', '2023-05', '2023-05-08', 'monday')
    """
    try:
        day = _date(time_us + utc_offset_min * _MINUTE_US)
    except (ValueError, OverflowError):
        return ()
    iso = day.isoformat()
    return iso[:4], _MONTHS[day.month - 1], iso[:7], iso, _WEEKDAYS[day.weekday()]


def date_labels(window: Window, utc_offset_min: int = 0) -> tuple[str, ...]:
    """Names of a window, the most exact first: a day and its month, a month, or a year; else ().

    >>> date_labels(find_windows("We met on 3 May 2023.", 1_684_000_000_000_000)[0])
    ('2023-05-03', '2023-05')
    """
    said = calendar_terms(window.start_us, utc_offset_min)
    if not said:
        return ()
    year, _, month, day, _ = said
    return {"day": (day, month), "month": (month,), "year": (year,)}.get(window.precision, ())


# Calendar arithmetic. ValueError and OverflowError mean "no such date".


def _date(local_us: int) -> date:
    return date.fromordinal(local_us // _DAY_US + _EPOCH)


def _span(first: date, stop: date, precision: Precision) -> _Span:
    start, end = ((day.toordinal() - _EPOCH) * _DAY_US for day in (first, stop))
    return _Span(start, end, precision)


def _add_months(day: date, n: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + n, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _move(day: date, unit: str, n: int) -> date:
    if unit in ("day", "week"):
        return day + n * timedelta(days=7 if unit == "week" else 1)
    return _add_months(day, n * 12 if unit == "year" else n)


def _unit(day: date, unit: str, n: int) -> _Span:
    """The calendar unit that holds `day`, moved by n units."""
    monday = day - day.weekday() * _DAY
    match unit:
        case "day":
            return _span(day + n * _DAY, day + (n + 1) * _DAY, "day")
        case "week":
            return _span(monday + 7 * n * _DAY, monday + 7 * (n + 1) * _DAY, "week")
        case "weekend":
            saturday = monday + (7 * n + 5) * _DAY
            return _span(saturday, saturday + 2 * _DAY, "range")
        case "month":
            first = _add_months(day.replace(day=1), n)
            return _span(first, _add_months(first, 1), "month")
        case _:
            return _span(date(day.year + n, 1, 1), date(day.year + n + 1, 1, 1), "year")


def _away(day: date, amount: str, unit: str, sign: int) -> _Span:
    """`amount` units before (sign -1) or after `day`; a range where the amount is vague."""
    spans = [
        _span(day + (7 * n - 3) * _DAY, day + (7 * n + 4) * _DAY, "week")
        if unit == "week"
        else _unit(day, unit, n)
        for n in sorted(sign * n for n in _amount(amount))
    ]
    return spans[0] if len(spans) == 1 else _Span(spans[0].start, spans[-1].end, "range")


def _amount(words: str) -> tuple[int, ...]:
    """One number, or the least and the most that vague words stand for."""
    words = words.lower()
    if words.isdigit():
        return (int(words),)
    vague = next((bounds for key, bounds in _FUZZY.items() if key in words), None)
    return vague or (_NUMBERS.index(words) + 1 if words in _NUMBERS else 1,)


def _weekday(day: date, name: str, sign: int) -> date:
    """The nearest such weekday strictly before (sign -1) or after `day`."""
    distance = sign * (_WEEKDAYS.index(name.lower()) - day.weekday()) % 7
    return day + sign * (distance or 7) * _DAY


def _latest_weekday(name: str, us: int) -> _Span:
    span = _unit(_weekday(_date(us), name, -1), "day", 0)
    return span._replace(latest=partial(_latest_weekday, name))


def _latest(in_year: Callable[[int], _Span], us: int) -> _Span:
    """The last occurrence that has begun by `us`; eight years reach over a missing 29 February."""
    year = _date(us).year
    for candidate in range(year, max(year - 9, 0), -1):
        try:
            span = in_year(candidate)
        except ValueError:
            continue
        if span.start <= us:
            return span._replace(latest=partial(_latest, in_year))
    raise ValueError("no such date")


def _which(us: int, which: str, in_year: Callable[[int], _Span]) -> _Span | None:
    """The "last", "this" or "next" occurrence of something that comes once a year."""
    year = _date(us).year
    spans = [in_year(year + n) for n in (-2, -1, 0, 1)]
    if which == "next":
        return next(span for span in spans if span.start > us)
    if which == "this":
        return next((span for span in spans if span.start <= us < span.end), spans[2])
    return next(span for span in reversed(spans) if span.end <= us)


def _month_of(name: str, year: int) -> _Span:
    number = [month[:3] for month in _MONTHS].index(name[:3].lower()) + 1
    return _unit(date(year, number, 1), "month", 0)


def _season_of(name: str, year: int) -> _Span:
    first = date(year, _SEASONS[name.lower()], 1)
    return _span(first, _add_months(first, 3), "season")


def _holiday_of(name: str, year: int) -> _Span:
    key = re.sub(r"[\s'’]", "", name.lower())
    if key == "thanksgiving":  # the fourth Thursday of November
        return _unit(_weekday(date(year, 10, 31), "thursday", 1) + 21 * _DAY, "day", 0)
    month, day = _HOLIDAYS[key]
    return _unit(date(year, month, day), "day", 0)


def _days_of(month: str, first: str, last: str | None, year: int) -> _Span:
    start = _month_of(month, year).first
    days = [start.replace(day=int(day)) for day in (first, last or first)]
    return _span(days[0], days[1] + _DAY, "range" if last else "day")


# Atoms: what each rule makes of its groups.


def _dated(us: int, year: str | None, in_year: Callable[[int], _Span]) -> _Span:
    return in_year(int(year)) if year else _latest(in_year, us)


def _iso(us: int, year: str, month: str, day: str | None = None) -> _Span:
    first = date(int(year), int(month), int(day or 1))
    return _unit(first, "day" if day else "month", 0)


def _slashes(us: int, month: str, day: str, year: str) -> _Span:
    if int(month) > 12:
        month, day = day, month
    return _iso(us, year, month, day)


def _month_day(us: int, month: str, first: str, last: str | None, year: str | None) -> _Span:
    return _dated(us, year, partial(_days_of, month, first, last))


def _day_month(us: int, first: str, last: str | None, month: str, year: str | None) -> _Span:
    return _month_day(us, month, first, last, year)


def _month(us: int, name: str, year: str | None = None) -> _Span:
    return _dated(us, year, partial(_month_of, name))


def _holiday(us: int, which: str | None, name: str, year: str | None) -> _Span | None:
    in_year = partial(_holiday_of, name)
    return _which(us, which.lower(), in_year) if which else _dated(us, year, in_year)


def _named(us: int, which: str, name: str) -> _Span | None:
    """Reads "last", "this", "this past" or "next", and a unit, a weekday, a month or a season."""
    which, name = which.lower(), name.lower()
    sign = {"this": 0, "next": 1}.get(which, -1)
    today = _date(us)
    if name in _WEEKDAYS:
        in_week = today + (_WEEKDAYS.index(name) - today.weekday()) * _DAY
        return _unit(_weekday(today, name, sign) if sign else in_week, "day", 0)
    if name in _SEASONS:
        return _which(us, which, partial(_season_of, name))
    if name in _MONTHS:
        return _which(us, which, partial(_month_of, name))
    return _unit(today, name, sign)


def _day_word(us: int, words: str) -> _Span:
    return _unit(_date(us), "day", _DAY_WORDS.get(" ".join(words.lower().split()), 0))


def _ago(us: int, amount: str, unit: str, direction: str = "in") -> _Span:
    return _away(_date(us), amount, unit.lower(), -1 if direction.lower() == "ago" else 1)


def _around_now(us: int, which: str, amount: str, unit: str) -> _Span:
    """The last or next so many units, from or up to the reference itself."""
    n, unit = _amount(amount)[-1], unit.lower()
    if which.lower() in ("last", "past"):
        return _Span(_unit(_move(_date(us), unit, -n), "day", 0).start, us, "range")
    return _Span(us, _unit(_move(_date(us), unit, n), "day", 0).end, "range")


def _decade(us: int, year: str) -> _Span:
    return _span(date(int(year), 1, 1), date(int(year) + 10, 1, 1), "range")


def _year(us: int, year: str) -> _Span:
    return _unit(date(int(year), 1, 1), "year", 0)


# Prefixes: what each rule makes of the span behind it; None where the two do not go together.


def _part(span: _Span, part: str) -> _Span | None:
    """A third of a span of a week or more: of the days, or of the months where there are three."""
    if span.precision == "day":
        return None
    index = _PARTS[part.lower()]
    days = (span.stop - span.first).days
    months = round(days / 30.4)
    marks = [
        _add_months(span.first, months * i // 3)
        if months > 2
        else span.first + days * i // 3 * _DAY
        for i in (index, index + 1)
    ]
    again = span.latest
    latest = (lambda us: _part(again(us), part) or span) if again else None
    return _span(marks[0], marks[1], "range")._replace(latest=latest)


def _nth(span: _Span, ordinal: str, unit: str) -> _Span | None:
    """The nth or last day, week (seven days), weekend or weekday of a month, season or year."""
    if span.precision not in ("month", "season", "year"):
        return None
    unit, n = unit.lower(), _ORDINALS.get(ordinal.lower(), 0)
    step, length = (1 if unit == "day" else 7), {"week": 7, "weekend": 2}.get(unit, 1)
    name = "saturday" if unit == "weekend" else unit
    first, last = span.first, span.stop - (7 if unit == "week" else 1) * _DAY
    if name in _WEEKDAYS:
        first, last = _weekday(first - _DAY, name, 1), _weekday(span.stop, name, -1)
    day = first + (n - 1) * step * _DAY if n else last
    precision: Precision = "week" if length == 7 else "range" if length == 2 else "day"
    return _span(day, day + length * _DAY, precision) if day <= last else None


def _within(span: _Span, day: str | None, name: str) -> _Span | None:
    """Reads "the weekend of 3 June", "Friday of last week", "summer, May or 8 May of last year"."""
    name = name.lower()
    if name in ("week", "weekend") and span.precision in ("day", "week"):
        return _unit(span.first, name, 0)
    if name in _WEEKDAYS and span.precision == "week":
        return _unit(_weekday(span.first - _DAY, name, 1), "day", 0)
    if name in _SEASONS and span.precision == "year":
        return _season_of(name, span.first.year)
    if name in _MONTHS and span.precision == "year":
        year = span.first.year
        return _days_of(name, day, None, year) if day else _month_of(name, year)
    return span if name == span.precision else None


def _beside(span: _Span, amount: str | None, unit: str, side: str) -> _Span:
    """Reads "the week before", "two days after", "the Friday before" a date."""
    unit, sign = unit.lower(), -1 if side.lower().startswith(("before", "prior")) else 1
    day = span.first if sign < 0 else span.stop - _DAY
    if unit in _WEEKDAYS:
        return _unit(_weekday(day, unit, sign), "day", 0)
    if amount:
        return _away(day, amount, unit, sign)
    if unit == "weekend" and sign > 0:  # the first Saturday after `day`, be it in the same week
        return _unit(day + 2 * _DAY, unit, 0)
    return _unit(day, unit, sign)


def _bounded(span: _Span, word: str, us: int) -> _Span:
    match word:
        case "since":
            return _Span(span.start, us, "range")
        case "after":
            return _Span(span.end, TIME_MAX, "range")
        case "before" | "prior to":
            return _Span(TIME_MIN, span.start, "range")
        case _:
            return _Span(TIME_MIN, span.end, "range")


# The tables. Rules are tried in this order; the groups of a rule are the arguments of its function.

_CLEAR = "january|february|july|september|october|november|december"
_UNCLEAR = "april|june|(?-i:May|March|August)"
_SHORT = r"(?-i:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_MONTH = rf"({_CLEAR}|{_UNCLEAR}|{_SHORT})"
_WEEKDAY = "|".join(_WEEKDAYS)
_SEASON = "|".join(_SEASONS)
_YEAR = r"((?:19|20)\d\d|2100)"
_OF_YEAR = rf"(?:(?:\s*,\s*|\s+(?:of\s+)?){_YEAR}(?!\d))"
_NUMBER = r"(\d\d?)(?:st|nd|rd|th)?"
_TO_NUMBER = rf"(?:\s*(?:-|–|to)\s*{_NUMBER})?"
_UNIT = "day|weekend|week|month|year"
_VAGUE = r"(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several"
_AMOUNT = rf"({_VAGUE}|an?|{'|'.join(_NUMBERS)}|\d{{1,3}})"
_HOLIDAY = (
    r"(christmas(?:\s+(?:eve|day))?|new\s+year['’]?s(?:\s+(?:eve|day))?|halloween|"
    r"valentine['’]?s\s+day|thanksgiving)"
)

_ATOMS: dict[str, tuple[str, Callable[..., _Span | None]]] = {
    "iso": (rf"(?<![\d.]){_YEAR}[-/.](\d\d?)[-/.](\d\d?)(?!\d)", _iso),
    "iso_month": (rf"(?<![\d.]){_YEAR}-(\d\d)(?![\d-])", _iso),
    "slashes": (r"(?<![\d/])(\d\d?)/(\d\d?)/(\d{4})(?![\d/])", _slashes),
    "day_month": (
        rf"(?<![\d:.,/-])(?:(?:{_WEEKDAY}),?\s+(?:the\s+)?)?{_NUMBER}{_TO_NUMBER}"
        rf"\s+(?:of\s+)?{_MONTH}\b{_OF_YEAR}?",
        _day_month,
    ),
    "month_day": (
        rf"(?:(?:{_WEEKDAY}),?\s+)?{_MONTH}\s+(?:the\s+)?{_NUMBER}(?![\d:/%]){_TO_NUMBER}"
        rf"\b{_OF_YEAR}?",
        _month_day,
    ),
    "month_year": (rf"({_CLEAR}|{_UNCLEAR}|may|march|august|{_SHORT}){_OF_YEAR}", _month),
    "season": (rf"({_SEASON}){_OF_YEAR}", lambda us, name, y: _season_of(name, int(y))),
    "holiday": (rf"(?:(last|this|next)\s+)?{_HOLIDAY}\b{_OF_YEAR}?", _holiday),
    "day_word": (
        r"(today|tonight|yesterday|tomorrow|last\s+night|this\s+(?:morning|afternoon|evening))\b",
        _day_word,
    ),
    "around_now": (
        rf"(?:the\s+)?(last|past|next|coming)\s+{_AMOUNT}\s+(day|week|month|year)s?\b",
        _around_now,
    ),
    "past_unit": (
        r"the\s+(?:last|past)\s+(week|month|year)\b(?!\s+of\b)",
        lambda us, unit: _around_now(us, "past", "one", unit),
    ),
    "before_last": (
        rf"({_UNIT})\s+before\s+last\b(?!\s+(?:{_UNIT}|{_WEEKDAY}|{_CLEAR}|{_UNCLEAR}|{_SEASON}))",
        lambda us, unit: _unit(_date(us), unit.lower(), -2),
    ),
    "named": (
        r"(last|this\s+past|this|next)\s+"
        rf"(weekend|week|month|year|{_WEEKDAY}|{_CLEAR}|{_UNCLEAR}|{_SEASON})\b",
        _named,
    ),
    "ago": (rf"{_AMOUNT}\s+({_UNIT})s?\s+(ago|from\s+now)\b", _ago),
    "ahead": (
        rf"in\s+(?!an?\s+day){_AMOUNT}\s+({_UNIT})s?\b"
        r"(?!\s+(?:of|ago|before|after|later|earlier|prior)\b)",
        _ago,
    ),
    "decade": (r"((?:19|20)\d0)['’]?s\b", _decade),
    "other_day": (r"the\s+other\s+day\b", lambda us: _away(_date(us), "few", "day", -1)),
    "month": (rf"({_CLEAR})\b", _month),
    "weak_month": (rf"({_UNCLEAR})\b", _month),
    "weekday": (
        rf"(?<!every\s)(?<!each\s)({_WEEKDAY})\b",
        lambda us, name: _latest_weekday(name, us),
    ),
    "weak_year": (rf"(?<![\w$€£.,/:-]){_YEAR}(?![\w%]|[.,:/-]\d)", _year),
}

_THE = r"(?:the\s+)?"
_PREFIXES: dict[str, tuple[str, Callable[..., _Span | None] | None]] = {
    "part": (
        rf"{_THE}(early|mid|late|(?:beginning|start|middle|end)(?=\s+of))(?:\s+of\s+|[\s-]+){_THE}",
        _part,
    ),
    "nth": (
        rf"{_THE}({'|'.join(_ORDINALS)}|last)\s+(day|weekend|week|{_WEEKDAY})\s+(?:of|in)\s+{_THE}",
        _nth,
    ),
    "beside": (
        rf"{_THE}(?:{_AMOUNT}\s+)?({_UNIT}|{_WEEKDAY})s?\s+"
        rf"(before|after|prior\s+to|following)\s+{_THE}",
        _beside,
    ),
    "within": (
        rf"{_THE}(?:{_NUMBER}\s+)?"
        rf"(day|weekend|week|month|{_WEEKDAY}|{_CLEAR}|{_UNCLEAR}|{_SEASON})\s+of\s+{_THE}",
        _within,
    ),
    "bound": (rf"(since|before|after|until|till|by|prior\s+to)\s+{_THE}", None),
    "join": (rf"(from|between)\s+{_THE}", None),
    "support": (rf"(in|during|of)\s+{_THE}", None),
}
_JOINT = re.compile(rf",?\s*(?:and|to|until|till|through|-|–)\s*{_THE}", re.IGNORECASE)
_SUPPORTING = re.compile(r"(?:in|during|of|since|until|by)\b", re.IGNORECASE)


def _compiled(rules: Iterable[tuple[str, tuple[str, object]]]) -> re.Pattern[str]:
    """One pattern; a match's lastgroup is its rule, whose groups follow the rule's own."""
    pattern = "|".join(f"(?P<{name}>{rule})" for name, (rule, _) in rules)
    # Every rule starts at the edge of a word: tried nowhere else, they take half the time. ASCII,
    # so that a digit beside a Chinese character stands at such an edge.
    return re.compile(rf"\b(?:{pattern})", re.IGNORECASE | re.ASCII)


_ATOM = _compiled(_ATOMS.items())
_PREFIX = _compiled(_PREFIXES.items())
# Nothing is an atom without one of these (in lower case): the cheap way out for most sentences.
_HINT = re.compile(
    r"\d|day|week|month|year|night|morning|noon|evening|tomorrow|christmas|halloween|thanksgiving|"
    r"年|月|[今昨前明天周週期拜曜晚]|" + "|".join([*_MONTHS, *_SEASONS])
)


def _slices(rules: re.Pattern[str]) -> dict[str, slice]:
    """Where each rule's own groups lie in `Match.groups()`."""
    starts = rules.groupindex
    stops = [*list(starts.values())[1:], rules.groups + 1]
    return {
        name: slice(start, stop - 1)
        for (name, start), stop in zip(starts.items(), stops, strict=True)
    }


_GROUPS = _slices(_ATOM) | _slices(_PREFIX)


def _read(text: str, us: int) -> list[_Phrase]:
    """The English phrases of `text`, read at the local moment `us`."""
    phrases = [phrase for match in _ATOM.finditer(text) if (phrase := _atom(match, us))]
    if not phrases:
        return []
    prefixes = {match.end(): match for match in _PREFIX.finditer(text)}
    phrases = _without_overlaps([_modified(phrase, prefixes) for phrase in phrases])
    phrases = [_bound(phrase, prefixes, us) for phrase in _joined(text, phrases, prefixes)]
    return [phrase for phrase in phrases if not phrase.weak]


def _atom(match: re.Match[str], us: int) -> _Phrase | None:
    rule = match.lastgroup or ""
    try:
        span = _ATOMS[rule][1](us, *match.groups()[_GROUPS[rule]])
    except (ValueError, OverflowError):  # no such date
        return None
    return _Phrase(match.start(), match.end(), span, rule.startswith("weak")) if span else None


def _modified(phrase: _Phrase, prefixes: dict[int, re.Match[str]]) -> _Phrase:
    """The phrase with the prefixes before it, the nearest first."""
    while match := prefixes.get(phrase.start):
        rule = match.lastgroup or ""
        change, groups = _PREFIXES[rule][1], match.groups()[_GROUPS[rule]]
        try:
            span = change(phrase.span, *groups) if change else None
        except (ValueError, OverflowError):
            span = None
        if span is None:
            break
        phrase = _Phrase(match.start(), phrase.end, span)
    return phrase


def _joined(text: str, phrases: list[_Phrase], prefixes: dict[int, re.Match[str]]) -> list[_Phrase]:
    """The phrases, "from A to B" and "between A and B" as one."""
    out: list[_Phrase] = []
    for phrase in phrases:
        before = out[-1] if out else None
        prefix = prefixes.get(before.start) if before else None
        joint = _JOINT.fullmatch(text, before.end, phrase.start) if before else None
        span = None
        if before and prefix and prefix.lastgroup == "join" and joint:
            span = _from_to(before.span, phrase.span)
        if span and prefix:
            out[-1] = _Phrase(prefix.start(), phrase.end, span)
        else:
            out.append(phrase)
    return out


def _from_to(first: _Span, last: _Span) -> _Span | None:
    """From one to the other; where only one names its year, the other is the nearest that fits."""
    try:
        if first.latest:
            first = first.latest(last.start)
        elif last.latest:
            ahead = (last.latest(first.start + days * _DAY_US) for days in (7, 365))
            last = next((span for span in ahead if span.start >= first.start), last)
    except (ValueError, OverflowError):
        return None
    return _Span(first.start, last.end, "range") if first.start < last.end else None


def _bound(phrase: _Phrase, prefixes: dict[int, re.Match[str]], us: int) -> _Phrase:
    """The phrase with "since", "before", ... applied; a supporting word makes a weak one strong."""
    match = prefixes.get(phrase.start)
    if not match or (phrase.weak and not _SUPPORTING.match(match[0])):
        return phrase
    phrase = phrase._replace(weak=False) if match.lastgroup != "join" else phrase
    if match.lastgroup != "bound":
        return phrase
    word = " ".join(match.groups()[_GROUPS["bound"]][0].lower().split())
    span = _bounded(phrase.span, word, us)
    return _Phrase(match.start(), phrase.end, span) if span.start < span.end else phrase


def _without_overlaps(phrases: list[_Phrase]) -> list[_Phrase]:
    """By position, the longer of two that overlap."""
    out: list[_Phrase] = []
    for phrase in sorted(phrases, key=lambda phrase: (phrase.start, -phrase.end)):
        if not out or phrase.start >= out[-1].end:
            out.append(phrase)
        elif phrase.end - phrase.start > out[-1].end - out[-1].start:
            out[-1] = phrase
    return out


def _window(text: str, phrase: _Phrase, offset_us: int) -> Window:
    start, end = (
        us if us in (TIME_MIN, TIME_MAX) else us - offset_us
        for us in (phrase.span.start, phrase.span.end)
    )
    words = text[phrase.start : phrase.end]
    return Window(start, end, phrase.span.precision, words, phrase.start, phrase.end)
