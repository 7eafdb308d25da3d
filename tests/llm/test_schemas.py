"""Replies: what decodes, what does not, and what an intent weighs."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuegraph.llm.json_schema import json_schema
from cuegraph.llm.schemas import Answer, Extraction, Intent, Question, Selection, Verdict

from .instances import instances
from .test_json_schema import HANDLES, REPLIES

EXTRACTION = {
    "episodes": [
        {
            "turns": ["t1", "t2"],
            "summary": "Mira won the pottery contest.",
            "tag": "winning a contest",
            "cues": ["Mira", "pottery contest"],
        }
    ],
    "facts": [{"entity": "Mira", "aspect": "hobby", "fact": "She makes pots.", "turns": ["t2"]}],
    "dates": [{"turn": "t1", "said": "last week", "start": "2024-05-13", "end": "2024-05-19"}],
}


@pytest.mark.parametrize("reply", REPLIES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_whatever_the_schema_allows_decodes_as_the_type(
    reply: type[msgspec.Struct], data: st.DataObject
) -> None:
    value = data.draw(instances(json_schema(reply, HANDLES)))
    decoded = msgspec.json.decode(json.dumps(value), type=reply)
    assert json.loads(msgspec.json.encode(decoded)) == value


def test_an_extraction_is_read_as_it_was_written() -> None:
    found = msgspec.json.decode(json.dumps(EXTRACTION), type=Extraction)
    assert found.episodes[0].cues == ("Mira", "pottery contest")
    assert (found.facts[0].entity, found.facts[0].turns) == ("Mira", ("t2",))
    assert found.dates[0].start == "2024-05-13"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (Selection, {"moves": []}),
        (Selection, {"moves": ["m1"] * 9}),
        (Selection, {}),
        (Answer, {"cites": [], "known": True, "answer": "x" * 301}),
        (Answer, {"cites": [], "known": "yes", "answer": ""}),
        (Verdict, {"verdict": "perhaps"}),
        (Question, {"intent": {"why": 10, "when": 0, "entity": 0, "open": 0}}),
    ],
)
def test_what_is_out_of_bounds_does_not_decode(reply: Any, value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(value), type=reply)


def test_intent_is_shares_and_open_where_nothing_weighs() -> None:
    assert Intent(why=0, when=6, entity=2, open=0).weights() == {
        "why": 0.0,
        "when": 0.75,
        "entity": 0.25,
        "open": 0.0,
    }
    assert Intent(why=0, when=0, entity=0, open=0).weights() == {
        "why": 0.0,
        "when": 0.0,
        "entity": 0.0,
        "open": 1.0,
    }
