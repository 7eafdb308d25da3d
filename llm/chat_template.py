"""Conversations as the tokens that a model was trained on, by the template of its tokenizer."""

from collections.abc import Sequence
from typing import Any

from ..io.errors import ModelError
from .backend import plain
from .model import Message

_RULES, _QUESTION = "rules that a model must see", "a question"
_PROBE = (Message("system", _RULES), Message("user", _QUESTION))


class ChatTemplate:
    """The template of a tokenizer of Hugging Face's.

    Some templates refuse instructions apart from the user's message, or leave them out; then they
    stand at the head of that message. A model that can think first does not: its reply is held to
    a schema from the first token.

    ModelError where the tokenizer has no template, or one that takes neither.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer = tokenizer
        if not getattr(tokenizer, "chat_template", None):
            raise ModelError(
                f"{name}: expected a model with a chat template, got one without; "
                "take an instruction-tuned one"
            )
        self._is_merging = False
        if not self._shows_both():
            self._is_merging = True
            if not self._shows_both():
                raise ModelError(f"{name}: expected a chat template for instructions, got another")

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """The prompt, up to where the reply begins. NUL and lone surrogates are made plain."""
        return [int(token) for token in self._rendered(messages, tokenize=True)]

    def _shows_both(self) -> bool:
        try:
            text = self._rendered(_PROBE, tokenize=False)
        except Exception:  # what a template raises is its own affair
            return False
        return _RULES in text and _QUESTION in text

    def _rendered(self, messages: Sequence[Message], *, tokenize: bool) -> Any:
        return self._tokenizer.apply_chat_template(
            [
                {"role": message.role, "content": plain(message.content, len(message.content))}
                for message in (merged(messages) if self._is_merging else messages)
            ],
            add_generation_prompt=True,
            tokenize=tokenize,
            return_dict=False,
            enable_thinking=False,
        )


def merged(messages: Sequence[Message]) -> list[Message]:
    r"""The same with the system's messages at the head of the first one of the user's.

    >>> merged([Message("system", "Be brief."), Message("user", "Why?")])
    [Message(role='user', content='Be brief.\n\nWhy?')]
    """
    rules = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    first = "\n\n".join([*rules, *(message.content for message in others[:1])])
    return [Message("user", first), *others[1:]]
