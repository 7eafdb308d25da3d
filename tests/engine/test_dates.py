"""Windows read from text, against dates worked out by hand from a printed calendar.

The usual reference is Wednesday 16 August 2023, 13:00 UTC:

    July 2023                 August 2023               May 2023
    Mo Tu We Th Fr Sa Su      Mo Tu We Th Fr Sa Su      Mo Tu We Th Fr Sa Su
                    1  2          1  2  3  4  5  6       1  2  3  4  5  6  7
     3  4  5  6  7  8  9       7  8  9 10 11 12 13       8  9 10 11 12 13 14
    10 11 12 13 14 15 16      14 15 16 17 18 19 20      15 16 17 18 19 20 21
    17 18 19 20 21 22 23      21 22 23 24 25 26 27      22 23 24 25 26 27 28
    24 25 26 27 28 29 30      28 29 30 31               29 30 31
    31
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.engine.date_prefixes import PREFIXES, find_prefixes
from cuegraph.engine.date_rules import RULES, Found, find_rules
from cuegraph.engine.dates import TIME_MAX, TIME_MIN, calendar_terms, find_windows

NOW = "2023-08-16T13:00"
TIME_NONE = -(2**63)


def us(iso: str) -> int:
    """Microseconds of an ISO time in UTC; "min", "max" are the open ends."""
    if iso in ("min", "max"):
        return TIME_MIN if iso == "min" else TIME_MAX
    since = datetime.fromisoformat(iso).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1)


# (text, reference, start, end, precision): each text holds exactly one expression.
ABSOLUTE = [
    ("We met on 8 May 2023.", NOW, "2023-05-08", "2023-05-09", "day"),
    ("It was May 8, 2023, in the morning", "2023-05-09", "2023-05-08", "2023-05-09", "day"),
    ("Monday, May 8, 2023", NOW, "2023-05-08", "2023-05-09", "day"),
    ("4:07 pm on 8 May, 2023", NOW, "2023-05-08", "2023-05-09", "day"),
    ("on May 8th", NOW, "2023-05-08", "2023-05-09", "day"),
    ("the 8th of May", NOW, "2023-05-08", "2023-05-09", "day"),
    ("on the 8th of September", NOW, "2022-09-08", "2022-09-09", "day"),
    ("2023-05-08T10:00 log", NOW, "2023-05-08", "2023-05-09", "day"),
    ("2023/05/08", NOW, "2023-05-08", "2023-05-09", "day"),
    ("5/8/2023", NOW, "2023-05-08", "2023-05-09", "day"),
    ("25/12/2022", NOW, "2022-12-25", "2022-12-26", "day"),
    ("5 Jan 2023", NOW, "2023-01-05", "2023-01-06", "day"),
    ("16 August", NOW, "2023-08-16", "2023-08-17", "day"),
    ("17 August", NOW, "2022-08-17", "2022-08-18", "day"),
    ("8-10 May 2023", NOW, "2023-05-08", "2023-05-11", "range"),
    ("May 2023", NOW, "2023-05-01", "2023-06-01", "month"),
    ("what happened in may 2023?", NOW, "2023-05-01", "2023-06-01", "month"),
    ("2023-05", NOW, "2023-05-01", "2023-06-01", "month"),
    ("Dec. 2022", NOW, "2022-12-01", "2023-01-01", "month"),
    ("in May", NOW, "2023-05-01", "2023-06-01", "month"),
    ("in August", NOW, "2023-08-01", "2023-09-01", "month"),
    ("their december trip", NOW, "2022-12-01", "2023-01-01", "month"),
    ("in 2022", NOW, "2022-01-01", "2023-01-01", "year"),
    ("the summer of 2023", NOW, "2023-06-01", "2023-09-01", "season"),
    ("winter 2022", NOW, "2022-12-01", "2023-03-01", "season"),
    ("last summer", NOW, "2022-06-01", "2022-09-01", "season"),
    ("last summer", "2023-10-01", "2023-06-01", "2023-09-01", "season"),
    ("this winter", "2023-01-20", "2022-12-01", "2023-03-01", "season"),
    ("next spring", NOW, "2024-03-01", "2024-06-01", "season"),
    ("Christmas 2022", NOW, "2022-12-25", "2022-12-26", "day"),
    ("Christmas", NOW, "2022-12-25", "2022-12-26", "day"),
    ("New Year’s Eve", NOW, "2022-12-31", "2023-01-01", "day"),
    ("Halloween 2021", NOW, "2021-10-31", "2021-11-01", "day"),
    ("Valentine's Day", NOW, "2023-02-14", "2023-02-15", "day"),
    ("Thanksgiving 2022", NOW, "2022-11-24", "2022-11-25", "day"),
    ("Thanksgiving 2023", NOW, "2023-11-23", "2023-11-24", "day"),
    ("the 1990s", NOW, "1990-01-01", "2000-01-01", "range"),
    ("29 February 2024", NOW, "2024-02-29", "2024-03-01", "day"),
    ("29 February", NOW, "2020-02-29", "2020-03-01", "day"),
    ("February 2024", NOW, "2024-02-01", "2024-03-01", "month"),
]
RELATIVE = [
    ("today", NOW, "2023-08-16", "2023-08-17", "day"),
    ("tonight", NOW, "2023-08-16", "2023-08-17", "day"),
    ("yesterday", NOW, "2023-08-15", "2023-08-16", "day"),
    ("yesterday", "2024-03-01", "2024-02-29", "2024-03-01", "day"),
    ("last night", NOW, "2023-08-15", "2023-08-16", "day"),
    ("the day before yesterday", NOW, "2023-08-14", "2023-08-15", "day"),
    ("the day after tomorrow", NOW, "2023-08-18", "2023-08-19", "day"),
    ("this week", NOW, "2023-08-14", "2023-08-21", "week"),
    ("last week", NOW, "2023-08-07", "2023-08-14", "week"),
    ("last week", "2023-08-14", "2023-08-07", "2023-08-14", "week"),
    ("last week", "2023-08-13", "2023-07-31", "2023-08-07", "week"),
    ("next week", NOW, "2023-08-21", "2023-08-28", "week"),
    ("the week before last", NOW, "2023-07-31", "2023-08-07", "week"),
    ("last month", NOW, "2023-07-01", "2023-08-01", "month"),
    ("last month", "2023-01-31", "2022-12-01", "2023-01-01", "month"),
    ("last year", NOW, "2022-01-01", "2023-01-01", "year"),
    ("last weekend", NOW, "2023-08-12", "2023-08-14", "range"),
    ("this weekend", NOW, "2023-08-19", "2023-08-21", "range"),
    ("last Friday", NOW, "2023-08-11", "2023-08-12", "day"),
    ("last Wednesday", NOW, "2023-08-09", "2023-08-10", "day"),
    ("this Friday", NOW, "2023-08-18", "2023-08-19", "day"),
    ("next Friday", NOW, "2023-08-18", "2023-08-19", "day"),
    ("on Monday", NOW, "2023-08-14", "2023-08-15", "day"),
    ("on Thursday", NOW, "2023-08-10", "2023-08-11", "day"),
    ("Friday of last week", NOW, "2023-08-11", "2023-08-12", "day"),
    ("last May", "2023-05-20", "2022-05-01", "2022-06-01", "month"),
    ("next May", NOW, "2024-05-01", "2024-06-01", "month"),
    ("three days ago", NOW, "2023-08-13", "2023-08-14", "day"),
    ("10 days ago", NOW, "2023-08-06", "2023-08-07", "day"),
    ("a week ago", NOW, "2023-08-06", "2023-08-13", "week"),
    ("two weeks ago", NOW, "2023-07-30", "2023-08-06", "week"),
    ("two months ago", NOW, "2023-06-01", "2023-07-01", "month"),
    ("two years ago", NOW, "2021-01-01", "2022-01-01", "year"),
    ("she moved in two years ago", NOW, "2021-01-01", "2022-01-01", "year"),
    ("a few days ago", NOW, "2023-08-11", "2023-08-15", "range"),
    ("a couple of months ago", NOW, "2023-05-01", "2023-07-01", "range"),
    ("in three days", NOW, "2023-08-19", "2023-08-20", "day"),
    ("in the last three months", NOW, "2023-05-16", NOW, "range"),
    ("over the past two weeks", NOW, "2023-08-02", NOW, "range"),
    ("the last six months", "2023-08-31T09:00", "2023-02-28", "2023-08-31T09:00", "range"),
    ("the next two weeks", NOW, NOW, "2023-08-31", "range"),
]
COMBINED = [
    ("3 days before 8 May 2023", NOW, "2023-05-05", "2023-05-06", "day"),
    ("two days after Christmas 2022", NOW, "2022-12-27", "2022-12-28", "day"),
    ("the week before 6 October, 2022", NOW, "2022-09-26", "2022-10-03", "week"),
    ("the Friday before 20 May 2023", NOW, "2023-05-19", "2023-05-20", "day"),
    ("the Friday before 19 May 2023", NOW, "2023-05-12", "2023-05-13", "day"),
    ("the month before May 2023", NOW, "2023-04-01", "2023-05-01", "month"),
    ("the weekend of 3 June", NOW, "2023-06-03", "2023-06-05", "range"),
    ("the weekend before 17 May 2023", NOW, "2023-05-13", "2023-05-15", "range"),
    ("the weekend after 17 May 2023", NOW, "2023-05-20", "2023-05-22", "range"),
    ("the week of 17 May 2023", NOW, "2023-05-15", "2023-05-22", "week"),
    ("early May 2023", NOW, "2023-05-01", "2023-05-11", "range"),
    ("mid-May", NOW, "2023-05-11", "2023-05-21", "range"),
    ("late May 2023", NOW, "2023-05-21", "2023-06-01", "range"),
    ("the end of 2022", NOW, "2022-09-01", "2023-01-01", "range"),
    ("the first weekend of August 2023", NOW, "2023-08-05", "2023-08-07", "range"),
    ("the last week of May 2023", NOW, "2023-05-25", "2023-06-01", "week"),
    ("the second week of May 2023", NOW, "2023-05-08", "2023-05-15", "week"),
    ("the last Friday of May", NOW, "2023-05-26", "2023-05-27", "day"),
    ("the last day of February 2024", NOW, "2024-02-29", "2024-03-01", "day"),
    ("between 3 May and 10 June 2023", NOW, "2023-05-03", "2023-06-11", "range"),
    ("from 3 May 2022 to 10 June", NOW, "2022-05-03", "2022-06-11", "range"),
    ("from May to July 2023", NOW, "2023-05-01", "2023-08-01", "range"),
    ("from December to February 2023", NOW, "2022-12-01", "2023-03-01", "range"),
    ("from Monday to Friday", NOW, "2023-08-07", "2023-08-12", "range"),
    ("from last Monday to Tuesday", NOW, "2023-08-14", "2023-08-16", "range"),
    ("between 2019 and 2021", NOW, "2019-01-01", "2022-01-01", "range"),
    ("since March 2023", NOW, "2023-03-01", NOW, "range"),
    ("since early May", NOW, "2023-05-01", NOW, "range"),
    ("since tomorrow", NOW, "2023-08-17", "2023-08-18", "day"),
    ("before May 2023", NOW, "min", "2023-05-01", "range"),
    ("by the end of May 2023", NOW, "min", "2023-06-01", "range"),
    ("after 3 June 2023", NOW, "2023-06-04", "max", "range"),
]
CHINESE = [
    ("我今天很忙", NOW, "2023-08-16", "2023-08-17", "day"),
    ("昨天下雨", NOW, "2023-08-15", "2023-08-16", "day"),
    ("前天", NOW, "2023-08-14", "2023-08-15", "day"),
    ("明天", NOW, "2023-08-17", "2023-08-18", "day"),
    ("上周", NOW, "2023-08-07", "2023-08-14", "week"),
    ("上星期", NOW, "2023-08-07", "2023-08-14", "week"),
    ("本周", NOW, "2023-08-14", "2023-08-21", "week"),
    ("下周", NOW, "2023-08-21", "2023-08-28", "week"),
    ("上个月", NOW, "2023-07-01", "2023-08-01", "month"),
    ("上上个月", NOW, "2023-06-01", "2023-07-01", "month"),
    ("本月", NOW, "2023-08-01", "2023-09-01", "month"),
    ("下下个月", NOW, "2023-10-01", "2023-11-01", "month"),
    ("去年", NOW, "2022-01-01", "2023-01-01", "year"),
    ("前年", NOW, "2021-01-01", "2022-01-01", "year"),
    ("明年", NOW, "2024-01-01", "2025-01-01", "year"),
    ("我们在2023年5月8日见面", NOW, "2023-05-08", "2023-05-09", "day"),
    ("二〇二三年五月", NOW, "2023-05-01", "2023-06-01", "month"),
    ("2023年", NOW, "2023-01-01", "2024-01-01", "year"),
    ("2023年夏天", NOW, "2023-06-01", "2023-09-01", "season"),
    ("5月8日", NOW, "2023-05-08", "2023-05-09", "day"),
    ("十二月二十五日", NOW, "2022-12-25", "2022-12-26", "day"),
    ("5月", NOW, "2023-05-01", "2023-06-01", "month"),
    ("去年5月8日", NOW, "2022-05-08", "2022-05-09", "day"),
    ("去年十月", NOW, "2022-10-01", "2022-11-01", "month"),
    ("去年夏天", NOW, "2022-06-01", "2022-09-01", "season"),
    ("上周五", NOW, "2023-08-11", "2023-08-12", "day"),
    ("上上周五", NOW, "2023-08-04", "2023-08-05", "day"),
    ("下周五", NOW, "2023-08-25", "2023-08-26", "day"),
    ("星期三", NOW, "2023-08-09", "2023-08-10", "day"),
    ("上周末", NOW, "2023-08-12", "2023-08-14", "range"),
    ("三天前", NOW, "2023-08-13", "2023-08-14", "day"),
    ("两个星期前", NOW, "2023-07-30", "2023-08-06", "week"),
    ("两个月前", NOW, "2023-06-01", "2023-07-01", "month"),
    ("十年前", NOW, "2013-01-01", "2014-01-01", "year"),
    ("几天前", NOW, "2023-08-11", "2023-08-15", "range"),
    ("两天后", NOW, "2023-08-18", "2023-08-19", "day"),
    ("最近三个月", NOW, "2023-05-16", NOW, "range"),
    ("我在2023-05-08去", NOW, "2023-05-08", "2023-05-09", "day"),
    ("昨日は雨", NOW, "2023-08-15", "2023-08-16", "day"),
    ("先週の金曜日", NOW, "2023-08-11", "2023-08-12", "day"),
    ("来月", NOW, "2023-09-01", "2023-10-01", "month"),
]
NOTHING = [
    "",
    "We could be second to none, sat in the sun for a second.",
    "You may march with us if you may.",
    "May I come in? March on!",
    "In spring water or a fall, nothing.",
    "May said so, and June and April laughed.",
    "Last march we sang",
    "5 of them and 100 more, or 2023 others",
    "It costs $2022 or 1999.50 in cash",
    "version 1.2023, call 555-2023",
    "every Monday and each friday, on Sundays",
    "the last day was fun, this day too",
    "31 February 2023",
    "29 February 2023",
    "2023-13-01",
    "13/13/2023",
    "the first two of them",
    "12000 years ago",
    "two and a half years ago",
    "done in a day, twice a week",
    "new year resolutions",
    "一周一次，每周五，每个星期三",
    "第三天前，15月，二十二月",
]


@pytest.mark.parametrize(
    ("text", "reference", "start", "end", "precision"), ABSOLUTE + RELATIVE + COMBINED + CHINESE
)
def test_window(text: str, reference: str, start: str, end: str, precision: str) -> None:
    found = [(w.start_us, w.end_us, w.precision) for w in find_windows(text, us(reference))]
    assert found == [(us(start), us(end), precision)]


@pytest.mark.parametrize("text", NOTHING)
def test_no_window(text: str) -> None:
    assert find_windows(text, us(NOW)) == []


@pytest.mark.parametrize(
    ("text", "reference", "offset_min", "start", "end"),
    [
        # 23:30 UTC is 01:30 of the next day two hours further east.
        ("yesterday", "2023-08-16T23:30", 120, "2023-08-15T22:00", "2023-08-16T22:00"),
        ("yesterday", "2023-08-16T23:30", 0, "2023-08-15T00:00", "2023-08-16T00:00"),
        ("today", "2023-08-16T02:00", -300, "2023-08-15T05:00", "2023-08-16T05:00"),
        ("last week", "2023-08-13T23:30", 60, "2023-08-06T23:00", "2023-08-13T23:00"),
        ("8 May 2023", "2023-08-16T13:00", 330, "2023-05-07T18:30", "2023-05-08T18:30"),
        ("since 8 May 2023", NOW, 60, "2023-05-07T23:00", NOW),
        ("before 8 May 2023", NOW, 60, "min", "2023-05-07T23:00"),
    ],
)
def test_days_begin_at_the_speakers_midnight(
    text: str, reference: str, offset_min: int, start: str, end: str
) -> None:
    (window,) = find_windows(text, us(reference), offset_min)
    assert (window.start_us, window.end_us) == (us(start), us(end))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Last week we met, then on 3 May 2023.", ["Last week", "3 May 2023"]),
        ("I saw her the Friday before 20 May 2023", ["the Friday before 20 May 2023"]),
        ("It was the last week of May 2023", ["the last week of May 2023"]),
        ("between yesterday and you, or from May onwards", ["yesterday"]),
        ("late on Monday, the book by May", ["Monday", "by May"]),
        ("昨天和 last week，去年夏天", ["昨天", "last week", "去年夏天"]),
    ],
)
def test_words_as_said(text: str, words: list[str]) -> None:
    windows = find_windows(text, us(NOW))
    assert [window.text for window in windows] == words
    assert [text[window.start : window.end] for window in windows] == words


def test_unknown_reference_leaves_what_names_its_year() -> None:
    windows = find_windows("yesterday, in May, since 8 May 2023", TIME_NONE)
    assert [window.text for window in windows] == ["8 May 2023"]


@pytest.mark.parametrize("reference", ["0001-01-01", "0001-03-01", "9999-12-31"])
def test_edges_of_the_calendar(reference: str) -> None:
    text = "yesterday tomorrow last summer next May 999 years ago in 99 weeks the past 900 months"
    for window in find_windows(text, us(reference)):
        assert window.start_us < window.end_us


WORDS = [
    "the", "a", "few", "3", "31", "2023", "May", "june", "Monday", "last", "next", "week", "days",
    "ago", "before", "after", "since", "between", "and", "from", "to", "early", "first", "weekend",
    "of", "in", "yesterday", "winter", "Christmas", "year", "上周", "五", "三", "月", "前", "年",
]  # fmt: skip
PHRASES = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(text=st.one_of(st.text(), PHRASES), reference=INT64 | st.just(us(NOW)))
def test_any_text(text: str, reference: int) -> None:
    windows = find_windows(text, reference, 120)
    assert windows == find_windows(text, reference, 120)
    for window in windows:
        assert window.start_us < window.end_us
        assert window.text == text[window.start : window.end] != ""
    for before, after in pairwise(windows):
        assert before.end <= after.start


def tried_everywhere(rules: Mapping[str, tuple[str, object]], text: str) -> list[tuple[int, str]]:
    """Where the rules begin, and which, when each edge of a word is tried."""
    pattern = "|".join(f"(?P<{name}>{rule})" for name, (rule, _) in rules.items())
    compiled = re.compile(rf"\b(?:{pattern})", re.IGNORECASE | re.ASCII)
    return [(match.start(), match.lastgroup or "") for match in compiled.finditer(text)]


TAILS = [
    "", " ", " night ", " week ", " weeks ago ", " week before ", " of the week ", " week of ",
    " 2 weeks ", " past week ", " other day ", " of days ago ", "'s day ", " day ",
    " year's eve ", " before last ", " of ", " 3 ", " 2023 ", " to ", "-05-08 ", "/8/2023 ",
    "'s ", "月", ", 3 May", "-05 ",
]  # fmt: skip


@pytest.mark.parametrize(("rules", "find"), [(RULES, find_rules), (PREFIXES, find_prefixes)])
def test_rules_begin_with_the_words_that_are_tried(
    rules: Mapping[str, tuple[str, object]], find: Callable[[str], Iterator[Found]]
) -> None:
    said = {word for rule, _ in rules.values() for word in re.findall("[A-Za-z]+", rule)}
    said |= {f"{word}s" for word in said} | {"Sep", "5", "31", "1990", "2023", "3rd"}
    found = set()
    for text in (f"{word}{tail}" for word in sorted(said) for tail in TAILS):
        expected = tried_everywhere(rules, text)
        assert [(one.start, one.rule) for one in find(text)] == expected
        found |= {rule for _, rule in expected}
    assert found == rules.keys()


def test_calendar_terms() -> None:
    assert calendar_terms(us("2023-05-08T13:56")) == (
        "2023", "may", "2023-05", "2023-05-08", "monday",
    )  # fmt: skip
    assert calendar_terms(us("2023-05-08T23:30"), 60)[3:] == ("2023-05-09", "tuesday")
    assert calendar_terms(TIME_NONE) == ()
