"""Nearest vectors, against numpy in float64, with an index that sets in at small sizes."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.engine import vector_index
from cuegraph.engine.vector_index import VectorIndex

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
    vectors, index = clustered(n), VectorIndex(D)
    index.cover(vectors)
    assert index.indexed == 0
    for seed in range(5):
        query = question(seed)
        for k in (1, 10, 1000):
            assert index.nearest(vectors, query, k).tolist() == best(vectors, query, k)


def test_ties_go_to_the_lower_row() -> None:
    vectors = np.repeat(clustered(2), 3, axis=0)
    query = vectors[5].view(np.float16).astype(np.float32)
    assert VectorIndex(D).nearest(vectors, query, 6).tolist() == [3, 4, 5, 0, 1, 2]


def test_only_what_is_allowed_is_found_and_that_exactly(small: None) -> None:
    vectors, index = clustered(1000), VectorIndex(D)
    index.cover(vectors)
    assert index.indexed == 960
    allowed = np.random.default_rng(1).permutation(1000)[:137].astype(np.int32)
    allowed.sort()
    for seed in range(5):
        found = index.nearest(vectors, question(seed), 20, allowed)
        assert found.tolist() == best(vectors, question(seed), 20, allowed)
    assert index.nearest(vectors, question(0), 20, allowed[:0]).tolist() == []


def test_most_of_the_nearest_are_found_above_the_size_of_an_exact_scan(small: None) -> None:
    vectors, index = clustered(3000), VectorIndex(D)
    index.cover(vectors)
    found = expected = 0
    for seed in range(100):
        exact = best(vectors, question(seed), 10)
        expected += len(exact)
        found += len(set(exact) & set(index.nearest(vectors, question(seed), 10).tolist()))
    assert found / expected > 0.95


def test_the_tail_behind_the_index_is_scanned(small: None) -> None:
    vectors, index = clustered(330), VectorIndex(D)
    index.cover(vectors)
    assert index.indexed == 320
    for row in range(320, 330):
        query = vectors[row].view(np.float16).astype(np.float32)
        assert index.nearest(vectors, query, 1).tolist() == best(vectors, query, 1)


@pytest.mark.parametrize("step", [1, 37, 256, 1000])
def test_rows_and_their_order_alone_decide_what_is_found(small: None, step: int) -> None:
    vectors = clustered(1000)
    whole, parts = VectorIndex(D), VectorIndex(D)
    whole.cover(vectors)
    for stop in [*range(step, 1000, step), 1000]:
        parts.cover(vectors[:stop])
    assert parts.indexed == whole.indexed == 960
    for seed in range(30):
        query = question(seed)
        assert (
            parts.nearest(vectors, query, 20).tolist() == whole.nearest(vectors, query, 20).tolist()
        )


@pytest.mark.parametrize("step", [1, 50, 400])
def test_neighbours_do_not_depend_on_the_batches(small: None, step: int) -> None:
    vectors = clustered(400)
    rows, similarities = VectorIndex(D).neighbours(vectors, 0, 400, 3, 0.5)
    index = VectorIndex(D)
    for start in range(0, 400, step):
        some, cosines = index.neighbours(vectors[: start + step], start, start + step, 3, 0.5)
        np.testing.assert_array_equal(some, rows[start : start + step])
        np.testing.assert_array_equal(cosines, similarities[start : start + step])
        index.cover(vectors[: start + step])


@pytest.mark.parametrize("n", [100, 300])
def test_neighbours_are_earlier_rows_above_the_floor(small: None, n: int) -> None:
    vectors = clustered(n)
    floats = vectors.view(np.float16).astype(np.float64)
    rows, similarities = VectorIndex(D).neighbours(vectors, 50, n, 4, 0.8)
    for i in range(50, n):
        cosines = floats[:i] @ floats[i]
        expected = [j for j in np.lexsort((np.arange(i), -cosines))[:4] if cosines[j] >= 0.8]
        found = [int(j) for j in rows[i - 50] if j >= 0]
        assert found == expected
        np.testing.assert_allclose(similarities[i - 50, : len(found)], cosines[found], atol=1e-5)
        assert not similarities[i - 50, len(found) :].any()


def test_no_neighbours_where_none_are_wanted() -> None:
    rows, similarities = VectorIndex(D).neighbours(clustered(5), 2, 5, 0, 0.5)
    assert rows.shape == similarities.shape == (3, 0)


def test_a_reader_of_an_older_snapshot_sees_no_newer_row(small: None) -> None:
    vectors, index = clustered(1000), VectorIndex(D)
    index.cover(vectors)
    for seed in range(5):
        found = index.nearest(vectors[:500], question(seed), 10)
        assert found.tolist() == best(vectors[:500], question(seed), 10)


def test_an_index_comes_back_from_its_file(small: None, tmp_path: Path) -> None:
    vectors, index = clustered(700), VectorIndex(D)
    index.cover(vectors)
    mark = index.save(tmp_path / "vectors.hnsw")
    again = VectorIndex(D)
    assert again.load(tmp_path / "vectors.hnsw", mark) is None
    assert again.indexed == index.indexed == 640
    assert [p.name for p in tmp_path.iterdir()] == ["vectors.hnsw"]
    for seed in range(20):
        query = question(seed)
        assert (
            again.nearest(vectors, query, 10).tolist() == index.nearest(vectors, query, 10).tolist()
        )
    more = clustered(1400)
    more[:700] = vectors
    again.cover(more)
    assert again.indexed == 1344
    query = more[1300].view(np.float16).astype(np.float32)
    assert again.nearest(more, query, 1).tolist() == [1300]


def test_no_index_is_no_file_and_no_notice(tmp_path: Path) -> None:
    index = VectorIndex(D)
    assert index.save(tmp_path / "vectors.hnsw") == ""
    assert list(tmp_path.iterdir()) == []
    assert index.load(tmp_path / "vectors.hnsw", "") is None


@pytest.mark.parametrize("damage", ["flip", "cut", "lose"])
def test_a_damaged_file_is_noticed_and_the_index_built_anew(
    small: None, tmp_path: Path, damage: str
) -> None:
    vectors, index, path = clustered(700), VectorIndex(D), tmp_path / "vectors.hnsw"
    index.cover(vectors)
    mark = index.save(path)
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    path.write_bytes(data if damage == "flip" else data[: len(data) // 2])
    if damage == "lose":
        path.unlink()
    again = VectorIndex(D)
    notice = again.load(path, mark)
    assert notice is not None
    assert str(path) in notice
    assert again.indexed == 0
    again.cover(vectors)
    for seed in range(10):
        query = question(seed)
        assert (
            again.nearest(vectors, query, 10).tolist() == index.nearest(vectors, query, 10).tolist()
        )
