"""Calls: what a prompt shows, what a reply may be, and that no stored text is more than data."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from cuegraph.io.errors import InputError
from cuegraph.llm import calls
from cuegraph.llm.json_schema import longest_reply
from cuegraph.llm.page import AFFORDABLE_TOKENS, Call, Move, Passage

from .instances import longest
from .test_quoting import HOSTILE

PROMPTS = Path(__file__).parents[2] / "llm" / "prompts"
FRIDAY = datetime(2024, 5, 24, 23, 30, tzinfo=timezone(timedelta(hours=2)))


def passages(n: int, letter: str = "p") -> list[Passage]:
    return [Passage(id=f"{letter}{i}", text=f"text {i}") for i in range(n)]


def moves(n: int) -> list[Move]:
    return [
        Move(id=i, operator="query_tag_events", cue=f"cue {i}", tag=f"tag {i}") for i in range(n)
    ]


class Sized(NamedTuple):
    """A call of `n` things to choose from, the fewest and the most of them."""

    make: Callable[[int], Call]
    least: int
    most: int

    def all(self) -> list[Call]:
        return [self.make(n) for n in range(self.least, self.most + 1)]


SIZED = {
    "extract": Sized(lambda n: calls.extract(passages(n)), 1, 20),
    "topics": Sized(lambda n: calls.topics(passages(n)), 1, 24),
    "relate": Sized(lambda n: calls.relate(passages(n)), 2, 16),
    "select": Sized(lambda n: calls.select("Who?", moves(n)), 1, 40),
    "route": Sized(lambda n: calls.route("Who?", passages(n)), 1, 40),
    "answer": Sized(lambda n: calls.answer("Who?", passages(n)), 1, 40),
}
UNSIZED: dict[str, Callable[[], Call]] = {
    "analyse": lambda: calls.analyse("Who?", FRIDAY),
    "judge_strict": lambda: calls.judge("Who?", "Ana", "Bo"),
    "judge_lenient": lambda: calls.judge("Who?", "Ana", "Bo", strict=False),
}
LARGEST = {name: sized.make(sized.most) for name, sized in SIZED.items()} | {
    name: make() for name, make in UNSIZED.items()
}


def shown(call: Call) -> Any:
    return json.loads(call.request.messages[1].content)


def full(text: str, id: str = "x") -> Passage:
    """A passage with `text` in every field that holds a stored text."""
    return Passage(
        id=id, text=text, kind="fact", speaker=text, time=FRIDAY, caption=text, cue=text, tag=text
    )


def full_shown(text: str) -> dict[str, str]:
    label = text if len(text) <= 200 else text[:199] + "…"
    return {
        "kind": "fact",
        **{"speaker": label, "cue": label, "tag": label},
        "time": "2024-05-24 23:30 Friday",
        "text": text,
        "caption": label,
    }


def hostile_calls(text: str) -> list[tuple[Call, dict[str, Any]]]:
    """Every call with `text` wherever a stored text may stand, and the data that it must show."""
    item, as_shown = full(text), full_shown(text)
    label = as_shown["speaker"]
    move = Move(
        id=1,
        operator="query_personal_aspect",
        **{"cue": text, "tag": text, "person": text, "aspect": text, "topic": text, "episode": "x"},
    )
    move_shown = {
        "operator": "query_personal_aspect",
        **dict.fromkeys(("cue", "tag", "person", "aspect", "topic"), label),
        "episode": "e1",
    }
    asked = {"question": text, "asked": "2024-05-24 23:30 Friday"}
    found = {"found": {"e1": as_shown}}
    return [
        (calls.extract([item], [item]), {"before": {"b1": as_shown}, "turns": {"t1": as_shown}}),
        (calls.topics([item]), {"episodes": {"e1": as_shown}}),
        (calls.relate([item, item]), {"events": {"e1": as_shown, "e2": as_shown}}),
        (calls.analyse(text, FRIDAY), asked),
        (
            calls.select(text, [move], [item], asked=FRIDAY),
            asked | found | {"moves": {"m1": move_shown}},
        ),
        (
            calls.route(text, [item], [item], asked=FRIDAY),
            asked | found | {"candidates": {"c1": as_shown}},
        ),
        (calls.answer(text, [item], asked=FRIDAY), asked | {"evidence": {"e1": as_shown}}),
        *(
            (
                calls.judge(text, text, text, strict=strict),
                {"question": text, "reference": text, "answer": text},
            )
            for strict in (True, False)
        ),
    ]


def is_structure(line: str) -> bool:
    """Whether a line of a prompt's data is a whole part of the object: it parses by itself."""
    if line in ("{", "}", "},"):
        return True
    bare = line.rstrip(",") if not line.endswith("{") else line + "}"
    return isinstance(json.loads("{" + bare + "}"), dict)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_arrive_quoted_in_every_prompt(text: str) -> None:
    made = hostile_calls(text)
    assert {call.request.purpose for call, _ in made} == set(LARGEST)
    for call, expected in made:
        system, user = call.request.messages
        assert (system.role, user.role) == ("system", "user")
        # The instructions are what they are without the text, and all the rest is data.
        assert system == LARGEST[call.request.purpose].request.messages[0]
        data = json.loads(user.content)
        assert data == expected
        assert list(data) == list(expected)
        # Nothing in the data opens a control token, and every line is a line of the document.
        assert not set("<[") & set(user.content)
        assert all(is_structure(line) for line in user.content.splitlines())
        assert user.content.encode()


@pytest.mark.parametrize("purpose", sorted(LARGEST))
def test_instructions_are_the_files_and_name_every_field(purpose: str) -> None:
    call = LARGEST[purpose]
    said = call.request.messages[0].content
    files = [(PROMPTS / f"{name}.txt").read_text("utf-8") for name in ("common", purpose)]
    assert said == "\n".join(files)
    assert "never instructions" in said
    assert "in the language of the quotations" in said
    form = json.loads(next(line for line in said.splitlines() if line.startswith("Form: "))[6:])
    assert _names(form) == _names(longest(call.request.schema.json, ""))
    assert all(f'"{name}"' in said for name in shown(call) if name not in ("question", "asked"))


def _names(value: Any) -> Any:
    """The names in a JSON value, in their order, with the names under each."""
    if isinstance(value, dict):
        return [(name, _names(inner)) for name, inner in value.items()]
    return _names(value[0]) if isinstance(value, list) else None


def test_there_is_a_call_for_every_prompt() -> None:
    assert {path.stem for path in PROMPTS.iterdir()} == {"common", *LARGEST}


@pytest.mark.parametrize("purpose", sorted(SIZED))
def test_handles_lead_back_to_the_callers_ids(purpose: str) -> None:
    make, _, most = SIZED[purpose]
    call = make(most + 5)
    assert (len(call.handles), call.cut) == (most, 5)
    letter = next(iter(call.handles))[0]
    assert list(call.handles) == [f"{letter}{i}" for i in range(1, most + 1)]
    ids = range(most) if purpose == "select" else [f"p{i}" for i in range(most)]
    assert list(call.handles.values()) == list(ids)
    assert json.dumps(list(call.handles)) in json.dumps(call.request.schema.json)


@pytest.mark.parametrize("purpose", sorted(SIZED))
def test_too_few_to_choose_from_is_an_error(purpose: str) -> None:
    make, least, _ = SIZED[purpose]
    got = least - 1
    expected = f"{purpose}: expected {least} or more [a-z]+ to choose from, got {got}"
    with pytest.raises(InputError, match=expected):
        make(got)


def test_a_schema_depends_on_the_number_of_things_alone() -> None:
    for sized in SIZED.values():
        for one, other in zip(sized.all(), sized.all(), strict=True):
            assert one.request.schema is other.request.schema
    one, other = calls.answer("Who?", passages(3)), calls.answer("Why?", [full("other")] * 3)
    assert one.request.schema is other.request.schema


def test_there_are_few_schemas() -> None:
    made = [call for sized in SIZED.values() for call in sized.all()]
    made += [make() for make in UNSIZED.values()]
    forms = {json.dumps(call.request.schema.json) for call in made}
    assert len(forms) == 20 + 24 + 15 + 3 * 40 + 1 + 1  # as the docstring of `calls` says


@pytest.mark.parametrize("purpose", sorted(LARGEST))
def test_the_longest_reply_fits(purpose: str) -> None:
    request = LARGEST[purpose].request
    schema, room = request.schema.json, request.max_tokens - 1  # the last token ends the reply
    written = {c: json.dumps(longest(schema, c), ensure_ascii=False) for c in "a汉\x01"}
    # A token a character always fits.
    assert len(written["汉"]) <= room
    if purpose not in ("extract", "topics", "relate"):
        # And so does a token a byte, with every character written as an escape.
        assert len(written["\x01"].encode()) == longest_reply(schema) <= room
        assert room <= AFFORDABLE_TOKENS
    assert msgspec.json.decode(json.dumps(longest(schema, "a")), type=request.schema.type)


def test_a_small_window_allows_less_than_a_large_one() -> None:
    def bounds(n: int) -> list[int]:
        fields = calls.extract(passages(n)).request.schema.json["properties"]
        return [fields[name]["maxItems"] for name in ("episodes", "facts", "dates")]

    assert [bounds(n) for n in (1, 4, 7, 20)] == [[1, 1, 1], [2, 2, 1], [4, 4, 2], [10, 10, 5]]
    assert calls.extract(passages(4)).request.max_tokens == AFFORDABLE_TOKENS + 1


def test_phases_and_names() -> None:
    phases = {name: call.request.phase for name, call in LARGEST.items()}
    assert phases == {
        **dict.fromkeys(("extract", "topics", "relate"), "write"),
        **dict.fromkeys(("analyse", "select", "route", "answer"), "read"),
        **dict.fromkeys(("judge_strict", "judge_lenient"), "evaluate"),
    }
    assert all(call.request.schema.name == name for name, call in LARGEST.items())


def test_what_is_none_is_not_shown() -> None:
    assert shown(calls.topics(passages(1))) == {"episodes": {"e1": {"text": "text 0"}}}
    assert shown(calls.analyse("Who?")) == {"question": "Who?"}
    assert shown(calls.route("Who?", passages(1)))["found"] == {}


def test_times_stand_on_the_speakers_clock_with_the_weekday() -> None:
    utc = FRIDAY.astimezone(UTC)
    kept = [Passage(id=i, text="", time=time) for i, time in enumerate([FRIDAY, utc])]
    early = Passage(id=2, text="", time=datetime(987, 1, 2, 3, 4, 5, 6))
    times = [item["time"] for item in shown(calls.extract([*kept, early]))["turns"].values()]
    assert times[:2] == ["2024-05-24 23:30 Friday", "2024-05-24 21:30 Friday"]
    assert times[2].startswith("0987-01-02 03:04 ")


def test_long_texts_are_shortened_and_counted() -> None:
    call = calls.route("q" * 2_000, [full("x" * 1_001), full("y" * 201), full("z")])
    assert call.clipped == 1 + 5 + 4
    data = shown(call)
    assert data["question"] == "q" * 999 + "…"
    assert data["candidates"]["c1"]["text"] == "x" * 999 + "…"
    assert data["candidates"]["c2"]["text"] == "y" * 201
    assert data["candidates"]["c2"]["tag"] == "y" * 199 + "…"
    assert calls.extract([Passage(id=0, text="x" * 4_000)]).clipped == 0
    short = shown(calls.route("Who won?", passages(1), text_chars=3))
    assert (short["question"], short["candidates"]["c1"]["text"]) == ("Who won?", "te…")


def test_moves_speak_of_shown_episodes_only() -> None:
    found = passages(42)
    about = [
        Move(id=place, operator="query_event_context", episode=f"p{place}") for place in (41, 3, 0)
    ]
    call = calls.select("Who?", [*about, *moves(40)], found, cap=3)
    assert shown(call)["moves"] == {
        "m1": {"operator": "query_event_context", "episode": "e4"},
        "m2": {"operator": "query_event_context", "episode": "e1"},
        "m3": {"operator": "query_tag_events", "cue": "cue 0", "tag": "tag 0"},
    }
    assert call.handles == {"m1": 3, "m2": 0, "m3": 0}
    assert call.cut == 2 + 40  # pieces of evidence; one move about such a piece, 39 beyond the cap
    with pytest.raises(InputError, match="select: expected 1 or more moves"):
        calls.select("Who?", about)


def test_an_id_may_be_zero_or_none_of_the_ordinary() -> None:
    context = Move(id=(1, "a"), operator="query_event_context", episode=0)
    call = calls.select("Who?", [context], [Passage(id=0, text="")])
    assert call.handles == {"m1": (1, "a")}
    assert shown(call)["moves"]["m1"]["episode"] == "e1"


@pytest.mark.parametrize("most", [1, 4, 8])
def test_select_takes_as_many_moves_as_asked_for(most: int) -> None:
    form = calls.select("Who?", moves(40), most=most).request.schema.json["properties"]["moves"]
    assert (form["minItems"], form["maxItems"]) == (1, most)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calls.select("?", moves(1), most=0), "most: expected 1 to 8, got 0"),
        (lambda: calls.select("?", moves(1), most=9), "most: expected 1 to 8, got 9"),
        (lambda: calls.route("?", passages(1), cap=41), "cap: expected 1 to 40, got 41"),
        (lambda: calls.answer("?", passages(1), cap=0), "cap: expected 1 to 40, got 0"),
        (lambda: calls.topics(passages(1), cap=25), "cap: expected 1 to 24, got 25"),
        (lambda: calls.relate(passages(1), cap=17), "cap: expected 2 to 16, got 17"),
        (lambda: calls.relate(passages(2), cap=1), "cap: expected 2 to 16, got 1"),
        (lambda: calls.relate(passages(2), text_chars=0), "text_chars: expected 1 or more, got 0"),
    ],
)
def test_bounds_are_checked(call: Callable[[], Call], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_a_later_round_begins_like_the_one_before() -> None:
    found = passages(3)
    first = calls.route("Who?", passages(2, "c"), found[:2], asked=FRIDAY)
    second = calls.route("Who?", passages(5, "c"), found, asked=FRIDAY)
    before, after = (call.request.messages[1].content for call in (first, second))
    shared = before.index('"text 1"') + len('"text 1"}')
    assert before[:shared] == after[:shared]
    # select and route differ in their instructions, so only calls of one purpose share a prefix.
    assert first.request.messages[0] == second.request.messages[0]
