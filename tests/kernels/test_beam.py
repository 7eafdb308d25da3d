import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuegraph.kernels import beam as kernel
from cuegraph.kernels import csr, reference
from cuegraph.kernels.beam import (
    ANCHOR,
    OVER_BUDGET,
    OVER_LIMIT,
    Adjacency,
    BeamResult,
    Nodes,
    Queries,
    beam,
    pack,
    unpack,
)

Array = npt.NDArray[Any]
Graph = tuple[Adjacency, Nodes, Queries]
CAUSES, SIMILAR = 2, 4


def base_of(n: int, src: Array, *columns: Array) -> dict[str, Array]:
    """The base of an adjacency: `indptr` and the columns dst, link and tag."""
    dst, relation, weight, tag = columns
    indptr, order = csr.build(n, src)
    link = pack(relation, weight)
    return {"indptr": indptr, "dst": dst[order], "link": link[order], "tag": tag[order]}


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
        {"width": 9, "depth": 4, "budget": 99, "hub": 0.5, "limit": 3},
    ],
)
def test_beam_has_the_bits_of_the_reference(graph: Graph, options: dict[str, float]) -> None:
    assert lists(beam(*graph, **options)) == lists(reference.beam(*graph, **options))


def test_base_and_delta_give_the_same_bits(graph: Graph, merged_graph: Adjacency) -> None:
    in_base = (merged_graph, *graph[1:])
    assert lists(beam(*in_base, hub=0.3)) == lists(beam(*graph, hub=0.3))


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
    edges = base_of(
        5,
        np.array([0, 0, 1, 2, 3], np.int32),
        np.array([1, 2, 3, 3, 4], np.int32),
        np.array(relation, np.uint8),
        np.array([1, 1, 0.5, 1, 1], np.float32),
        np.array([0, -1, -1, -1, 9], np.int32),
    )
    none = [np.zeros(0, dtype) for dtype in (np.int32, np.int32, np.uint16, np.int32)]
    adjacency = Adjacency(*edges.values(), np.full(5, -1, np.int32), *none, 0, 5)
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


def test_a_hub_is_kept_but_not_expanded() -> None:
    # Node 0 has two edges, over the limit of one: nothing is reached, and the result says why.
    result = beam(*five_nodes(), limit=1)
    assert result.rows[0, : result.count[0]].tolist() == [0]
    assert result.truncated.tolist() == [OVER_LIMIT]
    # With a limit of two it is expanded, and so are the others, which have one edge each.
    result = beam(*five_nodes(), limit=2)
    assert (result.count.tolist(), result.truncated.tolist()) == ([5], [0])


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
    support = dict(zip(rows, result.support[0, : len(rows)].round(6).tolist(), strict=True))
    assert support[3] == 1.25
    assert support[0] == 0
    assert support[1] == result.scores[0, rows.index(1)]


def with_anchors(graph: Graph, rows: list[int], scores: list[float]) -> Graph:
    """The graph with these anchors for every query."""
    b = len(graph[2].vectors)
    anchors = {
        "anchor_ptr": np.arange(b + 1) * len(rows),
        "anchors": np.tile(np.array(rows, np.int32), b),
        "anchor_scores": np.tile(np.array(scores, np.float32), b),
    }
    return *graph[:2], graph[2]._replace(**anchors)


def supports(graph: Graph, q: int, result: BeamResult, options: dict[str, Any]) -> dict[int, float]:
    """Support of the kept anchors by row, from a result that no budget cut: no search."""
    adjacency, nodes, queries = graph
    count = int(result.count[q])
    rows, step, parent = (
        column[q, :count] for column in (result.rows, result.depth, result.parent)
    )
    anchors = {int(row): 0.0 for row in rows[step == 0]}
    for place in range(count):
        unexpanded = step[place] == 0 and place >= options["width"]
        if unexpanded or step[place] == options["depth"]:
            continue
        edges = list(reference.seen_edges(adjacency, int(rows[place])))
        for dst, relation, weight, tag in edges:
            gain = float(queries.gain[q, relation])
            back = dst in (rows[place], rows[parent[place]] if step[place] > 0 else -1)
            if gain == 0 or back or dst not in anchors:
                continue
            if 0 <= tag < queries.tag_gain.shape[1]:
                gain *= float(queries.tag_gain[q, tag])
            sim, vector = 0.0, int(nodes.vector_row[dst])
            if vector >= 0:
                sim = float(nodes.vectors[vector].view(np.float16) @ queries.vectors[q])
            factor = math.exp(options["similarity"] * (sim - 1))
            score = options["gamma"] * float(result.scores[q, place])
            score += float(weight) * gain * factor * len(edges) ** -options["hub"]
            anchors[int(dst)] = max(anchors[int(dst)], score)
    return anchors


PLAIN = {"width": 40, "depth": 5, "budget": 200, "similarity": 0.5, "gamma": 0.9, "hub": 0.0}


@pytest.mark.parametrize("options", [{}, {"width": 3, "hub": 0.5}, {"depth": 1}, {"depth": 0}])
def test_support_follows_from_the_nodes_kept(graph: Graph, options: dict[str, Any]) -> None:
    # Every third node is an anchor, given twice, with scores that cross.
    n = graph[0].n
    options = PLAIN | options | {"budget": n + 1}
    rows = [*range(0, n, 3), *range(n - 1, -1, -3), *range(0, n, 3)]
    scores = [(5 * i % 7 + 1) / 8 for i in range(len(rows))]
    many = with_anchors(graph, rows, scores)
    result = beam(*many, **options)
    assert lists(result) == lists(reference.beam(*many, **options))
    for q, count in enumerate(result.count.tolist()):
        assert result.truncated[q] == 0
        steps, support = result.depth[q, :count], result.support[q, :count]
        assert support[steps > 0].tolist() == result.scores[q, :count][steps > 0].tolist()
        got = dict(zip(result.rows[q, :count].tolist(), support.tolist(), strict=True))
        want = supports(many, q, result, options)
        assert want == pytest.approx({row: got[row] for row in want}, rel=1e-3)


@pytest.mark.parametrize("budget", range(1, 24, 2))
@pytest.mark.parametrize("width", [1, 4, 40])
def test_support_where_the_budget_cuts(random_graph: Graph, budget: int, width: int) -> None:
    rows = [0, -1, 3, 0, 5, 20, 8, 3, 11, 17, 8, 2, 19]
    graph = with_anchors(random_graph, rows, [(3 * i % 8 + 1) / 8 for i in range(len(rows))])
    options = {"budget": budget, "width": width}
    assert lists(beam(*graph, **options)) == lists(reference.beam(*graph, **options))


def test_support_does_not_leak_into_the_next_query(random_graph: Graph) -> None:
    adjacency, nodes, queries = with_anchors(random_graph, [0, 3, 5, 8, 3], [1, 0.5, 0.5, 1, 0.75])
    columns = ("vectors", "gain", "tag_gain", "window")
    thrice = queries._replace(**{name: getattr(queries, name)[[0, 1, 0]] for name in columns})
    first, _, again = zip(*lists(beam(adjacency, nodes, thrice)), strict=True)
    assert first == again


def support_by_hand(graph: Graph, **options: float) -> dict[int, float]:
    result = beam(*graph, similarity=np.log(2), gamma=0.5, **options)
    n = int(result.count[0])
    pairs = zip(result.rows[0, :n].tolist(), result.support[0, :n].tolist(), strict=True)
    return {row: round(value, 6) for row, value in pairs}


def test_anchors_support_each_other_though_the_budget_is_full() -> None:
    # 0 -> 1: 0.5 * 1 + 1; 1 -> 3: 0.5 * 0.5 + 0.5. Nothing new fits, and 4 was left out.
    graph = with_anchors(five_nodes(), [3, 0, 1, 3], [0.25, 1, 0.5, 0.125])
    assert support_by_hand(graph, budget=3) == {0: 0, 1: 1.5, 3: 0.75}
    assert beam(*graph, budget=3).truncated[0] == OVER_BUDGET


def test_anchors_that_the_budget_cuts_end_the_walk() -> None:
    graph = with_anchors(five_nodes(), [3, 0, 1], [0.25, 1, 0.5])
    assert support_by_hand(graph, budget=2) == {0: 0, 1: 0}


def test_an_anchor_beyond_the_width_is_supported_but_supports_none() -> None:
    # Only 0 is expanded, so that nothing comes from 1. 2, the new node of step 1, then reaches 3:
    # 0.5 * 0.75 + 0.5.
    graph = with_anchors(five_nodes(), [0, 1, 3], [1, 0.5, 0.25])
    assert support_by_hand(graph, width=1, depth=1) == {0: 0, 1: 1.5, 3: 0, 2: 0.75}
    assert support_by_hand(graph, width=1, depth=2)[3] == 0.875


def test_support_comes_from_within_the_window() -> None:
    # 10 <= time < 30 passes over 3; the anchor 1 is within it and 0 reaches it.
    graph = with_anchors(five_nodes(window=np.array([[10, 30]])), [3, 0, 1], [1, 1, 0.5])
    assert support_by_hand(graph) == {0: 0, 1: 1.5, 2: 0.75}
    # 20 <= time leaves no way to 1.
    graph = with_anchors(five_nodes(window=np.array([[20, 50]])), [3, 0, 1], [1, 1, 0.5])
    assert support_by_hand(graph) == {3: 0.75, 1: 0, 4: 1}


def test_support_of_a_relation_switched_off_is_none() -> None:
    gain = np.zeros((1, 16), np.float32)
    gain[0, SIMILAR] = 0.5
    graph = with_anchors(five_nodes(gain=gain), [0, 1, 3], [1, 0.5, 0.25])
    assert support_by_hand(graph) == {0: 0, 1: 0, 3: 0.875, 2: 0.75}


def test_a_longer_way_round_is_support() -> None:
    # 0 -> 1 -> 2 -> 0: the last edge starts at a node that came from 1, not from the anchor.
    columns = (np.full(3, SIMILAR, np.uint8), np.ones(3, np.float32), np.full(3, -1, np.int32))
    edges = base_of(3, np.array([0, 1, 2], np.int32), np.array([1, 2, 0], np.int32), *columns)
    adjacency, nodes, queries = five_nodes()
    graph = (adjacency._replace(**edges, n=3), nodes, queries)
    # 1: 0.5 + 0.5; 2: 0.5 * 1 + 0.25; 0 from it: 0.5 * 0.75 + 0.25.
    assert support_by_hand(graph) == {0: 0.625, 1: 1, 2: 0.75}


def test_support_survives_a_pool_that_grows() -> None:
    # Anchor 0 has 4000 neighbours, each of which leads to anchor 1; none has a vector.
    n = 4002
    leaves = np.arange(2, n, dtype=np.int32)
    src = np.concatenate([np.zeros(4000, np.int32), leaves])
    dst = np.concatenate([leaves, np.ones(4000, np.int32)])
    weight = np.tile((leaves % 64 + 1) / 64, 2)
    edges = base_of(n, src, dst, np.zeros(8000, np.uint8), weight, np.full(8000, -1, np.int32))
    adjacency, nodes, queries = five_nodes(gain=np.ones((1, 16), np.float32))
    columns = {"vector_row": np.full(n, -1, np.int32), "time": np.zeros(n, np.int64)}
    columns |= {"status": np.zeros(n, np.uint8), "kind": np.zeros(n, np.uint8)}
    graph = with_anchors(
        (
            adjacency._replace(**edges, head=np.full(n, -1, np.int32), n=n),
            nodes._replace(**columns),
            queries,
        ),
        [0, 1],
        [1, 1],
    )
    # The best neighbour has 0.5 * 1 + 1 / 2; from it 0.5 * 1 + 1 / 2.
    result = beam(*graph, similarity=np.log(2), gamma=0.5, width=5, depth=3)
    assert result.count[0] == 2 + 5
    assert result.support[0, :2].tolist() == [0, 1]


@pytest.mark.parametrize("l2", [0.0, 0.5, 3.0, 40.0, 1000.0])
def test_likeness_is_the_exponential(l2: float) -> None:
    sims = np.linspace(-1, 1.001, 3001, dtype=np.float32)
    likeness = sims.copy()
    kernel._to_likeness(likeness, l2)
    want = [np.float32(math.exp(l2 * (float(sim) - 1))) for sim in sims]
    assert likeness.tolist() == [float(value) for value in want]


def test_the_answer_of_a_batch_whose_room_grows(random_graph: Graph) -> None:
    # The second of three queries has 2500 anchors, of 20 nodes: more than there is room for.
    adjacency, nodes, queries = random_graph
    many = np.arange(2500, dtype=np.int32) % 20
    anchors = {
        "anchor_ptr": np.array([0, 2, 2502, 2504]),
        "anchors": np.concatenate([[3, 5], many, [3, 5]]).astype(np.int32),
        "anchor_scores": np.concatenate([[1, 0.5], many / 32 + 0.25, [1, 0.5]]).astype(np.float32),
    }
    columns = ("vectors", "gain", "tag_gain", "window")
    same = {name: getattr(queries, name)[[0, 1, 0]] for name in columns}
    graph = adjacency, nodes, queries._replace(**anchors, **same)
    result = beam(*graph, width=4)
    assert lists(result) == lists(reference.beam(*graph, width=4))
    first, _, last = zip(*lists(result), strict=True)
    assert first == last


def test_a_vector_that_is_not_there_has_no_likeness(random_graph: Graph) -> None:
    adjacency, nodes, queries = random_graph
    few = nodes._replace(vectors=nodes.vectors[:7])
    none = nodes._replace(vector_row=np.where(nodes.vector_row < 7, nodes.vector_row, -1))
    want = lists(beam(adjacency, none, queries))
    assert lists(beam(adjacency, few, queries)) == want
    assert lists(reference.beam(adjacency, few, queries)) == want


def test_a_walk_back_is_no_support() -> None:
    # 0 -> 1 -> 0 and 0 -> 0: neither confirms anchor 0.
    edges = base_of(
        2,
        np.array([0, 0, 1], np.int32),
        np.array([0, 1, 0], np.int32),
        np.full(3, SIMILAR, np.uint8),
        np.ones(3, np.float32),
        np.full(3, -1, np.int32),
    )
    adjacency, nodes, queries = five_nodes()
    result = beam(adjacency._replace(**edges, n=2), nodes, queries)
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
    assert result.tag[0, :5].tolist() == [-1, 0, -1, -1, 9]
    assert result.depth[0, :5].tolist() == [0, 1, 1, 2, 3]


def test_five_nodes_with_a_damped_hub() -> None:
    # Node 0 has two edges, so each counts half: 1: 0.5 + 0.5; 2: 0.5 + 0.125; 3: 0.5 + 0.5.
    assert kept(five_nodes(), hub=1.0)[1] == [1, 1, 0.625, 1, 1]


def test_five_nodes_with_a_weighed_tag() -> None:
    # The edge 0 -> 1 carries tag 0; tag 9 lies beyond the two with a factor.
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


def test_a_tie_goes_to_the_lower_parent_then_relation_then_tag() -> None:
    adjacency, nodes, queries = five_nodes()
    src, dst = np.array([2, 1, 1, 1], np.int32), np.full(4, 3, np.int32)
    relation = np.array([CAUSES, CAUSES + 4, CAUSES, CAUSES], np.uint8)
    tag = np.array([0, 1, 3, 2], np.int32)
    edges = base_of(5, src, dst, relation, np.ones(4, np.float32), tag)
    queries = queries._replace(
        anchor_ptr=np.array([0, 2]),
        anchors=np.array([2, 1], np.int32),
        anchor_scores=np.ones(2, np.float32),
        gain=np.ones((1, 16), np.float32),
    )
    result = beam(adjacency._replace(**edges), nodes, queries)
    assert result.rows[0, :3].tolist() == [1, 2, 3]
    assert (result.parent[0, 2], result.relation[0, 2], result.tag[0, 2]) == (0, CAUSES, 2)


def test_a_base_without_tags_is_one_where_every_tag_is_none(random_graph: Graph) -> None:
    adjacency, nodes, queries = random_graph
    given = adjacency._replace(tag=np.full(adjacency.dst.size, -1, np.int32))
    left_out = adjacency._replace(tag=np.zeros(0, np.int32))
    assert lists(beam(left_out, nodes, queries)) == lists(beam(given, nodes, queries))


def test_every_weight_and_relation_survives_packing() -> None:
    # Exact: n / 4096 has at most 13 bits.
    steps, relations = np.arange(1, 4097), np.arange(16, dtype=np.uint8)
    weight = (steps / 4096).astype(np.float32)
    link = pack(relations[:, None], weight)
    assert (link.dtype, np.unique(link).size) == (np.uint16, 1 << 16)
    relation, unpacked = unpack(link)
    assert (relation.dtype, unpacked.dtype) == (np.uint8, np.float32)
    assert (relation == relations[:, None]).all()
    assert (unpacked == weight).all()


def test_packing_takes_the_nearest_weight() -> None:
    # Ties to the even multiple: 1.5 and 2.5 / 4096 are both 2 / 4096. Half a step over 1 is 1.
    given = np.array([0, 0.4, 1.4, 1.5, 1.6, 2.5, 3000.3, 4096, 4096.5]) / 4096
    assert (unpack(pack(0, given))[1] * 4096).tolist() == [1, 1, 1, 2, 2, 2, 3000, 4096, 4096]
    assert pack(15, 1.0) == 0xFFFF


def test_what_cannot_be_packed_is_named() -> None:
    for weight in (1.001, -0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"weight: expected 0 to 1, got {weight}"):
            pack(0, np.array([0.5, weight]))
    for relation in (-1, 16):
        with pytest.raises(ValueError, match=f"relation: expected 0 to 15, got {relation}"):
            pack(relation, 0.5)


def test_a_hub_makes_the_pool_grow() -> None:
    n = 5000
    rows = np.arange(1, n, dtype=np.int32)
    m = n - 1
    edges = base_of(
        n,
        np.zeros(m, np.int32),
        rows,
        np.zeros(m, np.uint8),
        (rows % 97) / 128,
        np.full(m, -1, np.int32),
    )
    adjacency, nodes, queries = five_nodes(gain=np.ones((1, 16), np.float32))
    adjacency = adjacency._replace(**edges, head=np.full(n, -1, np.int32), n=n)
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
    with pytest.raises(ValueError, match=r"adjacency: expected 40 edges in the base, got 39"):
        beam(adjacency._replace(link=adjacency.link[:39]), nodes, queries)
    with pytest.raises(ValueError, match=r"adjacency: expected 40 edges in the base, got 39"):
        beam(adjacency._replace(tag=adjacency.tag[:39]), nodes, queries)
    with pytest.raises(ValueError, match=r"and 60 in the delta, got 59"):
        beam(adjacency._replace(next=adjacency.next[:59]), nodes, queries)
    with pytest.raises(ValueError, match=r"width 0"):
        beam(adjacency, nodes, queries, width=0)
