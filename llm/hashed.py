"""An embedder without a model: words and letter trigrams hashed into 256 numbers."""

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from .backend import unit_rows

DIMENSION = 256
_WORD = re.compile(r"\w+")


class HashEmbedder:
    """A signed hashed bag of words and letter trigrams: 256 dimensions, any script.

    For tests, and for machines without a model: it finds texts that share words or parts of words
    and knows nothing of meaning. Feature hashing after Weinberger et al. 2009 (arXiv 0902.2206),
    with CRC-32, so that every process and every machine gives the same bytes.
    """

    name = "hash-1:words-trigrams-256"
    dimension = DIMENSION

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched, float32 (n, 256)."""
        rows = np.zeros((len(texts), DIMENSION))
        for row, text in zip(rows, texts, strict=True):
            _add_features(row, text.casefold())
        return unit_rows(rows, len(texts), DIMENSION, self.name)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search: the same as `passages`."""
        return self.passages(texts)


def _add_features(row: npt.NDArray[np.float64], text: str) -> None:
    for feature in _features(text):
        _add(row, feature, 1.0)
    # Whole weights can cancel to zero, a half among them cannot: no text has a zero vector.
    _add(row, text, 0.5)


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        padded = f" {word} "
        yield padded
        yield from (padded[i : i + 3] for i in range(len(padded) - 2))


def _add(row: npt.NDArray[np.float64], feature: str, weight: float) -> None:
    code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
    row[code % DIMENSION] += weight if code & 0x8000_0000 else -weight
