import numpy as np
import pytest

from cuegraph.kernels import csr, reference
from cuegraph.kernels.beam import Adjacency


def equal(got: csr.Csr, want: csr.Csr) -> None:
    for name, a, b in zip(csr.Csr._fields, got, want, strict=True):
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, name)


def edges(m: int, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(m)
    return [
        rng.integers(0, n, m).astype(np.int32),
        rng.integers(0, n, m).astype(np.int32),
        rng.integers(0, 16, m).astype(np.uint8),
        rng.random(m).astype(np.float32),
        rng.integers(-1, 5, m).astype(np.int32),
    ]


@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 3), (7, 50), (40, 10)])
def test_build_is_the_reference(n: int, m: int) -> None:
    columns = edges(m, n)
    for column in columns:
        column.flags.writeable = False
    equal(csr.build(n, *columns), reference.build(n, *columns))


def test_build_keeps_the_order_within_a_row() -> None:
    src, dst = np.array([1, 0, 1, 1], np.int32), np.array([2, 2, 0, 1], np.int32)
    built = csr.build(
        3, src, dst, np.arange(4, dtype=np.uint8), np.ones(4, np.float32), np.full(4, -1, np.int32)
    )
    assert built.indptr.tolist() == [0, 1, 4, 4]
    assert built.dst.tolist() == [2, 2, 0, 1]
    assert built.relation.tolist() == [1, 0, 2, 3]


def test_merge_is_the_reference(graph: tuple[Adjacency, object, object]) -> None:
    base, delta = csr.Csr(*graph[0][:5]), graph[0][5:]
    equal(csr.merge(base, *delta), reference.merge(base, *delta))


def test_merge_writes_delta_edges_oldest_first_up_to_the_watermark() -> None:
    empty = csr.build(1, *(column[:0] for column in edges(1, 1)))
    head, chain = np.array([2, 3], np.int32), np.array([-1, 0, 1, -1], np.int32)
    columns = [np.array([0, 1, 0, 1], np.int32), np.arange(4, dtype=np.uint8)]
    columns += [np.ones(4, np.float32), np.full(4, -1, np.int32)]
    merged = csr.merge(empty, head, chain, *columns, 2, 2)
    assert merged.indptr.tolist() == [0, 2, 2]
    assert merged.relation.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (0, 7, r"src: expected 0 <= value < 7"),
        (1, -1, r"dst: expected 0 <= value < 7, got -1"),
        (2, 16, r"relation: expected 0 <= value < 16"),
        (4, -2, r"payload: expected -1 <= value"),
    ],
)
def test_a_value_out_of_range_is_named(column: int, value: int, message: str) -> None:
    columns = edges(20, 7)
    columns[column][3] = value
    with pytest.raises(ValueError, match=message):
        csr.build(7, *columns)


def test_merge_refuses_what_does_not_fit() -> None:
    columns = edges(6, 3)
    base = csr.build(3, *columns)
    head, chain = np.full(3, -1, np.int32), np.full(6, -1, np.int32)
    with pytest.raises(ValueError, match=r"indptr: expected at most 3 starts"):
        csr.merge(base, head, chain, *columns[1:], 6, 2)
    with pytest.raises(ValueError, match=r"m_delta up to 6, got 7"):
        csr.merge(base, head, chain, *columns[1:], 7, 3)
    with pytest.raises(ValueError, match=r"head: expected -1 <= value < 6"):
        csr.merge(base, np.array([0, 6, 0], np.int32), chain, *columns[1:], 6, 3)
    with pytest.raises(ValueError, match=r"lengths|edges: expected 6"):
        csr.merge(base, head, chain, columns[1][:5], *columns[2:], 6, 3)
