"""Templates that take instructions apart, that refuse them, that drop them, and none at all."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cuegraph.io.errors import ModelError
from cuegraph.llm.chat_template import ChatTemplate
from cuegraph.llm.model import Message

Messages = Sequence[dict[str, str]]
ASKED = (Message("system", "Choose."), Message("user", "Which?"), Message("assistant", "c1"))


def apart(messages: Messages) -> str:
    return "".join(f"<{m['role']}>{m['content']}" for m in messages)


def refusing(messages: Messages) -> str:
    if messages[0]["role"] == "system":
        raise ValueError("System role not supported")
    return apart(messages)


def dropping(messages: Messages) -> str:
    return apart([message for message in messages if message["role"] != "system"])


def nothing(messages: Messages) -> str:
    return ""


class Tokenizer:
    """A token for each character, and a template that is a function."""

    def __init__(self, template: Callable[[Messages], str] | None) -> None:
        self.chat_template = template

    def apply_chat_template(self, messages: Messages, *, tokenize: bool, **options: Any) -> Any:
        assert options == {
            "add_generation_prompt": True,
            "return_dict": False,
            "enable_thinking": False,
        }
        assert self.chat_template is not None
        text = self.chat_template(messages) + "<assistant>"
        return [ord(letter) for letter in text] if tokenize else text


def prompt(template: Callable[[Messages], str], messages: Sequence[Message] = ASKED) -> str:
    tokens = ChatTemplate(Tokenizer(template), "small").tokens(messages)
    return "".join(map(chr, tokens))


def test_instructions_stand_apart_where_the_template_has_a_place_for_them() -> None:
    assert prompt(apart) == "<system>Choose.<user>Which?<assistant>c1<assistant>"


@pytest.mark.parametrize("template", [refusing, dropping])
def test_otherwise_they_head_the_users_message(template: Callable[[Messages], str]) -> None:
    assert prompt(template) == "<user>Choose.\n\nWhich?<assistant>c1<assistant>"


def test_what_no_tokenizer_takes_is_made_plain() -> None:
    assert prompt(apart, [Message("user", "a\0b\ud800c")]) == "<user>a b?c<assistant>"


def test_a_model_without_a_template_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="small: expected a model with a chat template"):
        ChatTemplate(Tokenizer(None), "small")


def test_a_template_that_shows_no_instructions_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="expected a chat template for instructions"):
        ChatTemplate(Tokenizer(nothing), "small")
