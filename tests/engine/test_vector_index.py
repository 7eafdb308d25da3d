"""Nearest vectors, against numpy in float64, with an index that sets in at small sizes."""

import threading

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.engine import vector_index
from cuegraph.engine.vector_index import VectorIndex, due, rules

D = 32
F32 = npt.NDArray[np.float32]
U16 = npt.NDArray[np.uint16]


def clustered(n: int, seed: int = 3) -> U16:
    """Unit vectors around 20 centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, D))
    points = centres[rng.integers(0, 20, n)] + 0.4 * rng.standard_normal((n, D))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    bits: U16 = points.astype(np.float16).view(np.uint16)
    return bits


def question(seed: int) -> F32:
    query: F32 = clustered(1, seed)[0].view(np.float16).astype(np.float32)
    return query


def best(vectors: U16, query: F32, k: int, rows: npt.ArrayLike | None = None) -> list[int]:
    """By dot product in float64, ties by row."""
    chosen = np.arange(len(vectors)) if rows is None else np.asarray(rows)
    dots = vectors[chosen].view(np.float16).astype(np.float64) @ query.astype(np.float64)
    return [int(chosen[i]) for i in np.lexsort((chosen, -dots))[:k]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT_BELOW", 256)
    monkeypatch.setattr(vector_index, "BLOCK", 64)


@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_an_exact_scan_finds_the_nearest(n: int) -> None:
    vectors, index = clustered(n), VectorIndex()
    index.cover(vectors)
    assert index.indexed == 0
    for seed in range(5):
        query = question(seed)
        for k in (1, 10, 1000):
            assert index.nearest(vectors, query, k).tolist() == best(vectors, query, k)


@pytest.mark.usefixtures("small")
def test_vectors_that_are_on_disk_are_found_alike() -> None:
    vectors = clustered(1000)
    index, other = VectorIndex(on_disk=lambda: True), VectorIndex()
    index.cover(vectors)
    other.cover(vectors)
    for seed in range(5):
        found = index.nearest(vectors, question(seed), 10)
        np.testing.assert_array_equal(found, other.nearest(vectors, question(seed), 10))


def test_ties_go_to_the_lower_row() -> None:
    vectors = np.repeat(clustered(2), 3, axis=0)
    query = vectors[5].view(np.float16).astype(np.float32)
    assert VectorIndex().nearest(vectors, query, 6).tolist() == [3, 4, 5, 0, 1, 2]


def test_only_what_is_allowed_is_found_and_that_exactly(small: None) -> None:
    vectors, index = clustered(1000), VectorIndex()
    index.cover(vectors)
    assert index.indexed == 896
    allowed = np.random.default_rng(1).permutation(1000)[:137].astype(np.int32)
    allowed.sort()
    for seed in range(5):
        found = index.nearest(vectors, question(seed), 20, allowed)
        assert found.tolist() == best(vectors, question(seed), 20, allowed)
    assert index.nearest(vectors, question(0), 20, allowed[:0]).tolist() == []


def test_most_of_the_nearest_are_found_above_the_size_of_an_exact_scan(small: None) -> None:
    vectors, index = clustered(3000), VectorIndex()
    index.cover(vectors)
    found = expected = 0
    for seed in range(100):
        exact = best(vectors, question(seed), 10)
        expected += len(exact)
        found += len(set(exact) & set(index.nearest(vectors, question(seed), 10).tolist()))
    assert found / expected > 0.95


def test_the_tail_behind_the_index_is_scanned(small: None) -> None:
    vectors, index = clustered(330), VectorIndex()
    index.cover(vectors)
    assert index.indexed == 256
    for row in range(256, 330):
        query = vectors[row].view(np.float16).astype(np.float32)
        assert index.nearest(vectors, query, 1).tolist() == best(vectors, query, 1)


@pytest.mark.parametrize("step", [1, 37, 256, 1000])
def test_rows_and_their_order_alone_decide_what_is_found(small: None, step: int) -> None:
    vectors = clustered(1000)
    whole, parts = VectorIndex(), VectorIndex()
    whole.cover(vectors)
    for stop in [*range(step, 1000, step), 1000]:
        parts.cover(vectors[:stop])
    assert parts.indexed == whole.indexed == 896
    for seed in range(30):
        query = question(seed)
        assert (
            parts.nearest(vectors, query, 20).tolist() == whole.nearest(vectors, query, 20).tolist()
        )


@pytest.mark.parametrize("step", [1, 50, 400])
def test_neighbours_do_not_depend_on_the_batches(small: None, step: int) -> None:
    vectors = clustered(400)
    rows, similarities = VectorIndex().neighbours(vectors, 0, 400, 3, 0.5)
    index = VectorIndex()
    for start in range(0, 400, step):
        some, cosines = index.neighbours(vectors[: start + step], start, start + step, 3, 0.5)
        np.testing.assert_array_equal(some, rows[start : start + step])
        np.testing.assert_array_equal(cosines, similarities[start : start + step])
        index.cover(vectors[: start + step])


@pytest.mark.parametrize("n", [100, 300])
def test_neighbours_are_earlier_rows_above_the_floor(small: None, n: int) -> None:
    vectors = clustered(n)
    floats = vectors.view(np.float16).astype(np.float64)
    rows, similarities = VectorIndex().neighbours(vectors, 50, n, 4, 0.8)
    for i in range(50, n):
        cosines = floats[:i] @ floats[i]
        expected = [j for j in np.lexsort((np.arange(i), -cosines))[:4] if cosines[j] >= 0.8]
        found = [int(j) for j in rows[i - 50] if j >= 0]
        assert found == expected
        np.testing.assert_allclose(similarities[i - 50, : len(found)], cosines[found], atol=1e-5)
        assert not similarities[i - 50, len(found) :].any()


def test_no_neighbours_where_none_are_wanted() -> None:
    rows, similarities = VectorIndex().neighbours(clustered(5), 2, 5, 0, 0.5)
    assert rows.shape == similarities.shape == (3, 0)


def test_a_reader_of_the_snapshot_before_finds_what_it_found(small: None) -> None:
    """The graph that it used is kept until the next rows have come."""
    vectors, index = clustered(1000), VectorIndex()
    index.cover(vectors[:700])
    found = [index.nearest(vectors[:700], question(seed), 10).tolist() for seed in range(20)]
    index.neighbours(vectors, 700, 800, 3, 0.5)
    for _ in range(2):
        again = [index.nearest(vectors[:700], question(seed), 10).tolist() for seed in range(20)]
        assert again == found
        index.cover(vectors[:800])


def test_a_reader_of_an_older_snapshot_sees_no_newer_row(small: None) -> None:
    vectors, index = clustered(1000), VectorIndex()
    index.cover(vectors)
    found = 0
    for seed in range(50):
        near = index.nearest(vectors[:500], question(seed), 10).tolist()
        assert max(near) < 500
        assert len(near) == 10
        found += len(set(near) & set(best(vectors[:500], question(seed), 10)))
    assert found / 500 > 0.95


def test_a_reader_from_before_there_was_a_graph_scans(small: None) -> None:
    vectors, index = clustered(1000), VectorIndex()
    index.cover(vectors)
    for seed in range(5):
        found = index.nearest(vectors[:255], question(seed), 10)
        assert found.tolist() == best(vectors[:255], question(seed), 10)


def test_equal_rows_are_found_by_row(small: None) -> None:
    vectors = np.repeat(clustered(1), 1000, axis=0)
    index = VectorIndex()
    index.cover(vectors)
    query = vectors[0].view(np.float16).astype(np.float32)
    assert index.nearest(vectors, query, 950).tolist() == [*range(950)]
    assert index.nearest(vectors, query, 5000).tolist() == [*range(1000)]
    rows, _ = index.neighbours(vectors, 990, 1000, 3, 0.5)
    assert rows.tolist() == [[0, 1, 2]] * 10


@pytest.mark.parametrize("n", [100, 700])
def test_an_index_comes_back_from_its_arrays_and_grows_on(small: None, n: int) -> None:
    vectors, index, whole = clustered(1400), VectorIndex(), VectorIndex()
    index.cover(vectors[:n])
    stored = {name: array.copy() for name, array in index.arrays().items()}
    for array in stored.values():
        assert array.ndim == 1
        assert array.dtype == np.int32
        array.flags.writeable = False
    again = VectorIndex(stored)
    assert again.indexed == index.indexed == (576 if n == 700 else 0)
    for seed in range(20):
        found = index.nearest(vectors[:n], question(seed), 10)
        assert again.nearest(vectors[:n], question(seed), 10).tolist() == found.tolist()
    again.cover(vectors)
    whole.cover(vectors)
    assert again.indexed == 1280
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, whole.arrays()[name])


def test_what_does_not_fit_is_no_index() -> None:
    arrays = VectorIndex().arrays()
    with pytest.raises(ValueError, match="index: expected arrays"):
        VectorIndex({**arrays, "links": np.zeros(5, np.int32)})


def test_the_stamp_tells_settings_apart(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = rules()
    assert stamp == rules()
    monkeypatch.setattr(vector_index, "BLOCK", 128)
    assert rules() != stamp


def test_a_graph_of_a_block_is_due_a_block_later(small: None) -> None:
    dues = [due(n) for n in (0, 255, 256, 319, 320, 383, 384, 1000)]
    assert dues == [0, 0, 192, 192, 256, 256, 320, 896]


@pytest.mark.parametrize("step", [1, 100])
def test_threads_read_while_one_writes(small: None, step: int) -> None:
    """Each finds what a lone reader of as many rows finds."""
    vectors, index, lone = clustered(900), VectorIndex(), VectorIndex()
    stops = range(300, 900, step)
    expected: dict[int, list[int]] = {}
    for stop in stops:
        lone.cover(vectors[:stop])
        expected[stop] = lone.nearest(vectors[:stop], question(stop), 10).tolist()
    shown: list[int] = []
    wrong: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for stop in shown[-1:]:
                found = index.nearest(vectors[:stop], question(stop), 10).tolist()
                # Promised to the newest snapshot and the one before, which it still has to be.
                if found != expected[stop] and shown[-1] <= stop + step:
                    wrong.append(stop)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for stop in stops:
        index.neighbours(vectors[:stop], stop - step, stop, 3, 0.5)
        index.cover(vectors[:stop])
        shown.append(stop)
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
