"""Invented conversations of any size, with the skew of real ones: topics, hubs, sessions in time.

Words follow Zipf and Mandelbrot's law, fitted to LoCoMo without its stop words: the commonest is in
a fifth of the turns, the tenth in a twelfth. Half of the sessions keep to topics by Zipf's law, so
that a few are hubs, and half to any; a session has a time; vectors lie in clusters, one a topic.
Uniform random vectors would break any index and make every method look alike.

All draws are made for a block of sessions at once: a turn takes 4 microseconds, its vector 6.
"""

import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import islice

import numpy as np
import numpy.typing as npt

from cuegraph import Turn

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

DIMENSION = 384
SESSION = 20
"""Turns of a session."""
_BLOCK = 256
"""Sessions drawn at once."""
_VOCABULARY = 50_000
_SHIFT = 6
_COMMON = 7
"""Words of a turn from the whole vocabulary; with those of its topic 12, as in chats."""
_OWN, _TOPIC_WORDS = 4, 40
"""Words of a turn from its topic's own, and how many a topic has."""
_SPEAKERS = ("Abeni", "Bram", "Ceren", "Dov", "Eun", "Farida", "Gael", "Hanne")
_MINUTE_US, _HOUR_US = 60_000_000, 3_600_000_000
_START_US = 1_600_000_000_000_000
_NOISE = 0.7
"""Length of a vector's own part beside its topic's: cosines of a topic near 0.67."""
_PIECE, _PIECES = 32, 1 << 16
"""The own part of a vector is put together from so many pieces of 32 numbers, drawn once."""
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES = [c + v for c in _CONSONANTS for v in _VOWELS]


def turns(n: int, seed: int = 0) -> Iterator[Turn]:
    """`n` turns in sessions of twenty, an hour apart; the same for the same n and seed."""
    return islice(_all_turns(topics_of(n), np.random.default_rng(seed)), n)


def later_turns(n: int, count: int, seed: int = 0) -> Iterator[Turn]:
    """The `count` turns that follow `turns(n, seed)`."""
    return islice(_all_turns(topics_of(n), np.random.default_rng(seed)), n, n + count)


def questions(n: int, count: int, seed: int = 1) -> list[str]:
    """Questions in words of turns like those of `turns(n)`, which were not among them.

    Each has the topic, two words of the topic's own and two of all: as many terms as LoCoMo's have.
    Of seven one names a month and one asks when, as there.
    """
    made = _all_turns(topics_of(n), np.random.default_rng([seed, n]))
    asked = enumerate(islice(made, 0, count * SESSION, SESSION))
    return [_question(turn, i, n // SESSION * i // count) for i, turn in asked]


def topics_of(n: int) -> int:
    """Number of topics among `n` turns."""
    return max(8, n // 500)


class SyntheticEmbedder:
    """Vectors of the turns that `turns(n)` makes: its topic's centre, and a part of its own.

    A text's vector depends on that text and the number of topics alone.
    """

    dimension = DIMENSION

    def __init__(self, n: int) -> None:
        self.name = f"synthetic-2:{topics_of(n)}"
        draw = np.random.default_rng(2)
        self._centres = draw.standard_normal((topics_of(n), DIMENSION), np.float32)
        self._centres /= np.linalg.norm(self._centres, axis=1, keepdims=True)
        self._pieces = draw.standard_normal((_PIECES, _PIECE), np.float32)
        self._pieces *= _NOISE / np.sqrt(DIMENSION)

    def passages(self, texts: Sequence[str]) -> F32:
        """Vectors of turns, float32 (n, 384), of norm 1."""
        crcs = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
        pieces = self._pieces[_numbers(np.array(crcs, np.uint64))]
        rows = pieces.reshape(len(texts), DIMENSION)
        topics = [self._topic(text, crc) for text, crc in zip(texts, crcs, strict=True)]
        rows += self._centres[np.array(topics, np.int64)]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def queries(self, texts: Sequence[str]) -> F32:
        """Vectors of questions."""
        return self.passages(texts)

    def _topic(self, text: str, crc: int) -> int:
        """Topic by the word that names one; another text has a topic by its hash."""
        _, named, rest = text.partition("about")
        number = _number(rest.partition(" ")[0].rstrip("?.")) if named else None
        return (crc if number is None else number) % len(self._centres)


def _numbers(crcs: U64) -> I64:
    """Numbers of the pieces of each text, int64 (n, 12): splitmix64 of its checksum and place."""
    places = np.arange(1, DIMENSION // _PIECE + 1, dtype=np.uint64)
    mixed: U64 = crcs[:, None] + places * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(_PIECES)).astype(np.int64)


def _all_turns(topics: int, draw: np.random.Generator) -> Iterator[Turn]:
    first = 0
    while True:
        skewed, even = draw.zipf(1.3, _BLOCK) - 1, draw.integers(0, topics, _BLOCK)
        topic = np.where(draw.random(_BLOCK) < 0.5, np.minimum(skewed, topics - 1), even)
        said = _common(draw.random((_BLOCK, SESSION, _COMMON)))
        theirs = draw.integers(0, _TOPIC_WORDS, (_BLOCK, SESSION, _OWN))
        theirs += _VOCABULARY + _TOPIC_WORDS * topic[:, None, None]
        numbers = np.concatenate([theirs, said], axis=2).tolist()
        for i, about in enumerate(topic.tolist()):
            yield from _session(first + i, about, numbers[i], _pair(draw))
        first += _BLOCK


def _session(
    session: int, topic: int, numbers: list[list[int]], speakers: tuple[str, str]
) -> Iterator[Turn]:
    for i, words in enumerate(numbers):
        yield Turn(
            " ".join([f"about{_word(topic)}", *map(_word, words)]),
            id=f"{session}:{i}",
            session=f"s{session}",
            speaker=speakers[i % 2],
            time=_START_US + session * _HOUR_US + i * _MINUTE_US,
        )


def _pair(draw: np.random.Generator) -> tuple[str, str]:
    first, second = draw.choice(len(_SPEAKERS), 2, replace=False).tolist()
    return _SPEAKERS[first], _SPEAKERS[second]


def _common(shares: npt.NDArray[np.float64]) -> I64:
    """Numbers of words of the vocabulary, by uniform draws in [0, 1)."""
    return np.searchsorted(_cumulated(), shares, side="right")


@cache
def _cumulated() -> npt.NDArray[np.float64]:
    """Share of the first words of the vocabulary in all that is said, by their number."""
    shares = np.cumsum(1 / np.arange(1 + _SHIFT, _VOCABULARY + 1 + _SHIFT))
    shares /= shares[-1]
    return shares


def _question(turn: Turn, number: int, session: int) -> str:
    topic, *words = turn.text.split()
    of = " ".join([topic, *words[:2], *words[_OWN : _OWN + 2]])
    match number % 7:
        case 0:
            time = datetime.fromtimestamp((_START_US + session * _HOUR_US) / 1e6, UTC)
            return f"What did {turn.speaker} say of {of} in {time:%B %Y}?"
        case 1:
            return f"When did {turn.speaker} speak of {of}?"
        case _:
            return f"What did {turn.speaker} say of {of}?"


@cache
def _word(number: int) -> str:
    """A word for a number, in syllables, the same always and read back by `_number`."""
    syllables = []
    while True:
        number, last = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[last])
        if not number:
            return "".join(reversed(syllables))


@cache
def _number(word: str) -> int | None:
    """The number that a word stands for; None where it is none of `_word`'s."""
    number = 0
    for i in range(0, len(word), 2):
        if word[i : i + 2] not in _SYLLABLES:
            return None
        number = number * len(_SYLLABLES) + _SYLLABLES.index(word[i : i + 2])
    return number if word else None
