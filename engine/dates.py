"""Time expressions in running text, read as windows of time.

Three steps: a rule reads what is a date by itself ("8 May 2023", "last week", "Friday";
`date_rules`), a prefix changes the date behind it ("the week before", "early", "since";
`date_prefixes`), and "from ... to ..." joins two. Chinese and Japanese are put into these English
words first (`dates_zh`).

Conventions, where English leaves a choice:

- without a year, the most recent occurrence that has begun by the reference: memory looks back;
- a weekday by itself or with "last" lies strictly before the reference's day, with "next" strictly
  after it, with "this" in the reference's week;
- "5/8/2023" is month first, unless only day first is a date;
- "last" season, month or holiday is the last that has ended;
- "two weeks ago" is that day and three days on either side, "two months ago" that calendar month,
  "two years ago" that calendar year; a couple is 2 to 3, a few 2 to 5, several 3 to 7;
- April, June, May, March and August without day or year need a word such as "in" before them, the
  last three a capital too: the others are names and words as often as months.

Libraries were tried (parsedatetime, dateparser): they give points, not windows, and take "sat",
"second" or "we" for dates, so only the standard calendar is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from .calendar_spans import DAY_US, MONTHS, SEASONS, WEEKDAYS, Precision, Span, date_at
from .date_prefixes import PREFIXES, THE, find_prefixes
from .date_rules import RULES, Found, find_rules, words_of
from .dates_zh import english_phrases

TIME_MIN: Final = -(2**63) + 1  # -2**63 itself means "no time" elsewhere
TIME_MAX: Final = 2**63 - 1

_MINUTE_US = 60_000_000
_SUPPORTING = ("in", "during", "of", "since", "until", "by")
_JOINT = re.compile(rf",?\s*(?:and|to|until|till|through|-|–)\s*{THE}", re.IGNORECASE)
# Nothing is a date without one of these (in lower case): the cheap way out for most sentences.
_HINT = re.compile(
    r"\d|day|week|month|year|night|morning|noon|evening|tomorrow|christmas|halloween|thanksgiving|"
    r"年|月|[今昨前明天周週期拜曜晚]|" + "|".join([*MONTHS, *SEASONS])
)


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


class _Phrase(NamedTuple):
    """Words text[start:end] and their span; a weak one needs a supporting word before it."""

    start: int
    end: int
    span: Span
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
        day = date_at(time_us + utc_offset_min * _MINUTE_US)
    except (ValueError, OverflowError):
        return ()
    iso = day.isoformat()
    return iso[:4], MONTHS[day.month - 1], iso[:7], iso, WEEKDAYS[day.weekday()]


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


def _read(text: str, us: int) -> list[_Phrase]:
    """The English phrases of `text`, read at the local moment `us`."""
    phrases = [phrase for found in find_rules(text) if (phrase := _phrase(found, us))]
    if not phrases:
        return []
    prefixes = {found.end: found for found in find_prefixes(text)}
    phrases = _without_overlaps([_modified(phrase, prefixes) for phrase in phrases])
    phrases = [_bound(phrase, prefixes, us) for phrase in _joined(text, phrases, prefixes)]
    return [phrase for phrase in phrases if not phrase.weak]


def _phrase(found: Found, us: int) -> _Phrase | None:
    span = _tried(RULES[found.rule][1], us, *found.groups)
    return _Phrase(found.start, found.end, span, found.rule.startswith("weak")) if span else None


def _tried(read: Callable[..., Span | None], *arguments: object) -> Span | None:
    """What `read` makes of the arguments, or None where there is no such date."""
    try:
        return read(*arguments)
    except (ValueError, OverflowError):
        return None


def _modified(phrase: _Phrase, prefixes: dict[int, Found]) -> _Phrase:
    """The phrase with the prefixes before it, the nearest first."""
    while found := prefixes.get(phrase.start):
        change = PREFIXES[found.rule][1]
        span = _tried(change, phrase.span, *found.groups) if change else None
        if span is None:
            break
        phrase = _Phrase(found.start, phrase.end, span)
    return phrase


def _joined(text: str, phrases: list[_Phrase], prefixes: dict[int, Found]) -> list[_Phrase]:
    """The phrases, "from A to B" and "between A and B" as one."""
    out: list[_Phrase] = []
    for phrase in phrases:
        whole = _from_to(text, out[-1], phrase, prefixes) if out else None
        if whole:
            out[-1] = whole
        else:
            out.append(phrase)
    return out


def _from_to(
    text: str, before: _Phrase, phrase: _Phrase, prefixes: dict[int, Found]
) -> _Phrase | None:
    prefix = prefixes.get(before.start)
    if not prefix or prefix.rule != "join" or not _JOINT.fullmatch(text, before.end, phrase.start):
        return None
    span = _tried(_range, before.span, phrase.span)
    return _Phrase(prefix.start, phrase.end, span) if span else None


def _range(first: Span, last: Span) -> Span | None:
    """From one to the other; where only one names its year, the other is the nearest that fits."""
    if first.latest:
        first = first.latest(last.start)
    elif last.latest:
        ahead = (last.latest(first.start + days * DAY_US) for days in (7, 365))
        last = next((span for span in ahead if span.start >= first.start), last)
    return Span(first.start, last.end, "range") if first.start < last.end else None


def _bound(phrase: _Phrase, prefixes: dict[int, Found], us: int) -> _Phrase:
    """The phrase with "since", "before", ... applied; a supporting word makes a weak one strong."""
    prefix = prefixes.get(phrase.start)
    word = words_of(prefix.groups[0] or "") if prefix else ""
    if not prefix or (phrase.weak and word not in _SUPPORTING):
        return phrase
    phrase = phrase._replace(weak=False)
    if prefix.rule != "bound":
        return phrase
    span = _bounded(phrase.span, word, us)
    return _Phrase(prefix.start, phrase.end, span) if span.start < span.end else phrase


def _bounded(span: Span, word: str, us: int) -> Span:
    match word:
        case "since":
            return Span(span.start, us, "range")
        case "after":
            return Span(span.end, TIME_MAX, "range")
        case "before" | "prior to":
            return Span(TIME_MIN, span.start, "range")
        case _:
            return Span(TIME_MIN, span.end, "range")


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
