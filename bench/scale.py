"""Quality at scale: LoCoMo's questions over one memory that holds all conversations, and many more.

The conversations of the file enter one memory together with copies of theirs (`distractors`), in
an order drawn once; their questions are asked of it at each size, beside BM25 and vectors alone.
As in `locomo`, whoever asks is given turns and texts of questions, and the key meets the rankings
afterwards.
"""

import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from cuegraph import Embedder, GraphConfig, InputError, RecallConfig, Turn, VectorCache

from .distractors import SEED, Conversations, Copy, copies, prefixed
from .figures import Figures, Percentiles, percentiles_of, score, summarise
from .key import Entry, key, read_conversations, texts_of
from .locomo import write_json
from .rows import FULL, Row, only_arm
from .spaces import Progress, Setup, ask, open_spaces, silent

F32 = npt.NDArray[np.float32]

SIZES = (0, 10_000, 100_000)
"""Distractor turns: none, a busy year, and more than anybody chats in a life."""
SAMPLE = 200
"""Copied turns that are embedded to learn how far swapping moves a vector."""
SPACE = "all"


class Derivation(msgspec.Struct, frozen=True):
    """How vectors of copies are made from those of their originals; see `Derived`.

    sampled           copied turns that were really embedded
    cosine            mean cosine of those to their originals
    derived_cosine    the same of vectors derived for the same turns
    kept              rho, the share of an original's own direction that a derived vector keeps
    """

    sampled: int
    cosine: float
    derived_cosine: float
    kept: float


class Asked(msgspec.Struct, frozen=True):
    """Figures of one configuration by category, and milliseconds of a recall but its embedding."""

    categories: dict[str, Figures]
    latency_ms: Percentiles | None


class Size(msgspec.Struct, frozen=True):
    """A memory of one size: its turns and sessions, seconds of adding beside embedding, its rows.

    problems  turns that were not kept, and why
    """

    distractors: int
    turns: int
    sessions: int
    add_s: float
    rows: dict[str, Asked]
    problems: list[str]


class Scale(msgspec.Struct, frozen=True):
    """The sizes, smallest first; `derivation` is None where all vectors were embedded."""

    unit: str
    embedder: str
    derivation: Derivation | None
    seed: int
    k: int
    sizes: list[Size]
    config: RecallConfig
    graph: GraphConfig

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        write_json(self, path)


def measure(
    path: Path,
    sizes: Sequence[int] = SIZES,
    *,
    embedder: Embedder,
    embed: bool = False,
    config: RecallConfig | None = None,
    graph: GraphConfig | None = None,
    seed: int = SEED,
    k: int = 50,
    workdir: Path | None = None,
    progress: Progress = silent,
) -> Scale:
    """Recall and latency over the conversations of a LoCoMo file among distractors.

    sizes     how many distractor turns; those of a size are among those of every larger one
    embedder  embeds originals, questions and a sample of copies; one with a cache saves most
    embed     embed all copies, instead of deriving their vectors (see `Derived`)

    The others as for `evaluate`. InputError where sizes are no numbers from 0, or repeat.
    """
    if not sizes or min(sizes) < 0 or len(set(sizes)) < len(sizes):
        raise InputError(f"expected different numbers of distractors from 0, got {list(sizes)}")
    conversations = read_conversations(path)
    named: Conversations = [(c.id, c.turns) for c in conversations]
    made = copies(named, max(sizes), seed)
    derived = None if embed or not made else Derived(embedder, made, seed)
    setup = Setup(derived or embedder, VectorCache(), graph or GraphConfig(), workdir)
    entries, texts = global_key(key(conversations)), list(chain(*texts_of(conversations)))
    rows = compared(config or RecallConfig())
    found = []
    for size in sorted(sizes):
        turns = mixed(named, copies(named, size, seed), seed)
        found.append(_size(size, turns, texts, entries, rows, setup, k, progress))
    return Scale(
        unit="percent",
        embedder=embedder.name,
        derivation=None if derived is None else derived.derivation,
        seed=seed,
        k=k,
        sizes=found,
        config=config or RecallConfig(),
        graph=setup.graph,
    )


def compared(config: RecallConfig) -> list[Row]:
    """The whole read path, and the two plain ways of retrieval."""
    return [
        (FULL, config),
        ("BM25 alone", only_arm(config, "keyword")),
        ("vectors alone", only_arm(config, "vector")),
    ]


def mixed(conversations: Conversations, made: Sequence[Copy], seed: int) -> list[Turn]:
    """All turns in the order in which they enter: whole conversations, in a drawn order."""
    blocks = [[prefixed(turn, name) for turn in turns] for name, turns in conversations]
    blocks += [copy.turns for copy in made]
    order = np.random.default_rng(seed).permutation(len(blocks)).tolist()
    return [turn for place in order for turn in blocks[place]]


def global_key(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with evidence by the ids that turns have among those of other conversations."""
    return [
        entry._replace(gold=tuple(f"{entry.conversation}/{turn}" for turn in entry.gold))
        for entry in entries
    ]


class Derived:
    """An embedder that derives the vectors of copies from their originals', and embeds the rest.

    A copy's vector is c + rho (v - m) + sqrt(1 - rho^2) e, scaled to length 1. v is its original's,
    m the mean of all originals, e noise of their covariance, drawn by seed and text. c and rho are
    learnt from a sample of copies that is embedded: c is m, moved as the sample's mean moved from
    that of its originals, and with rho derived vectors have the mean cosine to their originals that
    embedded ones have. Noise alike in all directions would leave the narrow cone in which models
    put texts, and make each copy easy to tell from what is asked for.
    """

    def __init__(self, embedder: Embedder, made: Sequence[Copy], seed: int) -> None:
        self.name = f"{embedder.name}, copies derived"
        self.dimension = embedder.dimension
        self._embedder, self._seed = embedder, seed
        pairs = [pair for copy in made for pair in zip(copy.turns, copy.origins, strict=True)]
        self._origins = {passage(turn): passage(origin) for turn, origin in pairs}
        vectors = embedder.passages(list(dict.fromkeys(self._origins.values())))
        self._mean = vectors.mean(axis=0)
        _, lengths, directions = np.linalg.svd(vectors - self._mean, full_matrices=False)
        self._spread: F32 = (lengths / np.sqrt(len(vectors)))[:, None] * directions
        self._centre, self._kept = self._mean, 1.0
        self.derivation = self._learn()

    def passages(self, texts: Sequence[str]) -> F32:
        """Vectors of texts that will be searched."""
        vectors = self._embedder.passages([self._origins.get(text, text) for text in texts])
        places = [place for place, text in enumerate(texts) if text in self._origins]
        if places:
            noise = self._noise([texts[place] for place in places])
            vectors[places] = self._moved(vectors[places], noise, self._kept)
        return vectors

    def queries(self, texts: Sequence[str]) -> F32:
        """Vectors of texts that search."""
        return self._embedder.queries(texts)

    def _learn(self) -> Derivation:
        """Embed a sample of copies, spread evenly over all, and fit c and rho to them."""
        texts = list(self._origins)
        places = np.unique(np.linspace(0, len(texts) - 1, SAMPLE).astype(int)).tolist()
        texts = [texts[place] for place in places]
        real = self._embedder.passages(texts)
        origins = self._embedder.passages([self._origins[text] for text in texts])
        self._centre = self._mean + (real - origins).mean(axis=0)
        noise, wanted = self._noise(texts), _cosine(real, origins)
        low, high = 0.0, 1.0
        for _ in range(20):
            self._kept = (low + high) / 2
            if _cosine(self._moved(origins, noise, self._kept), origins) < wanted:
                low = self._kept
            else:
                high = self._kept
        derived = _cosine(self._moved(origins, noise, self._kept), origins)
        return Derivation(len(texts), round(wanted, 4), round(derived, 4), round(self._kept, 4))

    def _noise(self, texts: Sequence[str]) -> F32:
        """Noise for each text, float32 (n, dimension)."""
        drawn = np.empty((len(texts), len(self._spread)), np.float32)
        for row, text in zip(drawn, texts, strict=True):
            seed = [self._seed, zlib.crc32(text.encode("utf-8", "surrogatepass"))]
            row[:] = np.random.default_rng(seed).standard_normal(len(row), np.float32)
        noise: F32 = drawn @ self._spread
        return noise

    def _moved(self, vectors: F32, noise: F32, kept: float) -> F32:
        moved = self._centre + kept * (vectors - self._mean) + (1 - kept**2) ** 0.5 * noise
        units: F32 = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
        return units


def passage(turn: Turn) -> str:
    """The text that a memory embeds a turn by; an unknown one would be embedded, not derived."""
    said = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
    return f"{said} [shares {turn.caption}]" if turn.caption else said


def _cosine(vectors: F32, others: F32) -> float:
    """The mean cosine of unit vectors in pairs."""
    return float((vectors * others).sum(axis=1).mean())


def _size(
    distractors: int,
    turns: Sequence[Turn],
    texts: Sequence[str],
    entries: Sequence[Entry],
    rows: Sequence[Row],
    setup: Setup,
    k: int,
    progress: Progress,
) -> Size:
    asked: dict[str, Asked] = {}
    with open_spaces([(SPACE, turns)], setup, progress) as (space,):
        for name, config in rows:
            answers = ask(space.memory, texts, config, k=k)
            latency = percentiles_of([answer.search_ms for answer in answers])
            asked[name] = Asked(summarise(score(entries, answers)), latency)
            progress(f"{distractors} distractors, {name}: {len(texts)} questions asked")
    sessions = len({turn.session for turn in turns})
    return Size(
        distractors, len(turns), sessions, round(space.add_s, 3), asked, list(space.problems)
    )
