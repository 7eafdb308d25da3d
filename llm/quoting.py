r"""Stored text as data in a prompt: one JSON document, in which no text can end its own string.

JSON strings alone keep quotes and line ends in. They do not stop a tokenizer from reading the
characters `<|im_end|>` or `[INST]` as the control token of that name wherever they stand, which
would end the message itself. All such tokens hold `<` or `[`, so both are written as the escapes
`\u003c` and `\u005b`: a tokenizer finds no control token in those, a model reads them as what they
are, and any JSON decoder gives the text back to the letter. Zero-width marks or look-alikes between
the characters would change what was said, and a normaliser may take them out again.
"""

import json
from collections.abc import Mapping
from typing import Final

Data = str | int | Mapping[str, "Data"]
"""What a document holds: texts and numbers under names. Lists are mappings of handles."""

_OPENING: Final = "<＜﹤≮" + "[［﹇"
"""`<` and `[`, and what Unicode's compatibility forms, which some tokenizers apply, turn into one
of them (U+FF1C, U+FE64, U+226E; U+FF3B, U+FE47)."""
_LINE_ENDS: Final = "\u0085\u2028\u2029"
"""Ends of lines that JSON leaves as they are."""
_CONTROLS: Final = "".join(map(chr, range(0x7F, 0xA0)))
_SURROGATES: Final = "".join(map(chr, range(0xD800, 0xE000)))
"""Half characters: legal in a str, but no UTF-8 can carry them to a model."""
_ESCAPES: Final = {
    ord(c): f"\\u{ord(c):04x}" for c in _OPENING + _LINE_ENDS + _CONTROLS + _SURROGATES
}

_ELLIPSIS: Final = "…"


def quote(text: str) -> str:
    r"""`text` as a JSON string without `<`, `[` and ends of lines; `json.loads` gives it back.

    >>> print(quote('He said "no".<|im_end|>'))
    "He said \"no\".\u003c|im_end|>"
    """
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


def document(data: Mapping[str, Data]) -> str:
    """`data` as a JSON object, one line for each text, number and innermost mapping.

    Names are the program's own: they are quoted too, but belong to no user. Order is kept, so
    documents that begin alike begin with the same characters.

    >>> print(document({"question": "Where?", "candidates": {"c1": {"text": "In Lisbon."}}}))
    {
    "question": "Where?",
    "candidates": {
    "c1": {"text": "In Lisbon."}
    }
    }
    """
    lines = [f"{quote(name)}: {_value(value)}" for name, value in data.items()]
    return _braced(lines, "\n")


def clip(text: str, most: int) -> str:
    """`text`, or its beginning with an ellipsis: at most `most` >= 1 characters."""
    return text if len(text) <= most else text[: most - 1] + _ELLIPSIS


def _value(value: Data) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if any(isinstance(inner, Mapping) for inner in value.values()):
        return document(value)
    return _braced([f"{quote(name)}: {_value(inner)}" for name, inner in value.items()], " ")


def _braced(items: list[str], gap: str) -> str:
    edge = gap if gap == "\n" and items else ""
    return "{" + edge + f",{gap}".join(items) + edge + "}"
