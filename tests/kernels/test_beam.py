from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cuegraph.kernels import csr, reference
from cuegraph.kernels.beam import (
    ANCHOR,
    OVER_BUDGET,
    Adjacency,
    BeamResult,
    Nodes,
    Queries,
    beam,
)

Graph = tuple[Adjacency, Nodes, Queries]
CAUSES, SIMILAR = 2, 4


def lists(result: BeamResult) -> list[list[object]]:
    """All that is defined of a result, so that `==` compares it to the bit."""
    count = result.count.tolist()
    columns = [[column[q, :c].tolist() for q, c in enumerate(count)] for column in result[1:8]]
    return [count, *columns, result.truncated.tolist()]


@pytest.mark.parametrize(
    "options",
    [
        {"width": 40, "depth": 5, "budget": 200},
        {"width": 3, "depth": 4, "budget": 200, "gamma": 0.5, "hub": 0.5},
        {"width": 4, "depth": 9, "budget": 9, "similarity": 2.0, "gamma": 0.0},
        {"width": 1, "depth": 3, "budget": 1},
        {"width": 2, "depth": 0, "budget": 50},
    ],
)
def test_beam_has_the_bits_of_the_reference(graph: Graph, options: dict[str, float]) -> None:
    assert lists(beam(*graph, **options)) == lists(reference.beam(*graph, **options))


def test_base_and_delta_give_the_same_bits(graph: Graph) -> None:
    adjacency, nodes, queries = graph
    merged = csr.merge(csr.Csr(*adjacency[:5]), *adjacency[5:])
    chains = [np.full(adjacency.n, -1, np.int32), *(column[:0] for column in adjacency[6:11])]
    base_only = Adjacency(*merged, *chains, 0, adjacency.n)
    assert lists(beam(base_only, nodes, queries, hub=0.3)) == lists(beam(*graph, hub=0.3))


def test_a_query_does_not_depend_on_its_batch(random_graph: Graph) -> None:
    adjacency, nodes, queries = random_graph
    whole = beam(*random_graph)
    for q in range(3):
        rows = slice(q, q + 1)
        alone = queries._replace(
            vectors=queries.vectors[rows],
            anchor_ptr=queries.anchor_ptr[q : q + 2],
            gain=queries.gain[rows],
            tag_gain=queries.tag_gain[rows],
            window=queries.window[rows],
        )
        part = BeamResult(*(column[rows] for column in whole))
        assert lists(beam(adjacency, nodes, alone)) == lists(part)


def test_threads_agree(random_graph: Graph) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: lists(beam(*random_graph)), range(20)))
    assert all(result == results[0] for result in results)


def five_nodes(**changes: object) -> Graph:
    """0 causes 1 and resembles 2; 1 causes 3 weakly, 2 resembles 3; 3 causes 4.

    Nodes 1 and 3 are the query itself (factor 1), 2 and 4 have no vector (factor 1/2 as l2 = ln 2).
    """
    relation = [CAUSES, SIMILAR, CAUSES, SIMILAR, CAUSES]
    base = csr.build(
        5,
        np.array([0, 0, 1, 2, 3], np.int32),
        np.array([1, 2, 3, 3, 4], np.int32),
        np.array(relation, np.uint8),
        np.array([1, 1, 0.5, 1, 1], np.float32),
        np.array([0, -1, -1, -1, 9], np.int32),
    )
    none = [np.zeros(0, dtype) for dtype in (np.int32, np.int32, np.uint8, np.float32, np.int32)]
    adjacency = Adjacency(*base, np.full(5, -1, np.int32), *none, 0, 5)
    nodes = Nodes(
        np.array([[1, 0]], np.float16).view(np.uint16),
        np.array([-1, 0, -1, 0, -1], np.int32),
        np.zeros(5, np.uint8),
        np.array([0, 0, 2, 0, 0], np.uint8),
        np.array([10, 20, 0, 30, 40], np.int64),
    )
    gain = np.zeros((1, 16), np.float32)
    gain[0, CAUSES], gain[0, SIMILAR] = 1, 0.5
    queries = Queries(
        np.array([[1, 0]], np.float32),
        np.array([0, 1]),
        np.array([0], np.int32),
        np.array([1], np.float32),
        gain,
        np.zeros((1, 0), np.float32),
        np.zeros((1, 2), np.int64),
    )
    return adjacency, nodes._replace(**changes.pop("nodes", {})), queries._replace(**changes)


def kept(graph: Graph, **options: float) -> tuple[list[int], list[float], list[int]]:
    result = beam(*graph, similarity=np.log(2), gamma=0.5, **options)
    n = result.count[0]
    scores = result.scores[0, :n].round(6).tolist()
    return result.rows[0, :n].tolist(), scores, result.parent[0, :n].tolist()


def test_support_of_anchors_by_hand() -> None:
    # Anchors 0 (score 1) and 3 (0.25). 0 -> 1 gives 1 a score of 0.5 * 1 + 1; 1 -> 3 then gives
    # anchor 3 a support of 0.5 * 1.5 + 0.5, over 2 only 0.5 * 0.75 + 0.5. Nothing leads to 0.
    graph = five_nodes(
        anchors=np.array([0, 3], np.int32),
        anchor_scores=np.array([1, 0.25], np.float32),
        anchor_ptr=np.array([0, 2]),
    )
    result = beam(*graph, similarity=np.log(2), gamma=0.5)
    rows = result.rows[0, : result.count[0]].tolist()
    support = dict(zip(rows, result.support[0].round(6).tolist(), strict=False))
    assert support[3] == 1.25
    assert support[0] == 0
    assert support[1] == result.scores[0, rows.index(1)]


def test_a_walk_back_is_no_support() -> None:
    # 0 -> 1 -> 0 and 0 -> 0: neither confirms anchor 0.
    base = csr.build(
        2,
        np.array([0, 0, 1], np.int32),
        np.array([0, 1, 0], np.int32),
        np.full(3, SIMILAR, np.uint8),
        np.ones(3, np.float32),
        np.full(3, -1, np.int32),
    )
    adjacency, nodes, queries = five_nodes()
    result = beam(adjacency._replace(**base._asdict(), n=2), nodes, queries)
    assert result.rows[0, : result.count[0]].tolist() == [0, 1]
    assert result.support[0, 0] == 0


def test_five_nodes_by_hand() -> None:
    # 1: 0.5 * 1 + 1 * 1 * 1; 2: 0.5 * 1 + 1 * 0.5 * 0.5; 3 over 1: 0.5 * 1.5 + 0.5, which beats
    # 0.5 * 0.75 + 0.5 over 2; 4: 0.5 * 1.25 + 0.5.
    rows, scores, parent = kept(five_nodes())
    assert rows == [0, 1, 2, 3, 4]
    assert scores == [1, 1.5, 0.75, 1.25, 1.125]
    assert parent == [-1, 0, 0, 1, 3]
    result = beam(*five_nodes())
    assert result.relation[0, :5].tolist() == [ANCHOR, CAUSES, SIMILAR, CAUSES, CAUSES]
    assert result.payload[0, :5].tolist() == [-1, 0, -1, -1, 9]
    assert result.depth[0, :5].tolist() == [0, 1, 1, 2, 3]


def test_five_nodes_with_a_damped_hub() -> None:
    # Node 0 has two edges, so each counts half: 1: 0.5 + 0.5; 2: 0.5 + 0.125; 3: 0.5 + 0.5.
    assert kept(five_nodes(), hub=1.0)[1] == [1, 1, 0.625, 1, 1]


def test_five_nodes_with_a_weighed_tag() -> None:
    # The edge 0 -> 1 carries triple 0; payload 9 lies beyond the two known tags.
    graph = five_nodes(tag_gain=np.array([[0.25, 7]], np.float32))
    assert kept(graph)[1] == [1, 0.75, 0.75, 0.875, 0.9375]


def test_five_nodes_with_a_relation_switched_off() -> None:
    gain = np.zeros((1, 16), np.float32)
    gain[0, SIMILAR] = 0.5
    assert kept(five_nodes(gain=gain))[0] == [0, 2, 3]


def test_a_deleted_node_is_passed_over() -> None:
    status = np.array([0, 7, 0, 0, 0], np.uint8)
    rows, _, parent = kept(five_nodes(nodes={"status": status}))
    assert (rows, parent) == ([0, 2, 3, 4], [-1, 0, 1, 2])


def test_a_window_passes_over_episodes_only() -> None:
    # 10 <= time < 30 leaves 0 and 1; node 2 is no episode and has no time.
    assert kept(five_nodes(window=np.array([[10, 30]])))[0] == [0, 1, 2]


def test_width_and_budget_cut() -> None:
    assert kept(five_nodes(), width=1)[0] == [0, 1, 3, 4]
    for budget, truncated in ((1, 2), (2, 2), (4, 2), (5, 0)):
        result = beam(*five_nodes(), budget=budget)
        assert result.count[0] == budget
        assert result.truncated[0] == truncated
    assert OVER_BUDGET == 2
    assert beam(*five_nodes(), budget=3, depth=1).truncated[0] == 0


def test_a_tie_goes_to_the_lower_parent_then_relation_then_payload() -> None:
    adjacency, nodes, queries = five_nodes()
    src, dst = np.array([2, 1, 1, 1], np.int32), np.full(4, 3, np.int32)
    relation = np.array([CAUSES, CAUSES + 4, CAUSES, CAUSES], np.uint8)
    payload = np.array([0, 1, 3, 2], np.int32)
    base = csr.build(5, src, dst, relation, np.ones(4, np.float32), payload)
    queries = queries._replace(
        anchor_ptr=np.array([0, 2]),
        anchors=np.array([2, 1], np.int32),
        anchor_scores=np.ones(2, np.float32),
        gain=np.ones((1, 16), np.float32),
    )
    result = beam(adjacency._replace(**base._asdict()), nodes, queries)
    assert result.rows[0, :3].tolist() == [1, 2, 3]
    assert (result.parent[0, 2], result.relation[0, 2], result.payload[0, 2]) == (0, CAUSES, 2)


def test_a_hub_makes_the_pool_grow() -> None:
    n = 5000
    rows = np.arange(1, n, dtype=np.int32)
    m = n - 1
    base = csr.build(
        n,
        np.zeros(m, np.int32),
        rows,
        np.zeros(m, np.uint8),
        (rows % 97).astype(np.float32),
        np.full(m, -1, np.int32),
    )
    adjacency, nodes, queries = five_nodes(gain=np.ones((1, 16), np.float32))
    adjacency = adjacency._replace(**base._asdict(), head=np.full(n, -1, np.int32), n=n)
    columns = {"vector_row": np.full(n, -1, np.int32), "time": np.zeros(n, np.int64)}
    columns |= {"status": np.zeros(n, np.uint8), "kind": np.zeros(n, np.uint8)}
    result = beam(adjacency, nodes._replace(**columns), queries, width=5)
    assert result.rows[0, : result.count[0]].tolist() == [0, 96, 193, 290, 387, 484]


def test_read_only_input_is_accepted(random_graph: Graph) -> None:
    want = lists(beam(*random_graph))
    for bundle in random_graph:
        for array in bundle:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
    assert lists(beam(*random_graph)) == want


def test_wrong_input_is_named(random_graph: Graph) -> None:
    adjacency, nodes, queries = random_graph
    with pytest.raises(ValueError, match=r"expected at least 20 rows, got 19"):
        beam(adjacency, nodes._replace(kind=nodes.kind[:19]), queries)
    with pytest.raises(ValueError, match=r"expected rows of 40 elements"):
        beam(adjacency, nodes, queries._replace(vectors=queries.vectors[:, :39]))
    with pytest.raises(ValueError, match=r"expected gain \(3, 16\)"):
        beam(adjacency, nodes, queries._replace(gain=queries.gain[:, :8]))
    with pytest.raises(ValueError, match=r"anchor_ptr of 4, got 3"):
        beam(adjacency, nodes, queries._replace(anchor_ptr=queries.anchor_ptr[:3]))
    with pytest.raises(ValueError, match=r"anchor_ptr: expected starts that rise up to at most 3"):
        beam(adjacency, nodes, queries._replace(anchors=queries.anchors[:3]))
    with pytest.raises(ValueError, match=r"width 0"):
        beam(adjacency, nodes, queries, width=0)
