from typing import Any

import numpy as np
import pytest

from cuegraph.kernels import csr, edges, reference
from cuegraph.kernels.beam import Adjacency, pack

MENTIONS, MENTIONED_BY = 6, 7


def both_ways(case: Any) -> Adjacency:
    """The edges of a case, each with its reverse; of the base's edges twice `m_base` are there."""
    pairs = np.array(case.edges, np.int32).reshape(-1, 2)
    m = len(pairs)
    relation = np.random.default_rng(m).integers(0, 16, m).astype(np.uint8)
    src = np.stack([pairs[:, 0], pairs[:, 1]], 1).reshape(-1)
    dst = np.stack([pairs[:, 1], pairs[:, 0]], 1).reshape(-1)
    link = pack(np.stack([relation, relation ^ 1], 1).reshape(-1), np.ones(2 * m))
    base = 2 * case.m_base
    indptr, order = csr.build(case.n_base, src[:base])
    head, chain = np.full(case.n, -1, np.int32), np.full(2 * m - base, -1, np.int32)
    for e, node in enumerate(src[base:].tolist()):
        chain[e], head[node] = head[node], e
    tag = np.full(2 * m, -1, np.int32)
    return Adjacency(
        *(indptr, dst[:base][order], link[:base][order], tag[:0], head, chain),
        *(dst[base:], link[base:], tag[base:], 2 * min(case.watermark, m - case.m_base), case.n),
    )


def test_neighbours_are_the_references(case: Any) -> None:
    graph = both_ways(case)
    for node in range(case.n):
        for relation in range(16):
            for limit in (0, 3, 10_000):
                got = edges.neighbours(graph, node, relation, limit)
                want = reference.neighbours(graph, node, relation, limit)
                assert (got is None) == (want is None)
                if got is not None and want is not None:
                    assert got.dtype == np.int32
                    assert got.tolist() == want.tolist()


def test_linked_is_the_reference(case: Any) -> None:
    graph = both_ways(case)
    rows = np.arange(-1, case.n + 1, dtype=np.int32)
    rows = np.concatenate([rows, rows[::2], rows[::-1]])
    for relation in range(16):
        for targets in ([], [0], [case.n - 1, 0], list(range(0, case.n, 3))):
            wanted = np.array(targets if case.n else [], np.int32)
            got = edges.linked(graph, rows, relation, wanted)
            assert got.dtype == np.bool_
            want = reference.linked(graph, rows, relation, wanted)
            np.testing.assert_array_equal(got, want)


def hub() -> Adjacency:
    """Node 0 mentions 1 and 2; 2 is mentioned by 0, 3 and 3 again, the last time in the delta."""
    indptr = np.array([0, 2, 3, 5, 6])
    dst = np.array([1, 2, 0, 0, 3, 2], np.int32)
    relation = np.array([MENTIONS, MENTIONS, *[MENTIONED_BY] * 3, MENTIONS], np.uint8)
    head = np.array([-1, -1, 0, 1], np.int32)
    return Adjacency(
        *(indptr, dst, pack(relation, np.ones(6)), np.empty(0, np.int32), head),
        *(np.array([-1, -1], np.int32), np.array([3, 2], np.int32)),
        *(pack(np.array([MENTIONED_BY, MENTIONS], np.uint8), np.ones(2)), np.full(2, -1, np.int32)),
        *(2, 4),
    )


def test_a_hub_has_no_neighbours_to_name() -> None:
    graph = hub()
    found = edges.neighbours(graph, 2, MENTIONED_BY, 3)
    assert found is not None
    assert found.tolist() == [0, 3, 3]
    assert edges.neighbours(graph, 2, MENTIONED_BY, 2) is None
    assert edges.neighbours(graph, 2, MENTIONS, 2) is None
    before = edges.neighbours(graph._replace(m_delta=0), 2, MENTIONED_BY, 2)
    assert before is not None
    assert before.tolist() == [0, 3]


def test_an_edge_is_found_from_either_end() -> None:
    graph, rows = hub(), np.array([3, 0, 1, -1, 4], np.int32)
    mentions = edges.linked(graph, rows, MENTIONS, np.array([2], np.int32))
    assert mentions.tolist() == [True, True, False, False, False]
    names = np.array([1, 2], np.int32)
    assert edges.linked(graph, names, MENTIONED_BY, np.array([3], np.int32)).tolist() == [
        False,
        True,
    ]


def test_read_only_and_wrong_input() -> None:
    graph, rows = hub(), np.array([0], np.int32)
    for array in (rows, *graph[:9]):
        array.flags.writeable = False
    assert edges.linked(graph, rows, MENTIONS, rows).tolist() == [False]
    assert edges.neighbours(graph, 0, MENTIONS, 9) is not None
    with pytest.raises(ValueError, match=r"targets: expected nodes of \[0, 4\), got \[4\]"):
        edges.linked(graph, rows, MENTIONS, np.array([4], np.int32))
    with pytest.raises(ValueError, match=r"node: expected one of \[0, 4\), got 4"):
        edges.neighbours(graph, 4, MENTIONS, 9)
    with pytest.raises(ValueError, match=r"rows: expected a C-contiguous int32"):
        edges.linked(graph, rows.astype(np.int64), MENTIONS, rows)
