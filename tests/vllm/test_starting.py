"""Models that cannot be started, and models that are found by their name."""

import json
import shutil
from pathlib import Path

import pytest

from cuegraph.io.errors import ModelError
from cuegraph.llm.chat_template import ChatTemplate
from cuegraph.llm.model import Message
from cuegraph.llm.vllm_engine import VllmConfig, find_weights, import_vllm
from cuegraph.llm.vllm_model import VllmModel

from .models import NEEDS_VLLM

pytestmark = NEEDS_VLLM
# As the templates of models that know no system do.
REFUSING = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
PLAIN = "{% for message in messages %}({{ message.role }}) {{ message.content }}\n{% endfor %}"


@pytest.fixture
def copied(random_model: Path, tmp_path: Path) -> Path:
    """A copy of the model that may be broken."""
    return Path(shutil.copytree(random_model, tmp_path / "copy"))


def test_a_model_that_does_not_fit_says_what_to_look_at(random_model: Path) -> None:
    with pytest.raises(ModelError) as error:
        VllmModel(random_model, VllmConfig(cpu_cache_gib=1e-4))
    said = str(error.value)
    assert "does it fit" in said and "cpu_cache_gib" in said and "\n" not in said


def test_a_context_that_the_model_was_not_made_for_is_refused(random_model: Path) -> None:
    with pytest.raises(ModelError, match="max_model_len"):
        VllmModel(random_model, VllmConfig(max_model_len=1_000_000))


def test_weights_that_are_not_there_are_a_model_error(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="expected vLLM to start"):
        VllmModel(copied)


def test_a_model_without_a_chat_template_is_a_model_error(copied: Path) -> None:
    (copied / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match="expected a model with a chat template"):
        VllmModel(copied)


def test_instructions_head_the_users_message_where_a_template_refuses_them(copied: Path) -> None:
    (copied / "chat_template.jinja").write_text(REFUSING + PLAIN)
    tokenizer = import_vllm().get_tokenizer(copied)
    template = ChatTemplate(tokenizer, "copy")
    tokens = template.tokens([Message("system", "Choose."), Message("user", "Which?")])
    assert tokenizer.decode(tokens) == "(user) Choose.\n\nWhich?\n"


def test_a_name_that_was_fetched_before_is_found(
    random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "models--somebody--tiny"
    shutil.copytree(random_model, kept / "snapshots" / "0123abc")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0123abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    found = find_weights("somebody/tiny")
    assert found.name == "somebody/tiny"
    assert json.loads((found.folder / "config.json").read_text())["hidden_size"] == 64
    with pytest.raises(ModelError, match="somebody/other"):
        find_weights("somebody/other")
