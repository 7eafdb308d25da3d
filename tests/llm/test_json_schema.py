"""JSON schemas: a few keywords, everything bounded, equal for equal requests."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from cuegraph.llm import schemas
from cuegraph.llm.json_schema import json_schema, longest_reply
from cuegraph.llm.schemas import Handle

from .instances import longest

REPLIES = [
    schemas.Extraction,
    schemas.Topics,
    schemas.Links,
    schemas.Question,
    schemas.Selection,
    schemas.Routing,
    schemas.Answer,
    schemas.Verdict,
]
HANDLES = [f"e{i}" for i in range(1, 13)]
KEYWORDS = {
    "object": {"type", "properties", "required", "additionalProperties"},
    "array": {"type", "items", "minItems", "maxItems"},
    "integer": {"type", "minimum", "maximum"},
    "boolean": {"type"},
}


class Inner(msgspec.Struct):
    what: Annotated[str, Meta(max_length=5)]
    ref: Handle


class Outer(msgspec.Struct):
    items: Annotated[tuple[Inner, ...], Meta(max_length=4)]
    refs: Annotated[tuple[Handle, ...], Meta(min_length=1, max_length=9)]
    kind: Literal["a", "b"]
    share: Annotated[int, Meta(ge=0, le=100)]
    sure: bool


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all schemas in it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
    for form in inner:
        yield from parts(form)


def test_schema_is_written_out_with_the_handles_of_the_request() -> None:
    ref = {"type": "string", "enum": ["t1", "t2"]}
    assert json_schema(Outer, ["t1", "t2"], {"items": 3}) == {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"what": {"type": "string", "maxLength": 5}, "ref": ref},
                    "required": ["what", "ref"],
                    "additionalProperties": False,
                },
                "minItems": 0,
                "maxItems": 3,
            },
            "refs": {"type": "array", "items": ref, "minItems": 1, "maxItems": 2},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "share": {"type": "integer", "minimum": 0, "maximum": 100},
            "sure": {"type": "boolean"},
        },
        "required": ["items", "refs", "kind", "share", "sure"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("reply", REPLIES)
def test_replies_use_the_keywords_that_every_decoder_keeps_to(reply: type[msgspec.Struct]) -> None:
    for part in parts(json_schema(reply, HANDLES)):
        if part["type"] == "string":
            assert set(part) in ({"type", "enum"}, {"type", "maxLength"})
        else:
            assert set(part) == KEYWORDS[part["type"]]
        if part["type"] == "object":
            assert list(part["properties"]) == part["required"]
            assert part["additionalProperties"] is False


@pytest.mark.parametrize("reply", REPLIES)
def test_fields_stand_in_the_order_of_the_type(reply: type[msgspec.Struct]) -> None:
    schema = json_schema(reply, HANDLES)
    assert list(schema["properties"]) == list(reply.__struct_fields__)
    assert json.dumps(schema) == json.dumps(json_schema(reply, HANDLES))


def test_a_list_has_no_more_items_than_type_handles_and_request_allow() -> None:
    def refs(n: int, most: int) -> int:
        handles = [f"t{i}" for i in range(n)]
        schema = json_schema(Outer, handles, {"refs": most})
        return int(schema["properties"]["refs"]["maxItems"])

    assert [refs(20, 20), refs(3, 20), refs(20, 5)] == [9, 3, 5]


@pytest.mark.parametrize(
    "kind",
    [
        str,
        int,
        float,
        Annotated[int, Meta(ge=0)],
        Annotated[float, Meta(ge=0, le=1)],
        tuple[bool, ...],
        list[bool],
        bool | None,
        dict[str, bool],
        Annotated[str, Meta(max_length=3, pattern="a")],
        Any,
    ],
)
def test_what_has_no_bound_is_refused_by_name(kind: Any) -> None:
    loose = msgspec.defstruct("Loose", [("loose", kind)])
    with pytest.raises(TypeError, match=r"loose: expected a bounded type"):
        json_schema(loose)


def test_defaults_and_empty_choices_are_refused() -> None:
    with pytest.raises(TypeError, match=r"without defaults, got \['flag'\]"):
        json_schema(msgspec.defstruct("Optional", [("flag", bool, False)]))
    with pytest.raises(ValueError, match=r"moves: expected at least one"):
        json_schema(schemas.Selection, [])
    with pytest.raises(ValueError, match=r"n: expected at least one string"):
        json_schema(msgspec.defstruct("Numbers", [("n", Literal[1, 2])]))


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize(("character", "size"), [("a", 1), ("汉", 3), ("😀", 4), ("\x01", 6)])
def test_longest_reply_is_as_long_as_the_longest_that_can_be_written(
    reply: type[msgspec.Struct], character: str, size: int
) -> None:
    schema = json_schema(reply, HANDLES)
    written = json.dumps(longest(schema, character), ensure_ascii=False)
    assert longest_reply(schema, size) == len(written.encode())
    assert longest_reply(schema) >= len(written.encode())


@pytest.mark.parametrize("reply", REPLIES)
def test_the_longest_reply_is_of_the_type(reply: type[msgspec.Struct]) -> None:
    schema = json_schema(reply, HANDLES)
    for character in "a汉😀\x01":
        value = longest(schema, character)
        assert msgspec.to_builtins(msgspec.convert(value, reply)) == msgspec.to_builtins(
            msgspec.json.decode(json.dumps(value), type=reply)
        )
