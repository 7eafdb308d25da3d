"""What the tests of the engine share: turns, times and memory spaces of the hash embedder."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuegraph.engine.space import Space
from cuegraph.io import Turn, TurnRecord, normalise
from cuegraph.llm import Embedder, open_embedder

Opener = Callable[..., Space]
Maker = Callable[..., TurnRecord]


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return open_embedder("hash")


@pytest.fixture(scope="session")
def record() -> Maker:
    """A turn as the journal keeps it, from what a caller would give."""

    def make(text: str, **fields: Any) -> TurnRecord:
        return normalise(Turn(text, **fields), zone=None)

    return make


@pytest.fixture
def open_space(tmp_path: Path, embedder: Embedder) -> Iterator[Opener]:
    """Opens the space of a test's own folder, or of another one; all are closed at the end."""
    opened: list[Space] = []

    def make(directory: Path | None = None, **options: Any) -> Space:
        opened.append(Space(directory or tmp_path / "space", embedder, **options))
        return opened[-1]

    yield make
    for space in opened:
        space.close()


@pytest.fixture(scope="session")
def conversation(record: Maker) -> list[TurnRecord]:
    """150 turns of four sessions and three speakers: names, dates, questions, Chinese, emoji."""
    choose = random.Random(5)
    words = "boat paint harbour lantern violin market snow letter train bread window island".split()
    tails = [
        "yesterday.",
        "with Mira Haddad!",
        "in Lisbon?",
        "on 3 May 2024.",
        "😀",
        "我爱猫。",
        "",
    ]
    return [
        record(
            f"{' '.join(choose.choices(words, k=choose.randint(1, 9)))} {choose.choice(tails)}",
            id=f"t{i}",
            session=f"s{choose.randint(0, 3)}",
            speaker=choose.choice(["Ada", "Teo", "Noor", None]),
            time=None if i % 11 == 0 else 1_716_500_000_000_000 + i * 7_200_000_000,
            caption="a red Kite" if i % 13 == 0 else None,
        )
        for i in range(150)
    ]
