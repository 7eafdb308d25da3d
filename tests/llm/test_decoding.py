"""Replies as models write them when nothing holds them to a schema."""

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.llm.decoding import decode
from cuegraph.llm.model import Schema

from .chat_requests import PICK, Pick

WHOLE = '{"keep": ["h1", "h3"], "note": "a"}'
VALUE = Pick(("h1", "h3"), "a")


@pytest.mark.parametrize("text", [WHOLE, f" {WHOLE}\n", '{"note":"a","keep":["h1","h3"]}'])
def test_the_json_alone_is_exact(text: str) -> None:
    decoded = decode(text, PICK)
    assert (decoded.value, decoded.failure, decoded.is_exact) == (VALUE, None, True)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}```",
        f"```json\n{WHOLE}",
        f"Sure! Here it is:\n{WHOLE}\nAnything else?",
        f"\ufeff{WHOLE}",
        f"As [1] and {{name}} say [sic], h1: {WHOLE}",
        f"First I took {{}} and [1, 2]. Then: {WHOLE}",
        f'<think>Perhaps {{"keep": ["h2"]}}? Or {{"keep": [</think>\n{WHOLE}',
        f'{WHOLE} or {{"keep": ["h2"]}}',
        f'Of ["h1", "h2", "h3"]: {WHOLE}',
        '{"keep": ["h1", "h3",], "note": "a",}',
        '{"keep": ["h1", "h3" , ] , "note": "a"}',
    ],
)
def test_what_stands_around_does_not_count(text: str) -> None:
    decoded = decode(text, PICK)
    assert (decoded.value, decoded.failure, decoded.is_exact) == (VALUE, None, False)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('{"keep": [], "note": "x,}y,]"}', "x,}y,]"),
        ('Yes: {"keep": [], "note": "x,]"}', "x,]"),
        ('Yes: {"keep": [], "note": "{[\\"}"}', '{["}'),
        ('{"keep": [], "note": "a\\ud800b"}', "a?b"),
        ('{"keep": [], "note": "a\ud800b"}', "a?b"),
        ('{"keep": [], "note": "\\ud83d\\ude00"}', "😀"),
        ('{"keep": [], "note": "two\nlines"}', "two\nlines"),
        ('{"keep": [], "note": "汉字"}', "汉字"),
        ('{"keep": [], "note": "```"}', "```"),
    ],
)
def test_strings_hold_what_they_hold(text: str, note: str) -> None:
    assert decode(text, PICK).value == Pick((), note)


def test_a_list_stands_for_the_object_that_has_one() -> None:
    assert decode('["h2"]', PICK).value == Pick(("h2",))
    assert decode('```\n["h2", "h2"]\n```', PICK).value == Pick(("h2", "h2"))
    assert not decode('["h2"]', PICK).is_exact


def test_a_list_stands_for_no_object_that_has_two() -> None:
    lists = {name: {"type": "array"} for name in ("a", "b")}
    two = Schema("two", dict[str, Any], {"type": "object", "properties": lists})
    assert decode("[1]", two).failure is not None


@pytest.mark.parametrize(
    "text",
    [
        '{"keep": ["h1", "h2"',
        '{"keep": ["h1", "h2"]',
        '{"keep": ["h1"], "note": "to be con',
        '```json\n{"keep": ["h1"],\n',
        'Here: [{"keep": ["h1"]}, {"ke',
        "[",
        "{",
        '["h1"',
        '{"keep": ["h1"], "note": "' + "very " * 8192,
    ],
)
def test_json_without_its_end_is_truncated_whatever_it_holds(text: str) -> None:
    failure = decode(text, PICK).failure
    assert failure is not None
    assert (failure.kind, failure.raw) == ("truncated", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("I cannot say.", "Expecting value"),
        ("null", "expected object, got None"),
        ("{}", "expected keep"),
        ('{"keep": "h1"}', r"\$\.keep: expected array"),
        ('{"keep": ["h4"]}', r"\$\.keep\[0\]: expected one of 3 values, got 'h4'"),
        ('{"keep": ["h1", "h1", "h1", "h1"]}', r"\$\.keep: expected at most 3 .*got 4"),
        (
            '{"keep": [], "note": "123456789012345678901"}',
            r"\$\.note: expected at most 20 .*got 21",
        ),
        ('{"keep": [], "more": 1}', r"expected no more than keep, note, got \['more'\]"),
        ('{"keep": [], "note": NaN}', "note"),
        ("{'keep': ['h1']}", "Expecting"),
        ('{"keep": ["h1" "h2"]}', "Expecting"),
        ("[" * 100_000 + "]" * 100_000, "recursion"),
        ('{"keep": ' + "9" * 5000 + "}", "4300 digits"),
        ("<html>Please log in</html>", "Expecting value"),
    ],
)
def test_anything_else_is_invalid_and_kept(text: str, message: str) -> None:
    decoded = decode(text, PICK)
    assert decoded.failure is not None
    assert (decoded.value, decoded.failure.kind, decoded.failure.raw) == (None, "invalid", text)
    with pytest.raises(ValueError, match=message):
        raise ValueError(decoded.failure.message)


def test_the_type_is_a_check_of_its_own() -> None:
    class Even(msgspec.Struct):
        n: int

        def __post_init__(self) -> None:
            if self.n % 2:
                raise ValueError("odd")

    schema = Schema("even", Even, {"type": "object", "properties": {"n": {"type": "integer"}}})
    assert decode('{"n": 2}', schema).value.n == 2
    failure = decode('{"n": 3}', schema).failure
    assert failure is not None
    assert "odd" in failure.message


@pytest.mark.parametrize(
    "piece", ["[", "{", "[0] ", '{"a": ', '"', "\\", "[1] ", '{"a":1} ', "```", ",]", '["\\']
)
def test_a_megabyte_of_anything_takes_little_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.thread_time()
    assert decode(text, PICK).value is None
    assert decode(f"So: {text}", PICK).value is None
    assert time.thread_time() - began < 2.0


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["h1"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["keep", "note", "x"]), inner),
)


@given(st.text() | st.text('{}[]",\\:eh1 \n`') | _JSON.map(json.dumps))
def test_no_text_is_too_much(text: str) -> None:
    decoded = decode(text, PICK)
    if decoded.failure is None:
        assert isinstance(decoded.value, Pick)
        assert set(decoded.value.keep) <= {"h1", "h2", "h3"}
        assert len(decoded.value.keep) <= 3
    else:
        assert decoded.failure.raw == text


@given(
    st.lists(st.sampled_from(["h1", "h2", "h3"]), max_size=3),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.integers(0, 80),
)
def test_what_is_written_is_read_and_what_is_cut_is_not(
    keep: list[str], note: str, length: int
) -> None:
    value = Pick(tuple(keep), note)
    text = msgspec.json.encode(value).decode()
    assert decode(text, PICK).value == value
    assert decode(f"It is {text}, I think.", PICK).value == value
    if 1 < length < len(text):
        failure = decode(text[:length], PICK).failure
        assert failure is not None
        assert failure.kind == "truncated"
