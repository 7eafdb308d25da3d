"""What the rules read in a question, against readings by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from cuegraph.engine.analysis import INTENTS, Analysis, analyse
from cuegraph.engine.space import Space
from cuegraph.io import TurnRecord

Maker = Callable[..., TurnRecord]
Opener = Callable[..., Space]


def us(iso: str) -> int:
    since = datetime.fromisoformat(iso) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1)


@pytest.fixture
def space(open_space: Opener, record: Maker) -> Space:
    space = open_space()
    space.add(
        [
            record("our boss Theodora, Teddy for short, came", speaker="Ada Bell", id="0"),
            record("we sailed to Lisbon yesterday", speaker="Teo", time="2024-05-24T10:00+00:00"),
            # The newest by its time; said half past midnight in Tokyo.
            record("I met Mira Haddad", speaker="Teo", time="2024-06-02T00:30+09:00"),
            record("no time here", speaker="Noor"),
        ]
    )
    return space


@pytest.fixture
def ask(space: Space) -> Callable[..., Analysis]:
    return lambda text, **options: analyse(text, space.snapshot(), **options)


@pytest.fixture
def labels(space: Space) -> Callable[[tuple[int, ...]], list[str]]:
    return lambda nodes: [space.graph.label(node) for node in nodes]


Ask = Callable[..., Analysis]
Labels = Callable[[tuple[int, ...]], list[str]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why did she move?", {"why"}),
        ("How come she moved?", {"why"}),
        ("What made her move?", {"why"}),
        ("What was the reason?", {"why"}),
        ("What inspired her?", {"why"}),
        ("When did she move?", {"when"}),
        ("How long was she there?", {"when"}),
        ("Which year was it?", {"when", "entity"}),
        ("What did she do before that?", {"when"}),
        ("What month is it?", {"when"}),
        ("Who moved?", {"entity"}),
        ("Where does she live?", {"entity"}),
        ("What is the name of her dog?", {"entity"}),
        ("What's the name?", {"entity"}),
        ("What kind of boat?", {"entity"}),
        ("Why and when and where?", {"why", "when", "entity"}),
        ("Tell me about boats", set()),
        ("Whenever, somewhere", set()),
        ("", set()),
        ("她为什么搬家？", {"why"}),
        ("是什么原因", {"why"}),
        ("他们什么时候搬家的？", {"when"}),
        ("哪年", {"when"}),
        ("谁搬家了？", {"entity"}),
        ("他住在哪里？", {"entity"}),
        ("我爱猫", set()),
        ("なぜですか", {"why"}),
        ("いつですか", {"when"}),
        ("誰ですか", {"entity"}),
    ],
)
def test_intents_are_soft_weights(ask: Ask, text: str, expected: set[str]) -> None:
    intent = ask(text).intent
    assert set(intent) == set(INTENTS)
    assert sum(intent.values()) == pytest.approx(1)
    assert {name for name in INTENTS[:3] if intent[name] > 0} == expected
    assert intent["open"] == (0.25 if expected else 1.0)
    assert {intent[name] for name in expected} <= {0.75 / max(len(expected), 1)}


def test_times_are_read_from_the_time_of_asking(ask: Ask) -> None:
    (window,) = ask("What did we do yesterday?", asked_us=us("2023-03-01T12:00+00:00"),
                    utc_offset_min=0).windows  # fmt: skip
    start, end = us("2023-02-28T00:00+00:00"), us("2023-03-01T00:00+00:00")
    assert (window.start_us, window.end_us) == (start, end)


def test_or_else_from_the_newest_turn_in_its_speakers_calendar(ask: Ask) -> None:
    # 00:30 on 2 June in Tokyo is 15:30 on 1 June in UTC: yesterday is the 1st in Tokyo.
    (window,) = ask("What did we do yesterday?").windows
    start, end = us("2024-06-01T00:00+09:00"), us("2024-06-02T00:00+09:00")
    assert (window.start_us, window.end_us) == (start, end)


def test_the_askers_offset_counts_where_it_is_given(ask: Ask) -> None:
    (window,) = ask("yesterday", utc_offset_min=0).windows
    assert window.start_us == us("2024-05-31T00:00+00:00")


def test_no_time_is_asked_for(ask: Ask) -> None:
    assert ask("What did we do?").windows == ()


@pytest.mark.parametrize("text", ["What did we do yesterday?", "on 3 May 2024", "Since last week?"])
def test_a_memory_without_times_can_be_asked(open_space: Opener, record: Maker, text: str) -> None:
    space = open_space()
    assert analyse(text, space.snapshot()).names == ()
    space.add([record("no time here")])
    assert analyse(text, space.snapshot()).speakers == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is Lisbon?", ["Lisbon"]),
        ("where is lisbon's harbour?", ["Lisbon"]),
        ("Did Teddy come?", ["Teddy", "Theodora"]),
        ("Did Theodora come?", ["Theodora", "Teddy"]),
        ("Lisbon, lisbon, LISBON", ["Lisbon"]),
        ("what did mira haddad say", ["Mira Haddad"]),
        ("what did mira say", []),
        ("Berlin?", []),
        ("sailed", []),
        ("", []),
        ("\ud800 Lisbon", ["Lisbon"]),
    ],
)
def test_names(ask: Ask, labels: Labels, text: str, expected: list[str]) -> None:
    assert labels(ask(text).names) == expected


def test_speakers_are_those_names_that_speak(ask: Ask, labels: Labels) -> None:
    found = ask("Did Teo or Ada Bell meet Mira Haddad in Lisbon?")
    assert set(labels(found.names)) == {"Teo", "Ada Bell", "Mira Haddad", "Lisbon"}
    assert set(labels(found.speakers)) == {"Teo", "Ada Bell"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did we do on 23 May 2024?", ["2024-05-23"]),
        ("What did we do in May 2024?", ["2024-05"]),
        ("What did we do on 22 May 2024?", []),
        ("What did we do?", []),
    ],
)
def test_dates_are_those_that_the_memory_speaks_of(
    ask: Ask, labels: Labels, text: str, expected: list[str]
) -> None:
    assert labels(ask(text, utc_offset_min=0).dates) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Did Teo sail to Lisbon?", ("sail", "lisbon")),
        ("Did Ada Bell's boats sail?", ("boat", "sail")),
        ("Who is Teo?", ("teo",)),  # nothing else is left
        ("boats boats", ("boat", "boat")),
        ("我爱猫", ("我", "爱", "猫", "我爱", "爱猫")),
        ("who was it?", ()),
    ],
)
def test_terms_leave_out_the_names_of_speakers(
    ask: Ask, text: str, expected: tuple[str, ...]
) -> None:
    assert ask(text).terms == expected
