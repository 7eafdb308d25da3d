import numpy as np
import pytest

from cuegraph.kernels import ranking, reference
from cuegraph.kernels.ranking import (
    ASKS,
    FUSED,
    GRAPH,
    KEYWORD,
    PARTS,
    SESSION,
    SHORT,
    SPEAKER,
    VECTOR,
    Columns,
)

DIMENSION = 40  # one whole block of the dot product and a remainder


def columns(n: int, seed: int) -> Columns:
    """Nodes in sessions of four, some deleted, without a vector, or behind the reader's `n`."""
    rng = np.random.default_rng(seed)
    rows = np.arange(n, dtype=np.int32)
    return Columns(
        vector_row=np.where(rng.random(n) < 0.2, -1, rng.permutation(n)).astype(np.int32),
        status=(rng.random(n) < 0.2).astype(np.uint8),
        flags=rng.integers(0, 8, n).astype(np.uint8),
        session=rows // 4,
        previous=np.where(rows % 4 == 0, -1, rows - 1).astype(np.int32),
        following=np.where(rows % 4 == 3, -1, rows + 1).astype(np.int32),
        speaker=rng.integers(-1, 4, n).astype(np.int32),
        length=rng.integers(0, 15, n).astype(np.int32),
        n=n - 2,
    )


def vectors(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, DIMENSION)).astype(np.float16).view(np.uint16)


def query() -> np.ndarray:
    return np.random.default_rng(9).standard_normal(DIMENSION).astype(np.float32)


def scores(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    both = rng.random((2, n)) * (rng.random((2, n)) < 0.6)
    return both[0].astype(np.float32), both[1].astype(np.float32)


@pytest.mark.parametrize(("n", "m"), [(2, 0), (3, 1), (30, 12), (400, 90)])
@pytest.mark.parametrize("speakers", [[], [2], [0, 3]])
def test_measures_have_the_bits_of_the_reference(n: int, m: int, speakers: list[int]) -> None:
    known = columns(n, m)
    nodes = np.random.default_rng(m).choice(known.n, m, replace=False).astype(np.int32)
    of_question = (scores(n, m), vectors(n, m), query(), np.array(speakers, np.int32))
    for middling in (np.nan, 0.25):
        got, mean = ranking.measure(nodes, known, *of_question, middling)
        want, mean_wanted = reference.measure(nodes, known, *of_question, middling)
        assert got.tobytes() == want.tobytes()
        assert mean == pytest.approx(mean_wanted, rel=0, abs=0, nan_ok=True)


def test_measures_by_hand() -> None:
    known = Columns(
        vector_row=np.array([0, 1, -1, 2], np.int32),
        status=np.array([0, 0, 0, 1], np.uint8),
        flags=np.array([3, 0, 6, 1], np.uint8),
        session=np.array([3, 3, 3, 3], np.int32),
        previous=np.array([-1, 0, 1, 2], np.int32),
        following=np.array([1, 2, 3, -1], np.int32),
        speaker=np.array([7, 8, -1, 7], np.int32),
        length=np.array([4, 10, 0, 99], np.int32),
        n=4,
    )
    rows = np.array([[1, 0], [0.5, 0], [8, 8]], np.float16).view(np.uint16)
    by_node = (np.float32([1, 2, 3, 4]), np.float32([0, 0, 0, 6]))
    nodes = np.array([2, 1, 0], np.int32)
    got, middling = ranking.measure(
        nodes, known, by_node, rows, np.float32([2, 1]), np.array([7], np.int32)
    )
    assert middling == 1.0  # of 0 (no vector), 1 and 2
    assert got[:, KEYWORD].tolist() == [3, 2, 1]
    assert got[:, SESSION].tolist() == [6, 6, 6]
    # The turn after node 2 is deleted and there is none before node 0: middling ones stand in.
    beside = np.array([[1, 1], [2, 0], [1, 1]])
    np.testing.assert_allclose(got[:, VECTOR], [0, 1, 2] + 0.3 * beside.sum(1), rtol=1e-6)
    assert got[:, SPEAKER].tolist() == [0, 0, 1]
    assert got[:, ASKS].tolist() == [0, 0, 1]
    np.testing.assert_allclose(got[:, SHORT], [1, 0, 0.6], rtol=1e-6)
    assert not got[:, [FUSED, GRAPH]].any()


@pytest.mark.parametrize("m", [0, 1, 2, 50, 300])
def test_scores_have_the_bits_of_the_reference(m: int) -> None:
    rng = np.random.default_rng(m)
    nodes = rng.choice(10_000, m, replace=False).astype(np.int32)
    measures = (rng.integers(-2, 9, (m, PARTS)) / 4).astype(np.float32)  # many are equal
    weights = rng.standard_normal(PARTS).astype(np.float32)
    least, spread = ranking.scales(measures)
    for got, want in zip((least, spread), reference.scales(measures), strict=True):
        assert got.tobytes() == want.tobytes()
    found = ranking.score(nodes, measures, least, spread, weights)
    expected = reference.score(nodes, measures, least, spread, weights)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_equal_scores_are_in_the_order_of_nodes_whatever_the_sign_of_zero() -> None:
    measures = np.zeros((4, PARTS), np.float32)
    weights = np.zeros(PARTS, np.float32)
    weights[-1] = -0.0
    nodes = np.array([9, 2, 30, 4], np.int32)
    one = np.ones(PARTS, np.float32)
    assert ranking.score(nodes, measures, one * 0, one, weights)[2].tolist() == [1, 3, 0, 2]


def test_scales_of_nothing_and_of_equals() -> None:
    least, spread = ranking.scales(np.zeros((0, PARTS), np.float32))
    assert least.tolist() == [0] * PARTS
    assert (spread[KEYWORD], spread[SESSION], spread[VECTOR]) == (np.inf, np.inf, 1)
    measures = np.zeros((3, PARTS), np.float32)
    measures[:, VECTOR] = -2
    measures[:, KEYWORD] = [1, 4, 2]
    least, spread = ranking.scales(measures)
    assert (least[VECTOR], spread[VECTOR], spread[KEYWORD], spread[GRAPH]) == (-2, 1, 4, 1)


@pytest.mark.parametrize(("known", "wanted"), [(0, 0), (0, 3), (5, 0), (300, 10), (200, 150)])
def test_places_and_joins_are_those_of_the_reference(known: int, wanted: int) -> None:
    rng = np.random.default_rng(known)
    one = rng.choice(400, known, replace=False).astype(np.int32)
    other = rng.choice(400, wanted, replace=False).astype(np.int32)
    assert ranking.places(one, other).tolist() == reference.places(one, other).tolist()
    support = rng.random(wanted).astype(np.float32)
    for got, want in zip(
        ranking.join(one, other, support), reference.join(one, other, support), strict=True
    ):
        assert got.dtype == want.dtype
        assert got.tolist() == want.tolist()


def test_read_only_input_is_accepted() -> None:
    known, rows = columns(20, 1), vectors(20, 1)
    nodes, by_node = np.array([3, 5, 8], np.int32), scores(20, 1)
    for array in (*known[:-1], rows, nodes, *by_node):
        array.flags.writeable = False
    measures, _ = ranking.measure(nodes, known, by_node, rows, query(), nodes)
    measures.flags.writeable = False
    assert ranking.score(nodes, measures, *ranking.scales(measures), measures[0])[1].size == 3
    assert ranking.join(nodes, nodes, by_node[0][:3])[0].tolist() == [3, 5, 8]


def test_wrong_input_is_named() -> None:
    known, rows, by_node = columns(20, 1), vectors(20, 1), scores(20, 1)
    nodes = np.array([3, 19], np.int32)
    with pytest.raises(ValueError, match="nodes: expected rows of nodes"):  # behind `n`
        ranking.measure(nodes, known, by_node, rows, query(), nodes)
    with pytest.raises(ValueError, match="expected at least 30 rows, got 20"):
        ranking.measure(nodes, known._replace(n=30), by_node, rows, query(), nodes)
    with pytest.raises(ValueError, match="query: expected 40 elements, got 39"):
        ranking.measure(nodes, known, by_node, rows, query()[:39], nodes)
    measures, one = np.zeros((3, PARTS), np.float32), np.ones(PARTS, np.float32)
    with pytest.raises(ValueError, match="measures: expected shape"):
        ranking.score(nodes, measures, one, one, one)
    with pytest.raises(ValueError, match="expected 10 elements each"):
        ranking.score(nodes, measures[:2], one[:9], one, one)
    with pytest.raises(ValueError, match="support: expected 2 elements, got 3"):
        ranking.join(nodes, nodes, np.zeros(3, np.float32))
