"""Invented conversations in the form of LoCoMo, and rankings made up for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuegraph.bench.figures import Scored
from cuegraph.bench.key import Entry
from cuegraph.bench.spaces import Answer

Data = list[dict[str, Any]]

_ORLA_AND_PIET = (
    ("Orla", "I bought a red kayak for the lake."),
    ("Piet", "My sourdough starter finally smells right."),
    ("Orla", "The kayak leaks, so I patched it with resin."),
    ("Piet", "I joined a choir that rehearses on Tuesdays."),
)
_RUNE_AND_TOVE = (
    ("Rune", "Our goat escaped through the fence again."),
    ("Tove", "I am knitting mittens for my nephew."),
    ("Rune", "The goat ate my best hat."),
)


def _conversation(name: str, said: tuple[tuple[str, str], ...], qa: Data) -> dict[str, Any]:
    turns = [
        {"speaker": speaker, "dia_id": f"D1:{number}", "text": text}
        for number, (speaker, text) in enumerate(said, start=1)
    ]
    times = {"session_1_date_time": "1:56 pm on 8 May, 2021"}
    return {"sample_id": name, "conversation": {"session_1": turns, **times}, "qa": qa}


def _asked(question: str, category: int, *evidence: str, **more: Any) -> dict[str, Any]:
    return {"question": question, "category": category, "evidence": list(evidence), **more}


@pytest.fixture
def data() -> Data:
    """Two conversations: evidence in every state, an adversarial question, one not readable."""
    first = [
        _asked("What did Orla do about the kayak?", 1, "D1:1; D:1:03", answer="SECRET one"),
        {"question": "What is wrong here?", "category": "many"},
        _asked("Which choir did Piet join?", 4, "D1:4", answer="SECRET two"),
        _asked("When did Orla fly?", 2, "D9:9", answer="SECRET three"),
        _asked("Who likes tea?", 3, answer="SECRET four"),
    ]
    second = [
        _asked("What did the goat of Rune eat?", 4, "D1:3", "D", answer="SECRET five"),
        _asked("What does Rune knit?", 5, "D1:2", adversarial_answer="SECRET six"),
    ]
    return [
        _conversation("conv-30", _ORLA_AND_PIET, first),
        _conversation("conv-41", _RUNE_AND_TOVE, second),
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any, str], Path]:
    """Writes JSON to a file of some name in the test's folder."""

    def write_file(content: Any, name: str) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return path

    return write_file


@pytest.fixture
def scored() -> Callable[..., Scored]:
    """Makes a question whose evidence stands at the given ranks, from 1, of fifty turns."""

    def make(conversation: str, category: int, *ranks: int, bait: bool = False) -> Scored:
        gold = tuple(f"t{rank}" for rank in ranks)
        ranked = tuple(f"t{rank}" for rank in range(1, 51))
        entry = Entry(conversation, 0, category, gold, (), bait)
        return Scored(entry, Answer(ranked, 100 * category, {"embedding": 2.0, "beam": 1.0}))

    return make
