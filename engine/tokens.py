"""Counting tokens without a model."""

import re
from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens; its name stands beside every figure that it made."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...


class WordCounter:
    """Counts words, marks and characters of unspaced scripts; a long word counts by its length.

    Sub-word tokenisers cut English words at about six characters on the average: a word of up to
    six letters counts one, one of up to twelve two. Deterministic, and no model is needed.

    >>> WordCounter().count("Mira paints boats, extraordinarily well.")
    9
    """

    name = "words/6"
    _unspaced = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
    _token = re.compile(rf"[{_unspaced}]|[^\W_{_unspaced}]{{1,6}}|[^\w\s]|_")
    _ascii_token = re.compile(r"[A-Za-z0-9]{1,6}|[^\sA-Za-z0-9]")  # the same, three times as fast

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len((self._ascii_token if text.isascii() else self._token).findall(text))
