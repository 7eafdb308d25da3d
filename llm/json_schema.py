"""JSON schemas of replies, in the few keywords that every constrained decoder keeps to.

`type`, `enum`, `minimum` and `maximum`, `maxLength`, `minItems` and `maxItems`, `properties`,
`required`, `additionalProperties: false`: no references, no patterns, no unions. Everything is
bounded, so a reply has a longest form and a decoder that keeps to the schema comes to an end.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from .schemas import HANDLE

JsonSchema = dict[str, Any]

ESCAPE_BYTES: Final = 6
"""Most bytes of one character in a JSON string: `\\u0001`; raw UTF-8 takes up to four."""


def json_schema(
    reply: type[msgspec.Struct],
    handles: Sequence[str] = (),
    at_most: Mapping[str, int] = MappingProxyType({}),
) -> JsonSchema:
    """What a reply must be, self-contained; equal arguments give equal schemas, key order included.

    handles  what each `Handle` is one of; a list of them has no more items than there are
    at_most  by field name, items of a list where the request allows fewer than the type

    TypeError names the field that has no bound or needs another keyword; ValueError where there is
    nothing to choose from.

    >>> from cuegraph.llm.schemas import Selection
    >>> json_schema(Selection, ["m1", "m2"])["properties"]["moves"]["maxItems"]
    2
    """
    return _of(inspect.type_info(reply), _Request(handles, at_most), reply.__name__)


def longest_reply(schema: JsonSchema, per_character: int = ESCAPE_BYTES) -> int:
    """Bytes of the longest reply that `schema` allows, with a space after each comma and colon.

    per_character  bytes for each character of a string that is not from an enumeration: 6 is the
                   worst case, and so the most tokens that any byte-level tokenizer can spend; 1 is
                   a tokenizer that spends at most one token on a character
    """
    if "enum" in schema:
        return max(len(json.dumps(value)) for value in schema["enum"])
    match schema["type"]:
        case "object":
            fields = schema["properties"].items()
            sizes = [len(json.dumps(k)) + 2 + longest_reply(v, per_character) for k, v in fields]
            return sum(sizes) + 2 * (len(sizes) - 1) + len("{}")
        case "array":
            item, n = longest_reply(schema["items"], per_character), int(schema["maxItems"])
            return n * item + 2 * max(n - 1, 0) + len("[]")
        case "string":
            return int(schema["maxLength"]) * per_character + len('""')
        case "integer":
            return max(len(f"{schema[bound]}") for bound in ("minimum", "maximum"))
        case _:
            return len("false")


def is_handle(info: inspect.Type) -> bool:
    """Whether a type is `Handle`."""
    return isinstance(info, inspect.Metadata) and HANDLE in (info.extra or {})


class _Request(NamedTuple):
    handles: Sequence[str]
    at_most: Mapping[str, int]


def _of(info: inspect.Type, request: _Request, where: str) -> JsonSchema:
    match info:
        case inspect.Metadata() if is_handle(info):
            return _enum(request.handles, where)
        case inspect.Metadata(type=inner):
            return _of(inner, request, where)
        case inspect.StructType(fields=fields):
            return _object(fields, request, where)
        case inspect.VarTupleType(max_length=int()):
            return _array(info, request, where)
    return _scalar(info, where)


def _scalar(info: inspect.Type, where: str) -> JsonSchema:
    match info:
        case inspect.StrType(max_length=int(most), min_length=None, pattern=None):
            return {"type": "string", "maxLength": most}
        case inspect.IntType(ge=int(least), le=int(most), multiple_of=None):
            return {"type": "integer", "minimum": least, "maximum": most}
        case inspect.LiteralType(values=values):
            return _enum(values, where)
        case inspect.BoolType():
            return {"type": "boolean"}
    raise TypeError(f"{where}: expected a bounded type, got {info}")


def _object(fields: Sequence[inspect.Field], request: _Request, where: str) -> JsonSchema:
    if missing := [field.name for field in fields if not field.required]:
        raise TypeError(f"{where}: expected fields without defaults, got {missing}")
    return {
        "type": "object",
        "properties": {f.encode_name: _of(f.type, request, f.name) for f in fields},
        "required": [field.encode_name for field in fields],
        "additionalProperties": False,
    }


def _array(info: inspect.VarTupleType, request: _Request, where: str) -> JsonSchema:
    items = _of(info.item_type, request, where)
    most = min(info.max_length or 0, request.at_most.get(where, sys.maxsize))
    if is_handle(info.item_type):
        most = min(most, len(request.handles))
    least = min(info.min_length or 0, most)
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _enum(values: Sequence[object], where: str) -> JsonSchema:
    if not values or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{where}: expected at least one string to choose from, got {values!r}")
    return {"type": "string", "enum": list(values)}
