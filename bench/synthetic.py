"""Invented conversations of any size, with the skew of real ones: topics, hubs, sessions in time.

Words and topics follow Zipf's law, so that a few are hubs; a session keeps to one topic and has a
time; vectors lie in clusters, one a topic. Uniform random vectors would break any index and make
every method look alike.
"""

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from cuegraph import Turn

F32 = npt.NDArray[np.float32]

DIMENSION = 384
SESSION = 20
"""Turns of a session."""
_WORDS = 12
"""Words of a turn, without stop words, as in chats."""
_VOCABULARY = 50_000
_TOPIC_WORDS = 40
_SPEAKERS = ("Abeni", "Bram", "Ceren", "Dov", "Eun", "Farida", "Gael", "Hanne")
_DAY_US = 86_400_000_000
_START_US = 1_600_000_000_000_000
_NOISE = 0.7
"""Length of a vector's own part beside its topic's: cosines of a topic near 0.67."""
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES = [c + v for c in _CONSONANTS for v in _VOWELS]


def turns(n: int, seed: int = 0) -> Iterator[Turn]:
    """`n` turns in sessions of twenty, a day apart; the same for the same n and seed."""
    return islice(_all_turns(topics_of(n), np.random.default_rng(seed)), n)


def questions(n: int, count: int, seed: int = 1) -> list[str]:
    """Questions in the words of turns like those of `turns(n)`, which were not among them."""
    made = _all_turns(topics_of(n), np.random.default_rng([seed, n]))
    asked = islice(made, 0, count * SESSION, SESSION)
    return [f"What did {turn.speaker} say of {turn.text}?" for turn in asked]


def topics_of(n: int) -> int:
    """Number of topics among `n` turns."""
    return max(8, n // 500)


class SyntheticEmbedder:
    """Vectors of the turns that `turns(n)` makes: its topic's centre, and a part of its own."""

    dimension = DIMENSION

    def __init__(self, n: int) -> None:
        self.name = f"synthetic-1:{topics_of(n)}"
        draw = np.random.default_rng(2)
        self._centres = draw.standard_normal((topics_of(n), DIMENSION), np.float32)
        self._centres /= np.linalg.norm(self._centres, axis=1, keepdims=True)

    def passages(self, texts: Sequence[str]) -> F32:
        """Vectors of turns, float32 (n, 384), of norm 1."""
        rows = np.empty((len(texts), DIMENSION), np.float32)
        for row, text in zip(rows, texts, strict=True):
            own = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(
                DIMENSION, np.float32
            )
            row[:] = self._centres[self._topic(text)] + _NOISE / np.sqrt(DIMENSION) * own
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def queries(self, texts: Sequence[str]) -> F32:
        """Vectors of questions."""
        return self.passages(texts)

    def _topic(self, text: str) -> int:
        """Topic by the first word that names one; another text has a topic by its hash."""
        for word in text.split():
            if word.startswith("about"):
                return _number(word.removeprefix("about").rstrip("?.")) % len(self._centres)
        return zlib.crc32(text.encode()) % len(self._centres)


def _all_turns(topics: int, draw: np.random.Generator) -> Iterator[Turn]:
    session = 0
    while True:
        topic = min(int(draw.zipf(1.3)) - 1, topics - 1) if draw.random() < 0.5 else None
        topic = int(draw.integers(topics)) if topic is None else topic
        said = draw.zipf(1.2, (SESSION, _WORDS)) % _VOCABULARY
        theirs = draw.integers(0, _TOPIC_WORDS, (SESSION, _WORDS // 3))
        speakers = draw.choice(len(_SPEAKERS), 2, replace=False)
        for i in range(SESSION):
            common = [_word(int(number)) for number in said[i, : _WORDS - 1 - _WORDS // 3]]
            own = [_word(_VOCABULARY + _TOPIC_WORDS * topic + int(w)) for w in theirs[i]]
            yield Turn(
                " ".join([f"about{_word(topic)}", *own, *common]),
                id=f"{session}:{i}",
                session=f"s{session}",
                speaker=_SPEAKERS[speakers[i % 2]],
                time=_START_US + session * _DAY_US + i * 60_000_000,
            )
        session += 1


def _word(number: int) -> str:
    """A word for a number, in syllables, the same always and read back by `_number`."""
    syllables = []
    while True:
        number, last = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[last])
        if not number:
            return "".join(reversed(syllables))


def _number(word: str) -> int:
    number = 0
    for i in range(0, len(word), 2):
        number = number * len(_SYLLABLES) + _SYLLABLES.index(word[i : i + 2])
    return number
