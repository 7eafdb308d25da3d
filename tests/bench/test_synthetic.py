"""Invented turns: the same always, skewed like real ones, and vectors in clusters."""

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from cuegraph import InputError, Memory
from cuegraph.bench.stores import MARKER, complete, synthetic_store
from cuegraph.bench.synthetic import (
    SESSION,
    SyntheticEmbedder,
    later_turns,
    questions,
    topics_of,
    turns,
)

N = 2000


def test_turns_are_the_same_for_the_same_seed() -> None:
    assert list(turns(N)) == list(turns(N))
    assert next(turns(N)) != next(turns(N, seed=1))


def test_later_turns_go_on_where_turns_end() -> None:
    # 2,000 and 2,040 turns have as many topics, so that the longer history begins like the other.
    assert topics_of(N) == topics_of(N + 40)
    assert [*turns(N), *later_turns(N, 40)] == list(turns(N + 40))


def test_sessions_of_twenty_with_two_speakers_in_time() -> None:
    made = list(turns(N))
    assert len({turn.id for turn in made}) == N
    first = made[:SESSION]
    assert {turn.session for turn in first} == {"s0"} and made[SESSION].session == "s1"
    assert len({turn.speaker for turn in first}) == 2
    times = [turn.time for turn in made if isinstance(turn.time, int)]
    assert len(times) == N and times == sorted(set(times))


def test_words_are_as_common_as_in_chats() -> None:
    words = Counter(word for turn in turns(N) for word in set(turn.text.split()[5:]))
    shares = [count / N for _, count in words.most_common(10)]
    # By the law, 1 / ((rank + 6) * H) a word with H = 8.9, seven words: 11 % and 5 %.
    assert shares[0] == pytest.approx(0.107, abs=0.03)
    assert shares[9] == pytest.approx(0.048, abs=0.015)


def test_a_vector_depends_on_its_text_alone() -> None:
    embedder, texts = SyntheticEmbedder(N), [turn.text for turn in turns(N)]
    rows = embedder.passages(texts)
    assert rows.shape == (N, embedder.dimension) and rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    alone = SyntheticEmbedder(N).queries([texts[7]])
    assert alone.tobytes() == rows[7].tobytes()
    assert embedder.passages([]).shape == (0, embedder.dimension)
    assert np.isfinite(embedder.passages(["", "no topic", "about", "aboutxyz", "\ud800"])).all()


def test_vectors_lie_in_clusters_by_topic() -> None:
    made = list(turns(N))
    rows = SyntheticEmbedder(N).passages([f"{turn.speaker}: {turn.text}" for turn in made])
    topics = np.array([turn.text.split()[0] for turn in made])
    alike = topics[:, None] == topics
    np.fill_diagonal(alike, False)
    cosines = rows @ rows.T
    # A centre of length 1 and an own part of length 0.7: cosine 1 / (1 + 0.7 ** 2).
    assert cosines[alike].mean() == pytest.approx(1 / 1.49, abs=0.02)
    apart = topics[:, None] != topics
    assert abs(cosines[apart].mean()) < 0.05


def test_questions_are_new_and_some_ask_when() -> None:
    asked = questions(N, 14)
    assert len(set(asked)) == 14
    assert sum(question.startswith("When") for question in asked) == 2
    assert sum(question.endswith("2020?") for question in asked) == 2
    said = {turn.text for turn in turns(N)}
    assert not said & set(asked)


def test_a_store_is_kept_and_an_interrupted_one_is_finished(tmp_path: Path) -> None:
    store = tmp_path / "kept"
    n = 600
    with Memory.open(store, embedder=SyntheticEmbedder(n)) as memory:
        memory.add(islice(turns(n), 256))
    assert complete(store, n) == n - 256
    told: list[str] = []
    assert complete(store, n, told.append) == 0 and told == []
    with Memory.open(store, embedder=SyntheticEmbedder(n), read_only=True) as memory:
        assert memory.stats().turns == n
        last = list(turns(n))[-1]
        assert last.id in {piece.id for piece in memory.recall(last.text, k=50).evidence}


def test_a_store_of_another_size_or_kind_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "kept"
    complete(store, 60)
    with pytest.raises(InputError, match="got 60"):
        complete(store, 80)
    (store / MARKER).unlink()
    with pytest.raises(InputError, match="at most 40"):
        complete(store, 40)
    other = store.with_name("other")
    with Memory.open(other, embedder=SyntheticEmbedder(60)) as memory:
        memory.add(islice(turns(60), 20, 40))
    with pytest.raises(InputError, match="another memory"):
        complete(other, 60)


def test_a_store_without_a_directory_goes_with_the_context() -> None:
    with synthetic_store(None, 20) as store:
        assert (store / MARKER).is_file()
    assert not store.exists()
