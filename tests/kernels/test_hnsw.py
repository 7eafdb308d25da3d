import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cuegraph.kernels import hnsw, reference, similarity
from cuegraph.kernels.hnsw import Index

D, M, EF, BLOCK = 40, 4, 12, 16
Maker = Callable[[int], np.ndarray]
compiled = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="takes minutes uncompiled"
)


def clustered(n: int, d: int = D, clusters: int = 8, seed: int = 0) -> np.ndarray:
    """Float16 bits of unit vectors in clusters."""
    rng = np.random.default_rng([seed, n])
    rows = rng.standard_normal((clusters, d))[rng.integers(0, clusters, n)]
    rows = rows + 0.5 * rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float16).view(np.uint16)


def repeated(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    return clustered(n)[rng.integers(0, max(1, n // 3), n)]


def equal(n: int) -> np.ndarray:
    return np.repeat(clustered(1), n, axis=0)


def zero(n: int) -> np.ndarray:
    return np.zeros((n, D), np.uint16)


def grid(n: int) -> np.ndarray:
    """Full of ties that are no twins."""
    rows = np.random.default_rng(n).integers(-1, 2, (n, D)).astype(np.float16)
    rows[:, 4:] = 0
    return rows.view(np.uint16)


MAKERS = {
    "clustered": clustered,
    "repeated": repeated,
    "equal": equal,
    "zero": zero,
    "grid": grid,
}
SMALL = [0, 1, 2, 16, 17, 90]


def floats(rows: np.ndarray) -> np.ndarray:
    return rows.view(np.float16).astype(np.float32)


def built(vectors: np.ndarray, m: int = M, ef: int = EF, block: int = BLOCK) -> Index:
    return hnsw.extend(hnsw.empty(m), vectors, len(vectors), ef=ef, block=block)


def assert_same(one: Index, other: Index) -> None:
    for name in Index._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
        assert getattr(one, name).dtype == getattr(other, name).dtype == np.int32


def exact(vectors: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    """In float64, ties by row."""
    sims = vectors.view(np.float16).astype(np.float64) @ query
    return np.lexsort((np.arange(len(vectors)), -sims))[:k].tolist()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("n", SMALL)
def test_the_graph_is_that_of_the_reference(make: Maker, n: int) -> None:
    vectors = make(n)
    want = reference.extend(hnsw.empty(M), vectors, n, ef=EF, block=BLOCK)
    assert_same(built(vectors), want)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("n", SMALL)
@pytest.mark.parametrize("k", [0, 1, 10, 200])
def test_a_search_finds_what_the_reference_finds(make: Maker, n: int, k: int) -> None:
    """With all rows in the graph, with a tail behind it, and by a reader of fewer rows."""
    vectors = make(n)
    index = hnsw.extend(hnsw.empty(M), vectors, n * 3 // 4, ef=EF, block=BLOCK)
    queries = floats(clustered(5, seed=9))
    stops = np.array([n, n * 3 // 4, n // 2, min(n, 1), 0])
    ef = max(k, EF)
    rows, sims = hnsw.nearest(index, vectors, queries, stops, k, ef)
    want_rows, want_sims = reference.nearest(index, vectors, queries, stops, k, ef)
    np.testing.assert_array_equal(rows, want_rows)
    assert sims.tobytes() == want_sims.tobytes()
    assert (np.sum(rows >= 0, axis=1) == np.minimum(stops, k)).all()


@compiled
def test_a_graph_of_three_levels_is_that_of_the_reference_on_all_levels() -> None:
    vectors = clustered(600, d=8)
    index = built(vectors, ef=40, block=100)
    assert_same(index, reference.extend(hnsw.empty(M), vectors, 600, ef=40, block=100))
    assert (index.upper >= 0).any()
    queries, stops = floats(clustered(9, d=8, seed=1)), np.full(9, 600)
    rows, _ = hnsw.nearest(index, vectors, queries, stops, 20, 40)
    want, _ = reference.nearest(index, vectors, queries, stops, 20, 40)
    np.testing.assert_array_equal(rows, want)
    assert index.entries[1] >= 0


@pytest.mark.parametrize("place", ["a file", "memory"])
def test_reading_ahead_finds_the_same(place: str, tmp_path: Path) -> None:
    vectors = clustered(150)
    index, queries, stops = built(vectors), floats(clustered(7, seed=1)), np.full(7, 150)
    if place == "a file":
        vectors.tofile(tmp_path / "rows")
        vectors = np.memmap(tmp_path / "rows", np.uint16, "r", shape=vectors.shape).view(np.ndarray)
    found = hnsw.nearest(index, vectors, queries, stops, 5, EF, ahead=True)
    want = hnsw.nearest(index, vectors, queries, stops, 5, EF)
    np.testing.assert_array_equal(found[0], want[0])
    assert found[1].tobytes() == want[1].tobytes()


def test_levels_by_their_share() -> None:
    start = hnsw.from_arrays(1, *_blank(1, 50_000)).start
    levels = np.diff(start)
    for level in range(3):
        assert np.mean(levels >= level) == pytest.approx(16.0**-level, rel=0.1)
    assert levels.max() < hnsw.LEVELS


def _blank(m: int, n: int) -> list[np.ndarray]:
    sizes = (2 * m * n, 0, n, hnsw.LEVELS)
    arrays = [np.full(size, -1, np.int32) for size in sizes]
    start = np.zeros(n + 1, np.int32)
    hnsw._count_levels(start, 0)
    arrays[1] = np.full(m * start[n], -1, np.int32)
    return arrays


@pytest.mark.parametrize("steps", [[BLOCK], [3 * BLOCK], [BLOCK, 5 * BLOCK], [7 * BLOCK]])
def test_the_steps_of_its_making_do_not_matter(steps: list[int]) -> None:
    vectors = repeated(150)
    grown = hnsw.empty(M)
    for stop in [*np.cumsum(steps).tolist(), 150]:
        before = [array.copy() for array in grown]
        wider = hnsw.extend(grown, vectors[:stop], stop, ef=EF, block=BLOCK)
        assert_same(grown, Index(*before))
        grown = wider
    assert_same(grown, built(vectors))


def test_it_is_extended_from_read_only_arrays() -> None:
    vectors = repeated(150)
    vectors.flags.writeable = False
    half = hnsw.extend(hnsw.empty(M), vectors, 5 * BLOCK, ef=EF, block=BLOCK)
    stored = {
        "links": half.links.reshape(-1),
        "upper": half.upper.reshape(-1),
        "twins": half.twins,
        "entries": half.entries,
    }
    for array in stored.values():
        array.flags.writeable = False
    again = hnsw.from_arrays(M, **stored)
    assert_same(again, half)
    assert_same(hnsw.extend(again, vectors, 150, ef=EF, block=BLOCK), built(vectors))
    rows, _ = hnsw.nearest(again, vectors, floats(vectors[:2]), np.array([150, 80]), 3, EF)
    assert rows.shape == (2, 3)


@compiled
@pytest.mark.parametrize("clusters", [1, 8, 60])
def test_recall_against_an_exact_scan(clusters: int) -> None:
    drawn = clustered(3100, clusters=clusters)
    vectors, queries = drawn[:3000], floats(drawn[3000:])
    index = built(vectors, 16, 100, 256)
    rows, sims = hnsw.nearest(index, vectors, queries, np.full(100, 3000), 10, 100)
    found = sum(
        len(set(exact(vectors, query, 10)) & set(row.tolist()))
        for query, row in zip(queries, rows, strict=True)
    )
    assert found / 1000 >= 0.97
    for row, near, query in zip(rows, sims, queries, strict=True):
        assert near.tobytes() == similarity.dots_at(vectors, row, query).tobytes()


@compiled
def test_a_large_share_of_equal_rows_hides_nothing() -> None:
    """A third are one text said again and again, near the middle of a cluster."""
    drawn, rng = clustered(3050), np.random.default_rng(2)
    vectors = drawn[:3000]
    vectors[rng.random(3000) < 0.33] = vectors[7]
    queries = floats(np.concatenate([drawn[3000:], vectors[7:8]]))
    index = built(vectors, 16, 100, 256)
    rows, _ = hnsw.nearest(index, vectors, queries, np.full(51, 3000), 10, 100)
    found = sum(
        len(set(exact(vectors, query, 10)) & set(row.tolist()))
        for query, row in zip(queries, rows, strict=True)
    )
    assert found / 510 >= 0.97
    same = np.flatnonzero((vectors == vectors[7]).all(axis=1))
    many, _ = hnsw.nearest(index, vectors, queries[-1:], np.array([3000]), 500, 500)
    assert many[0].tolist() == same[:500].tolist()
    seen, _ = hnsw.nearest(index, vectors[:900], queries[-1:], np.array([900]), 400, 400)
    assert seen[0, : np.sum(same < 900)].tolist() == same[same < 900][:400].tolist()


def test_a_graph_in_pieces_is_no_reason_to_find_less() -> None:
    vectors = clustered(20)
    links, upper, twins, entries = _blank(M, 20)
    entries[0] = 0
    index = hnsw.from_arrays(M, links, upper, twins, entries)
    query = floats(vectors[3:4])
    rows, _ = hnsw.nearest(index, vectors, query, np.array([20]), 5, EF)
    assert rows[0].tolist() == exact(vectors, query[0], 5)
    assert hnsw.nearest(index, vectors, query, np.array([20]), 1, EF)[0].tolist() == [[0]]


def test_twins_are_chained_and_never_linked() -> None:
    vectors = equal(40)
    index = built(vectors)
    assert (index.links == -1).all()
    assert index.twins.tolist() == [-2 - 39, *range(2, 40), 1]
    assert index.entries[0] == 0


def test_a_row_keeps_links_that_point_apart() -> None:
    """Four rows on a line through the query: each links to its nearest on either side only."""
    angles = np.array([0.0, 0.2, 0.4, 0.6])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    index = built(np.ascontiguousarray(rows.astype(np.float16)).view(np.uint16))
    links = [sorted(row[row >= 0].tolist()) for row in index.links]
    assert links == [[1], [0, 2], [1, 3], [2]]


def test_a_query_does_not_depend_on_its_batch() -> None:
    vectors = clustered(400)
    index, queries, stops = built(vectors), floats(clustered(30, seed=4)), np.full(30, 400)
    whole = hnsw.nearest(index, vectors, queries, stops, 5, 20)[0]
    for q in range(30):
        part = slice(q, q + 1)
        alone = hnsw.nearest(index, vectors, queries[part], stops[part], 5, 20)[0]
        assert alone[0].tolist() == whole[q].tolist()


@compiled
def test_a_search_may_meet_more_rows_than_it_has_room_for() -> None:
    vectors = clustered(3000, clusters=3)
    index = built(vectors, 8, 30, 512)
    query = floats(clustered(1, seed=5))
    rows, _ = hnsw.nearest(index, vectors, query, np.array([3000]), 2900, 2999)
    assert len(set(rows[0].tolist())) == 2900
    assert len(set(rows[0].tolist()) & set(exact(vectors, query[0], 2900))) > 2850


def test_a_wider_table_still_knows_the_rows_met() -> None:
    seen = hnsw._new_seen(4)
    for i, row in enumerate([7, 1, 900]):
        cell = hnsw._cell(seen.table, row)
        seen.table[cell], seen.cells[i] = row, cell
    assert hnsw._room(seen, 3, 1).cells.size == 4
    wider = hnsw._room(seen, 3, 20)
    assert wider.cells.size == 32
    assert wider.table[wider.cells[:3]].tolist() == [7, 1, 900]
    assert [hnsw._cell(wider.table, row) for row in (7, 1, 900)] == wider.cells[:3].tolist()


def test_wrong_input_is_named() -> None:
    vectors = clustered(5)
    index, query, stops = built(vectors), floats(vectors[:1]), np.array([5])
    with pytest.raises(ValueError, match=r"index: expected arrays of \(8, 0, 8\) elements"):
        hnsw.from_arrays(4, *(np.zeros(n, np.int32) for n in (7, 0, 1, 8)))
    with pytest.raises(ValueError, match=r"5 <= stop <= 5.*got stop 6"):
        hnsw.extend(index, vectors, 6, ef=1, block=1)
    with pytest.raises(ValueError, match="uint16"):
        hnsw.extend(index, vectors.view(np.float16), 5, ef=1, block=1)
    with pytest.raises(ValueError, match="k 3, ef 2"):
        hnsw.nearest(index, vectors, query, stops, 3, 2)
    with pytest.raises(ValueError, match=r"queries \(1, 40\).*got \(1, 39\)"):
        hnsw.nearest(index, vectors, query[:, :39].copy(), stops, 3, 4)
    with pytest.raises(ValueError, match="stops: expected 0 to 5, got 6"):
        hnsw.nearest(index, vectors, query, stops + 1, 3, 4)
