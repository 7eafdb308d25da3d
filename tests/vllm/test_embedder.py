"""Embeddings from vLLM, through the embedder protocol."""

from pathlib import Path

import numpy as np
import pytest

from cuegraph.llm.embedder import Embedder, open_embedder

from .models import NEEDS_VLLM

pytestmark = NEEDS_VLLM
TEXTS = ["Mira won a contest.", "It rained in Lisbon.", "", "wind " * 20_000, "a\0b\ud800"]


@pytest.fixture(scope="module")
def embedder(random_model: Path) -> Embedder:
    return open_embedder(f"vllm:{random_model}")


def test_a_text_has_a_unit_vector(embedder: Embedder) -> None:
    vectors = embedder.passages(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension) == (len(TEXTS), 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-6)


def test_the_same_text_has_the_same_vector(embedder: Embedder) -> None:
    alone = embedder.queries(TEXTS[:1])
    np.testing.assert_allclose(embedder.passages(TEXTS[:2])[:1], alone, atol=2e-2)
    np.testing.assert_array_equal(embedder.passages(TEXTS[:2]), embedder.passages(TEXTS[:2]))
    assert np.abs(embedder.passages(TEXTS[1:2]) - alone).max() > 1e-2


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert embedder.passages([]).shape == (0, embedder.dimension)


def test_its_name_is_that_of_its_weights(embedder: Embedder) -> None:
    kind, name, digest = embedder.name.split(":")
    assert (kind, name) == ("vllm", "random") and len(digest) == 12
