"""Words of a text as index terms: folded, split by script, stop words dropped, stemmed."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import Stemmer

# Scripts written without spaces (Han, kana, Hangul): their runs are indexed by single characters
# and by pairs, so that any part of a run finds it.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f"
_RUN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+(?:['’][^\W_{UNSPACED}]+)*")
_CJK_RUN = re.compile(rf"[{UNSPACED}]+")
_CLITICS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are aren as at be because been before being both
    but by can could couldn did didn do does doesn doing don down during each few for from had
    hadn has hasn have haven having he her here hers him his how i if in into is isn it its
    just may me might mine more most must my no nor not of off on once only or other our out
    over own same shall she should shouldn so some such than that the their them then there
    these they this those to too under up us very was wasn we were weren what when where which
    while who whom whose why will with won would wouldn you your yours
    """.split()
)


def fold(text: str) -> str:
    """Text in the form in which words are compared: NFKC, case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def words(text: str) -> Iterator[str]:
    """Folded words of `text` in order: whole words, and whole runs of Han, kana or Hangul.

    A possessive or a contraction loses its ending (`Mira's` is `mira`, `didn't` is `didn`).
    """
    for word in _RUN.findall(fold(text)):
        yield word if word.isalnum() else _without_endings(word)


def _without_endings(word: str) -> str:
    head, *tail = re.split("['’]", word)
    while tail and tail[-1] in _CLITICS:
        tail.pop()
    return head + "".join(tail)


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """(index term, word as folded) of `text` in order: stems of words, parts of unspaced runs."""
    for word in words(text):
        if _CJK_RUN.match(word):
            yield from ((character, character) for character in word)
            pairs = (word[i : i + 2] for i in range(len(word) - 1))
            yield from ((pair, pair) for pair in pairs)
        elif word not in STOP_WORDS:
            yield stem(word), word


def terms(text: str) -> list[str]:
    """Index terms of `text` in order, repeats kept.

    >>> terms("Mira's been painting two boats")
    ['mira', 'paint', 'two', 'boat']
    >>> terms("我爱猫")
    ['我', '爱', '猫', '我爱', '爱猫']
    """
    return [term for term, _ in tokens(text)]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Snowball English stem of a folded word; the same for the text and for the question."""
    stemmed: str = _stemmer().stemWord(word)
    return stemmed


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return Stemmer.Stemmer("english")
