"""Distractors say the same as their originals, but for names, dates and numbers."""

import re
from datetime import UTC, datetime

import numpy as np
import pytest

from cuegraph import InputError, Turn
from cuegraph.bench.distractors import NAMES, SEED, Conversations, copies, names_in, swap_of

FIRST = datetime(2021, 5, 8, 13, 56, tzinfo=UTC)
SAID = (
    ("Orla", "Hi Piet! My kayak cost 340 coins on 21st May 2019.", "a photo of a kayak"),
    ("Piet", "Orla's kayak is from Bergen; I may visit in march, on a Tuesday.", None),
    (
        "Orla",
        "Bergen has 12 bridges and twenty-two towers. OK, see you on Tues!",
        "a bergen bridge",
    ),
    ("Piet", "The 1990s had 12 of them in Bergen, ORLA. Two fell in May.", None),
)
TURNS = [
    Turn(text, id=f"D1:{i}", session="session_1", speaker=speaker, caption=caption, time=FIRST)
    for i, (speaker, text, caption) in enumerate(SAID)
]
TALK: Conversations = [("one", TURNS), ("two", TURNS[:2])]
WORDS = re.compile(r"[^\W\d_]+|\d+")


def words(turns: list[Turn]) -> list[list[str]]:
    return [WORDS.findall(f"{t.speaker} {t.text} {t.caption or ''}") for t in turns]


def test_names_are_speakers_and_what_is_capitalised_in_sentences() -> None:
    assert names_in(TURNS) == {"orla", "piet", "bergen"}


def test_a_word_that_is_more_often_small_is_no_name() -> None:
    texts = ["We saw the Bridge today.", "The bridge fell.", "That bridge again."]
    assert names_in([Turn(text, speaker="Orla") for text in texts]) == {"orla"}


@pytest.mark.parametrize("number", range(8))
def test_a_copy_leaves_no_name_date_or_number(number: int) -> None:
    copy = copies(TALK, 100)[2 * number]
    said = {word.casefold() for text in words(copy.turns) for word in text}
    gone = "orla piet bergen 340 21 2019 12 twenty two tuesday tues".split()
    assert said.isdisjoint(gone)
    # A modal verb and a march stay; the months of the same letters do not.
    assert "I may visit in march" in copy.turns[1].text
    assert not re.search(r"\bMay\b", " ".join(turn.text for turn in copy.turns))


@pytest.mark.parametrize("number", range(8))
def test_swapping_is_consistent_and_leaves_the_rest(number: int) -> None:
    copy = copies(TALK, 100)[2 * number]
    swapped: dict[str, str] = {}
    for said, others in zip(words(copy.origins), words(copy.turns), strict=True):
        for word, other in zip(said, others, strict=True):
            # Endings of ordinals follow their number; a May is a month, or not.
            if word not in {"st", "nd", "rd", "th", "may", "May"}:
                assert swapped.setdefault(word.casefold(), other.casefold()) == other.casefold()
    changed = {word for word, other in swapped.items() if word != other}
    assert changed >= set("orla piet bergen 340 21 2019 12 1990 twenty two tuesday tues".split())
    assert {swapped[name] for name in ("orla", "piet", "bergen")} <= {n.casefold() for n in NAMES}
    assert swapped["kayak"] == "kayak"
    assert swapped["orla"].upper() in copy.turns[3].text
    assert copy.turns[0].speaker is not None
    assert copy.turns[0].speaker.casefold() == swapped["orla"]


def test_times_move_back_as_the_calendar_does() -> None:
    for copy in copies(TALK, 60):
        moved = copy.turns[0].time
        assert isinstance(moved, datetime)
        assert 365 < (FIRST - moved).days < 4 * 366
        assert moved.weekday() != FIRST.weekday()
        assert "Tuesday" not in copy.turns[1].text
    monday = datetime(2021, 5, 10, tzinfo=UTC)
    swap = swap_of([], [], np.random.default_rng(SEED))
    later = swap.turn(Turn("On Monday.", id="a", session="s", time=monday), "copy")
    assert isinstance(later.time, datetime)
    assert later.text == f"On {later.time:%A}."


def test_numbers_and_ordinals() -> None:
    swap = swap_of([], [], np.random.default_rng(SEED))._replace(
        digits={ord(a): b for a, b in zip("123456789", "912345678", strict=True)}, years=-2
    )
    assert swap.text("2nd 3rd 22nd 4th 12th 0 10 2023 305") == "1st 2nd 11th 3rd 91st 0 90 2021 204"


def test_ids_are_unique_and_say_where_turns_are_from() -> None:
    made = copies(TALK, 50)
    ids = [(turn.session, turn.id) for copy in made for turn in copy.turns]
    assert len(ids) == len(set(ids)) == len({turn_id for _, turn_id in ids}) == 50
    assert made[2].name == "one~2"
    assert ids[6] == ("one~2/session_1", "one~2/D1:0")


def test_fewer_copies_are_the_first_of_more() -> None:
    few, more = ([t for copy in copies(TALK, n) for t in copy.turns] for n in (7, 50))
    assert len(few) == 7
    assert few == more[:7]
    assert copies(TALK, 7, seed=1) != copies(TALK, 7)
    assert copies(TALK, 0) == []


def test_every_copy_has_other_people() -> None:
    speakers = [copy.turns[0].speaker for copy in copies(TALK, 50)]
    assert len(set(speakers)) > len(speakers) - 3


def test_names_of_the_data_are_not_invented_again() -> None:
    taken = [Turn("Hello there.", id="a", session="s", speaker=name) for name in NAMES[:900]]
    made = copies([("one", taken[:300])], 600)
    assert {t.speaker for copy in made for t in copy.turns}.isdisjoint(NAMES[:300])
    with pytest.raises(InputError, match="at most"):
        copies([("one", taken)], 1)


def test_nothing_to_copy() -> None:
    with pytest.raises(InputError, match="turns to copy"):
        copies([("one", [])], 1)
