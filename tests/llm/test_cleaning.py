"""Cleaning: known handles, each thing once, nothing that says nothing."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuegraph.llm.cleaning import Cleaned, clean
from cuegraph.llm.json_schema import json_schema
from cuegraph.llm.schemas import (
    Answer,
    Cause,
    Date,
    Episode,
    Extraction,
    Fact,
    Intent,
    Links,
    Question,
    Routing,
    SameEntity,
    Selection,
    Topic,
    Topics,
    Verdict,
    Window,
)

from .instances import instances
from .test_json_schema import HANDLES, REPLIES

KNOWN = {f"{letter}{i}" for letter in "temc" for i in range(1, 5)}
NO_INTENT = Intent(why=0, when=0, entity=0, open=0)


def dropped(reply: msgspec.Struct) -> tuple[Any, int, int, int]:
    cleaned = clean(reply, KNOWN)
    return cleaned.value, cleaned.unknown, cleaned.repeated, cleaned.empty


def test_handles_stay_in_order_once_each() -> None:
    keep = Routing(keep=("c2", "c9", "c1", "c2", "c9"), sufficient=True)
    assert dropped(keep) == (Routing(keep=("c2", "c1"), sufficient=True), 2, 1, 0)
    assert dropped(Selection(moves=("m7",))) == (Selection(moves=()), 1, 0, 0)
    assert dropped(Verdict(verdict="match")) == (Verdict(verdict="match"), 0, 0, 0)


def test_episodes_need_a_turn_a_tag_and_a_cue() -> None:
    good = Episode(turns=("t1",), summary="", tag="winning", cues=("Mira",))
    extraction = Extraction(
        episodes=(
            Episode(
                turns=("t1", "t1", "t8"),
                summary=" Mira\n won.\t",
                tag="  winning a\x00contest",
                cues=("Mira", "", "MIRA", " pots "),
            ),
            msgspec.structs.replace(good, turns=("t8",)),
            msgspec.structs.replace(good, tag=" "),
            msgspec.structs.replace(good, cues=(" ",)),
            msgspec.structs.replace(good, tag="Winning a Contest", cues=("pots",)),
        ),
        facts=(),
        dates=(),
    )
    (kept,), *counts = (clean(extraction, KNOWN).value.episodes, *dropped(extraction)[1:])
    assert kept == Episode(("t1",), "Mira won.", "winning a contest", ("Mira", "pots"))
    # Unknown: t8 twice. Repeated: t1, MIRA, the last episode. Empty: a cue in the first, a cue in
    # the fourth, and three episodes.
    assert counts == [2, 3, 5]


def test_facts_need_all_their_parts_and_are_told_once() -> None:
    fact = Fact(entity="Mira", aspect="hobby", fact="She makes pots.", turns=("t1",))
    facts = (
        fact,
        msgspec.structs.replace(fact, entity="mira", fact="she makes  pots.", turns=("t2",)),
        msgspec.structs.replace(fact, aspect=""),
        msgspec.structs.replace(fact, fact="She sells pots."),
        msgspec.structs.replace(fact, turns=()),
    )
    value, *counts = dropped(Extraction(episodes=(), facts=facts, dates=()))
    assert value.facts == (fact, facts[3])
    assert counts == [0, 1, 2]


def test_dates_that_are_none_go() -> None:
    week = Date(turn="t1", said="last week", start="2024-05-13", end="2024-05-19")
    dates = (
        week,
        msgspec.structs.replace(week, turn="t9"),
        msgspec.structs.replace(week, start="May"),
        msgspec.structs.replace(week, end="2024-05-12"),
        msgspec.structs.replace(week, said=""),
    )
    value, *counts = dropped(Extraction(episodes=(), facts=(), dates=dates))
    assert (value.dates, counts) == ((week,), [1, 0, 3])


def test_an_episode_is_in_one_topic() -> None:
    topics = Topics(
        topics=(
            Topic("pottery", ("e1", "e2")),
            Topic("Pottery", ("e3",)),
            Topic("clay", ("e2", "e1")),
            Topic("", ("e3",)),
            Topic("rain", ("e2", "e4")),
        )
    )
    value, *counts = dropped(topics)
    assert value.topics == (Topic("pottery", ("e1", "e2")), Topic("rain", ("e4",)))
    assert counts == [0, 4, 1]  # repeated: a label, then three episodes


def test_links_join_two_things_once() -> None:
    cause = Cause(cause="e1", effect="e2", evidence="because of it", confidence=80)
    same = SameEntity(first="e1", second="e3", name="Rex", confidence=90)
    links = Links(
        causes=(
            cause,
            msgspec.structs.replace(cause, evidence="so", confidence=90),
            msgspec.structs.replace(cause, effect="e1"),
            msgspec.structs.replace(cause, cause="e7"),
        ),
        entities=(
            same,
            SameEntity(first="e3", second="e1", name="rex", confidence=10),
            msgspec.structs.replace(same, name=" "),
        ),
    )
    assert dropped(links) == (Links(causes=(cause,), entities=(same,)), 1, 2, 2)
    # The other direction is another link: which of the two holds is the graph's to decide.
    turned = msgspec.structs.replace(cause, cause="e2", effect="e1")
    both = Links(causes=(cause, turned), entities=())
    assert dropped(both) == (both, 0, 0, 0)


@pytest.mark.parametrize(
    ("start", "end", "kept", "empty"),
    [
        ("2024-05", "2024-05", True, 0),
        ("2024-05", "", True, 0),
        ("", "", True, 0),
        ("May", "2024", False, 1),
        ("2024", "2023", False, 1),
    ],
)
def test_a_window_that_is_none_is_open(start: str, end: str, kept: bool, empty: int) -> None:
    question = Question(intent=NO_INTENT, cues=("Mira",), window=Window(start=start, end=end))
    window = Window(start, end) if kept else Window("", "")
    assert dropped(question) == (Question(NO_INTENT, ("Mira",), window), 0, 0, empty)


def test_an_answer_is_known_or_blank() -> None:
    assert clean(Answer(("e1",), True, " In\nMay. "), KNOWN).value == Answer(
        ("e1",), True, "In May."
    )
    assert clean(Answer(("e1",), True, " \t"), KNOWN).value == Answer(("e1",), False, "")
    assert clean(Answer((), False, "In May."), KNOWN).value == Answer((), False, "")


@pytest.mark.parametrize("reply", REPLIES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_a_clean_reply_stays_as_it_is(reply: type[msgspec.Struct], data: st.DataObject) -> None:
    value = data.draw(instances(json_schema(reply, HANDLES)))
    once = clean(msgspec.convert(value, reply), HANDLES[:6]).value
    assert clean(once, HANDLES[:6]) == Cleaned(once, 0, 0, 0)
