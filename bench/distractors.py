"""Distractors: conversations of a data set once more, by other people at another time.

A copy talks of the same things in the same words. What tells it from its original is swapped alike
in all of its turns:

    names     of speakers, and words that are capitalised inside sentences: invented ones
    calendar  months, weekdays and years, which move as the copy's times do: one to four years back,
              so that the newest turn, by which "last week" is read, is one of the originals'
    numbers   each digit but 0 is another one; "two" to "twelve" change places, and so do the tens

"one", ordinals in words, and words all in capitals stay as they are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count, product
from typing import NamedTuple

import msgspec
import numpy as np

from cuegraph import InputError, Turn

Conversations = Sequence[tuple[str, Sequence[Turn]]]
"""Names of conversations, and their turns."""
Time = datetime | str | int | None

SEED = 43
_TOKEN = re.compile(r"(\d+)(st|nd|rd|th)?|[^\W\d_]+")
_INSIDE = re.compile(r"[^\s.!?…:;—-][\s\"'“(]+$")
"""What stands before a word that does not begin a sentence."""
_BEFORE = 4
_MONTHS = (
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),
    "January February March April May June July August September October November December".split(),
)
_WEEKDAYS = (
    "Mon Tues Wed Thurs Fri Sat Sun".split(),
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
)
_COUNTS = (
    "two three four five six seven eight nine ten eleven twelve".split(),
    "twenty thirty forty fifty sixty seventy eighty ninety".split(),
)
_NOT_NAMES = frozenset(
    word.casefold() for names in (*_MONTHS, *_WEEKDAYS, *_COUNTS) for word in names
)
_ALSO_WORDS = frozenset({"mar", "march", "may", "sat", "sun", "wed"})
"""What is a month or a weekday only where it is capitalised."""
_SHIFTS = [-months for months in range(13, 48) if months % 12]
"""Months by which copies move: never whole years, so that each month becomes another one."""
_MONTH_DAYS = 365.25 / 12
_BEGINNINGS = (
    "Ab Bel Cor Dav Ery Fenn Gal Hest Ild Jor Kel Lin Mor Ner Orv Pel Quil Ros Sav Tam Ulm Vir "
    "Wil Xan Yor Zel Brin Dry Fal Gren Hal Kir Lor Nim Per Sten Tur Vel"
).split()
_ENDINGS = (
    "ana ander ari as ava ea ed eff el ena enda ert essa ett ia ian ick ilde ine ion ira is ita "
    "ith ius ola ona oric os ova ow ulf una us wen yn"
).split()
NAMES = tuple(beginning + ending for beginning, ending in product(_BEGINNINGS, _ENDINGS))
"""Invented names; those that are words of a data set are not used with it."""


class Swap(NamedTuple):
    """What a copy says instead, and when.

    words   for folded words: names, months, weekdays, number words
    digits  for `str.translate`
    years   added to numbers from 1900 to 2099
    days    added to times
    """

    words: Mapping[str, str]
    digits: Mapping[int, str]
    years: int
    days: int

    def text(self, said: str) -> str:
        """What the copy says instead."""
        return _TOKEN.sub(self._token, said)

    def turn(self, turn: Turn, name: str) -> Turn:
        """The turn in the copy `name`."""
        return msgspec.structs.replace(
            prefixed(turn, name),
            text=self.text(turn.text),
            speaker=turn.speaker and self.text(turn.speaker),
            caption=turn.caption and self.text(turn.caption),
            time=_moved_time(turn.time, self.days),
        )

    def _token(self, match: re.Match[str]) -> str:
        word, number, ending = match.group(), match[1], match[2]
        if number is not None:
            return self._number(number, ending)
        other = self.words.get(word.casefold())
        return word if other is None or word in _ALSO_WORDS else _in_case_of(word, other)

    def _number(self, number: str, ending: str | None) -> str:
        year = len(number) == 4 and 1900 <= int(number) < 2100
        other = str(int(number) + self.years) if year else number.translate(self.digits)
        return other if ending is None else other + _ordinal(other)


class Copy(NamedTuple):
    """A distractor conversation, and the turns that its own were made from, in order."""

    name: str
    turns: list[Turn]
    origins: list[Turn]


def prefixed(turn: Turn, name: str) -> Turn:
    """The turn with the name of a conversation before its id and its session."""
    return msgspec.structs.replace(turn, id=f"{name}/{turn.id}", session=f"{name}/{turn.session}")


def copies(conversations: Conversations, n: int, seed: int = SEED) -> list[Copy]:
    """Copies of `n` turns in all; those of fewer turns are the first of those of more.

    One of each conversation, then another of each, every one with a swap of its own; the last is
    cut off where it has more turns than are left. InputError where there is nothing to copy.
    """
    if n and not any(turns for _, turns in conversations):
        raise InputError(f"expected turns to copy until there are {n}, got none")
    made = []
    endless = _copies(conversations, seed)
    while n > 0:
        copy = next(endless)
        made.append(Copy(copy.name, copy.turns[:n], copy.origins[:n]))
        n -= len(copy.turns)
    return made


def swap_of(names: Sequence[str], unsaid: Sequence[str], draw: np.random.Generator) -> Swap:
    """A swap of folded `names` against some of `unsaid`. InputError where these are too few."""
    if len(names) > len(unsaid):
        raise InputError(f"expected at most {len(unsaid)} names to swap, got {len(names)}")
    months = int(draw.choice(_SHIFTS))
    days = round(months * _MONTH_DAYS)
    days += days % 7 == 0  # so that each weekday becomes another one, too
    words = _moved(_MONTHS, [months % 12] * 2) | _moved(_WEEKDAYS, [days % 7] * 2)
    words |= _moved(_COUNTS, [int(draw.integers(1, len(words))) for words in _COUNTS])
    others: list[int] = draw.choice(len(unsaid), len(names), replace=False).tolist()
    words |= {name: unsaid[other] for name, other in zip(names, others, strict=True)}
    by = int(draw.integers(1, 9))
    digits = {ord("1") + digit: str(1 + (digit + by) % 9) for digit in range(9)}
    return Swap(words, digits, round(months / 12), days)


def names_in(turns: Iterable[Turn]) -> set[str]:
    """Folded words of speakers' names, and those capitalised more often than not in sentences."""
    turns = list(turns)
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in _texts(turns):
        for word, inside in _words(text):
            small[word.casefold()] += word.islower()
            capital[word.casefold()] += inside and word[0].isupper() and not word.isupper()
    speakers = {word.casefold() for turn in turns for word, _ in _words(turn.speaker or "")}
    return speakers | {word for word in capital if capital[word] > small[word]} - _NOT_NAMES


def _copies(conversations: Conversations, seed: int) -> Iterator[Copy]:
    turns = [turn for _, those in conversations for turn in those]
    names = sorted(names_in(turns))
    said = {word.casefold() for text in _texts(turns) for word, _ in _words(text)}.union(names)
    unsaid = [name for name in NAMES if name.casefold() not in said]
    for number in count(1):
        for place, (conversation, those) in enumerate(conversations):
            swap = swap_of(names, unsaid, np.random.default_rng([seed, number, place]))
            name = f"{conversation}~{number}"
            yield Copy(name, [swap.turn(turn, name) for turn in those], list(those))


def _texts(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        yield turn.text
        yield turn.caption or ""


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Words, and whether something of their sentence stands before them."""
    for match in re.finditer(r"[^\W\d_]+", text):
        start = match.start()
        yield match.group(), _INSIDE.search(text[max(0, start - _BEFORE) : start]) is not None


def _moved(cycles: Sequence[Sequence[str]], steps: Sequence[int]) -> dict[str, str]:
    """Each word of a cycle, folded, and the one so many steps further."""
    return {
        word.casefold(): cycle[(place + step) % len(cycle)]
        for cycle, step in zip(cycles, steps, strict=True)
        for place, word in enumerate(cycle)
    }


def _in_case_of(word: str, other: str) -> str:
    if word.islower():
        return other.lower()
    return other.upper() if word.isupper() and len(word) > 1 else other[0].upper() + other[1:]


def _ordinal(number: str) -> str:
    last = 0 if number[-2:-1] == "1" else int(number[-1])
    return {1: "st", 2: "nd", 3: "rd"}.get(last, "th")


def _moved_time(time: Time, days: int) -> Time:
    """A time so many days on; data sets give datetimes, and what is none stays."""
    return time + timedelta(days=days) if isinstance(time, datetime) else time
