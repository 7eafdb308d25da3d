"""What the JSON schemas of replies allow, by the words of JSON Schema 2020-12."""

from typing import Any

import pytest

from cuegraph.llm.conforming import misfit

OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"enum": ["x"]}}},
    "required": ["a"],
    "additionalProperties": False,
}
CASES: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    # schema, values that it allows, values that it does not
    ({}, [None, 1, "", [], {}], []),
    ({"title": "t", "description": "d", "default": 1, "examples": []}, [None, 0], []),
    ({"type": "null"}, [None], [0, "", [], {}, False]),
    ({"type": "boolean"}, [True, False], [0, 1, None, "true"]),
    ({"type": "integer"}, [0, -3, 2.0, 10**400], [0.5, True, "1", None]),
    ({"type": "number"}, [0, 0.5, -1e300], [True, False, "1", None]),
    ({"type": "string"}, ["", "x"], [1, None, ["x"]]),
    ({"type": "array"}, [[], [1, "x"]], ["x", {}, None]),
    ({"type": "object"}, [{}, {"x": 1}], [[], "x", None]),
    ({"type": ["string", "null"]}, ["", None], [0, False]),
    ({"enum": ["x", 1, None]}, ["x", 1, 1.0, None], ["X", True, 2, [], ""]),
    ({"enum": [True]}, [True], [1, "true", False]),
    ({"enum": [[1], {"a": 1}]}, [[1], {"a": 1}], [1, [], {"a": 2}]),
    ({"minimum": 0, "maximum": 9}, [0, 9, 0.5, "text", None, True], [-1, 10, 9.5]),
    ({"minLength": 1, "maxLength": 2}, ["a", "汉字", "😀😀", 7, []], ["", "abc"]),
    ({"minItems": 1, "maxItems": 2}, [[1], [1, 2], "text"], [[], [1, 2, 3]]),
    ({"items": {"type": "string"}}, [[], ["a"], "text"], [[1], ["a", None]]),
    ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["", 5, None], [4]),
    ({"additionalProperties": {"type": "integer"}}, [{}, {"x": 1}, 7], [{"x": "1"}]),
    ({"properties": {"a": {"type": "null"}}}, [{}, {"a": None}, {"b": 1}], [{"a": 1}]),
    (
        OBJECT,
        [{"a": 1}, {"a": 1, "b": ["x", "x"]}],
        [{}, {"b": []}, {"a": "1"}, {"a": 1, "b": ["y"]}, {"a": 1, "c": 2}, [], None],
    ),
]


@pytest.mark.parametrize(("schema", "allowed", "denied"), CASES)
def test_a_schema_allows_what_it_says(
    schema: dict[str, Any], allowed: list[Any], denied: list[Any]
) -> None:
    assert [value for value in allowed if misfit(value, schema)] == []
    assert [value for value in denied if not misfit(value, schema)] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "$: expected object, got []"),
        ({"b": []}, "$: expected a, got ['b']"),
        ({"a": 1, "b": ["x", "y"]}, "$.b[1]: expected one of 1 values, got 'y'"),
        ({"a": 1, "c": 2}, "$: expected no more than a, b, got ['c']"),
        ({"a": "x" * 100}, "$.a: expected integer, got '" + "x" * 59),
    ],
)
def test_a_misfit_says_where_and_what(value: Any, expected: str) -> None:
    assert misfit(value, OBJECT) == expected


def test_a_keyword_that_cannot_be_checked_is_a_misfit() -> None:
    schema = {"properties": {"a": {"pattern": "x", "$ref": "#"}}}
    assert misfit({"a": "x"}, schema) == "$.a: expected a schema without $ref, pattern"
