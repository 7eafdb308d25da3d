"""Chinese time expressions, and the Japanese ones of the same form, put into English.

The English words are those which `dates` reads, so that the calendar is worked out in one place:
上周五 is "friday of last week", 三天前 "3 days ago".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
_DIGITS = {digit: n for n, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_WEEKDAYS = {
    "一": "monday", "二": "tuesday", "三": "wednesday", "四": "thursday", "五": "friday",
    "六": "saturday", "日": "sunday", "天": "sunday",
    "月": "monday", "火": "tuesday", "水": "wednesday", "木": "thursday", "金": "friday",
    "土": "saturday",
}  # fmt: skip
_DAYS = {
    "大前天": "3 days ago",
    "前天": "2 days ago", "一昨日": "2 days ago",
    "昨天": "yesterday", "昨日": "yesterday", "昨晚": "last night",
    "今天": "today", "今日": "today", "今早": "this morning", "今晚": "tonight",
    "明天": "tomorrow", "明日": "tomorrow",
    "后天": "in 2 days", "後天": "in 2 days",
}  # fmt: skip
_YEARS = {
    "前年": "year before last", "去年": "last year", "今年": "this year",
    "明年": "next year", "来年": "next year",
}  # fmt: skip
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_WHICH = {"上": "last", "先": "last", "这": "this", "這": "this", "本": "this", "今": "this"}
_UNITS = {"天": "day", "日": "day", "月": "month", "年": "year"}  # any other: week

_NUMBER = r"(\d{1,3}|[一二两兩三四五六七八九]?十[一二三四五六七八九]?|[一二两兩三四五六七八九])"
_YEAR = r"(?<!\d)((?:19|20)\d\d|2100|[一二][〇零一二三四五六七八九]{3})年"
_SOME = _NUMBER[:-1] + "|几|幾|数)"
_UNIT = r"个?(天|日|星期|礼拜|周|週間|月|か月|ヶ月|年)"
_SEASON = r"的?(春|夏|秋|冬)[天季]?"
_WEEK = r"(?:个?(?:周|星期|礼拜)|週)"


def english_phrases(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, English words) of each expression found in `text`, by position."""
    if text.isascii():  # every rule has a Chinese character
        return
    for match in _RULE.finditer(text):
        own = _RULE.groupindex[rule := match.lastgroup or ""]
        groups = [group for group in match.groups()[own:] if group is not None]
        if words := _RULES[rule][1](*groups):
            yield match.start(), match.end(), words


def _number(numeral: str) -> int:
    if numeral.isdecimal():
        return int(numeral)
    if "十" in numeral:
        tens, ones = numeral.split("十")
        return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)
    return int("".join(str(_DIGITS[digit]) for digit in numeral))


def _date(year: str, month: str, day: str = "") -> str:
    words = f"{_number(year)}-{_number(month):02}"
    return f"{words}-{_number(day):02}" if day else words


def _month_day(month: str, day: str = "") -> str:
    if not 1 <= _number(month) <= len(_MONTHS):
        return ""
    name = _MONTHS[_number(month) - 1]
    return f"{name} {_number(day)}" if day else f"in {name}"


def _of_year(year: str, month: str, day: str = "") -> str:
    words = _month_day(month, day).removeprefix("in ").split()
    return f"{' '.join(reversed(words))} of {_YEARS[year]}" if words else ""


def _which(which: str, unit: str) -> str:
    if len(which) > 1:  # 上上, 下下
        return f"{unit} before last" if which == "上上" else f"in 2 {unit}s"
    return f"{_WHICH.get(which, 'next')} {unit}"


def _weekday(which: str, name: str) -> str:
    return f"{_WEEKDAYS[name]} of {_which(which, 'week')}"


def _ago(amount: str, unit: str, side: str) -> str:
    words = _amount(amount, unit)
    return f"{words} ago" if side == "前" else f"in {words}"


def _amount(amount: str, unit: str) -> str:
    words = "a few" if amount in "几幾数" else str(_number(amount))
    return f"{words} {_UNITS.get(unit[-1], 'week')}s"


_RULES: dict[str, tuple[str, Callable[..., str]]] = {
    "date": (rf"{_YEAR}\s*{_NUMBER}月(?:份|\s*{_NUMBER}[日号號])?", _date),
    "season": (_YEAR + _SEASON, lambda year, name: f"{_SEASONS[name]} {_number(year)}"),
    "year": (_YEAR, lambda year: f"in {_number(year)}"),
    "of_year": (rf"({'|'.join(_YEARS)})的?{_NUMBER}月(?:份|{_NUMBER}[日号號])?", _of_year),
    "season_of": (
        rf"({'|'.join(_YEARS)}){_SEASON}",
        lambda year, name: f"{_SEASONS[name]} of {_YEARS[year]}",
    ),
    "years": (rf"({'|'.join(_YEARS)})", lambda year: _YEARS[year]),
    "days": (rf"({'|'.join(_DAYS)})", lambda word: _DAYS[word]),
    "ago": (rf"(?<![\d第]){_SOME}{_UNIT}(?:以|之)?(前|后|後)", _ago),
    "past": (
        rf"(?:过去|最近)的?{_SOME}{_UNIT}",
        lambda amount, unit: f"the past {_amount(amount, unit)}",
    ),
    "month_day": (rf"(?<![\d第]){_NUMBER}月(?:份|\s*{_NUMBER}[日号號])?", _month_day),
    "weekend": (
        rf"(上上|下下|[上这這本下先今来]){_WEEK}末",
        lambda which: _which(which, "weekend"),
    ),
    "weekday_of": (
        rf"(上上|下下|[上这這本下先今来]){_WEEK}(?:([一二三四五六日天])|の([月火水木金土日])曜日?)",
        _weekday,
    ),
    "week": (rf"(上上|下下|[上这這本下先今来]){_WEEK}", lambda which: _which(which, "week")),
    "month": (r"(上上|下下|[上这這本下先今来])个?月", lambda which: _which(which, "month")),
    "weekday": (
        r"(?<![每个一二两三四五六七八九十几\d])(?:(?:周|星期|礼拜)([一二三四五六日天])|([月火水木金土日])曜日?)",
        lambda name: _WEEKDAYS[name],
    ),
}
_RULE = re.compile("|".join(f"(?P<{name}>{rule})" for name, (rule, _) in _RULES.items()))
