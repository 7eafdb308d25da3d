"""The value in a reply's text, whether or not its server kept to the schema."""

import json
import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import msgspec

from .conforming import misfit
from .model import Failure, Schema

# A bracket that JSON may begin with, so that "[see {name}]" in prose is none.
_START = re.compile(r'\{\s*(?:["}]|\Z)|\[\s*(?:["{\[\]\d-]|\Z)')
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A string to its end, a quotation mark that ends nowhere, a bracket.
_TOKEN = re.compile(_STRING + r'|["{}\[\]]', re.DOTALL)
_LAST_COMMA = re.compile(f"({_STRING})" + r"|,(?=\s*[}\]])", re.DOTALL)
# json and msgspec raise ValueErrors, but for brackets that nest deeper than the stack.
_ERRORS = (ValueError, RecursionError)
_THOUGHT_END = "</think>"
# A text of brackets alone would be tried for seconds.
MOST_CANDIDATES = 64


class Decoded(msgspec.Struct, frozen=True):
    """What a text holds: a value of the schema's type, or a failure.

    is_exact  the text was the value's JSON and nothing else, as a constrained reply is
    """

    value: Any
    failure: Failure | None
    is_exact: bool = False


def decode(text: str, schema: Schema) -> Decoded:
    """The first JSON in `text` that is what `schema` asks for, in its type and its bounds.

    It may stand in fences, in prose or after a thought, have a comma after a last element, line
    breaks inside strings, lone surrogates (each becomes "?"), or be the list of an object that has
    one list. JSON that is cut off makes the text truncated, whatever is whole inside it; all else
    is invalid. The failure keeps the text.
    """
    try:
        return Decoded(_typed(json.loads(text), schema), None, is_exact=True)
    except _ERRORS as error:
        problem = str(error)
    candidates = list(islice(_candidates(text.rpartition(_THOUGHT_END)[2]), MOST_CANDIDATES))
    # A list in prose, perhaps of what there was to choose from, must not stand before the object.
    for shape, candidate in product((_as_it_is, _wrapped), candidates):
        if candidate is None:
            return Decoded(None, Failure("truncated", "expected JSON to its end", text))
        try:
            return Decoded(_typed(shape(_loaded(candidate), schema), schema), None)
        except _ERRORS as error:
            problem = str(error)
    return Decoded(None, Failure("invalid", f"expected JSON, got ({problem})", text))


def _candidates(text: str) -> Iterator[str | None]:
    """The outermost bracketed parts of `text`, in order; None, last, for one without an end."""
    end = 0
    while start := _START.search(text, end):
        end = _end(text, start.start())
        yield text[start.start() : end] if end else None
        if not end:
            return


def _end(text: str, start: int) -> int:
    """The index after the bracket that closes the one at `start`; 0 where none does."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case '"':
                return 0
        if depth == 0:
            return token.end()
    return 0


def _loaded(candidate: str) -> Any:
    plain = _LAST_COMMA.sub(lambda found: found[1] or "", candidate)
    return json.loads(plain, strict=False)  # not strict: a string may hold a line break as it is


def _as_it_is(value: Any, _: Schema) -> Any:
    return value


def _wrapped(value: Any, schema: Schema) -> Any:
    """The object whose one list is `value`, where `schema` asks for such an object."""
    fields = schema.json.get("properties", {})
    lists = [name for name, form in fields.items() if form.get("type") == "array"]
    return {lists[0]: value} if isinstance(value, list) and len(lists) == 1 else value


def _typed(value: Any, schema: Schema) -> Any:
    if problem := misfit(value, schema.json):
        raise ValueError(problem)
    # Through bytes, which is where a lone surrogate, of which UTF-8 knows nothing, can be replaced.
    whole = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return msgspec.json.decode(whole, type=schema.type)
