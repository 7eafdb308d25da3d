import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.kernels import reference, rrf

LISTS = st.lists(
    st.lists(st.integers(0, 40), unique=True, max_size=30).map(lambda ids: np.array(ids, np.int32)),
    max_size=5,
)


def weights(lists: list[np.ndarray]) -> np.ndarray:
    return (np.arange(len(lists), dtype=np.float32) + 1) / 2


@given(LISTS, st.sampled_from([0.0, 1.0, 60.0]))
def test_both_fusions_have_the_bits_of_the_reference(lists: list[np.ndarray], k: float) -> None:
    for fuse in ("rrf", "rrf_discounted"):
        rows, scores = getattr(rrf, fuse)(lists, weights(lists), k)
        want_rows, want_scores = getattr(reference, fuse)(lists, weights(lists), k)
        assert rows.tolist() == want_rows.tolist()
        assert scores.tobytes() == want_scores.tobytes()


@given(st.lists(LISTS, max_size=4))
def test_a_batch_is_its_queries_one_by_one(batch: list[list[np.ndarray]]) -> None:
    flat = [ids for lists in batch for ids in lists]
    list_ptr = np.cumsum([0, *map(len, batch)], dtype=np.int64)
    indptr = np.cumsum([0, *(ids.size for ids in flat)], dtype=np.int64)
    ids = np.concatenate([np.empty(0, np.int32), *flat])
    weight = np.concatenate([np.empty(0, np.float32), *map(weights, batch)])
    out_ptr, rows, scores = rrf.rrf_batch(list_ptr, indptr, ids, weight)
    for b, lists in enumerate(batch):
        part = slice(out_ptr[b], out_ptr[b + 1])
        alone = rrf.rrf(lists, weights(lists))
        assert rows[part].tolist() == alone[0].tolist()
        assert scores[part].tobytes() == alone[1].tobytes()


def test_by_hand() -> None:
    rows, scores = rrf.rrf(
        [np.array([7, 3], np.int32), np.array([3], np.int32)], np.array([1, 2], np.float32)
    )
    assert rows.tolist() == [3, 7]
    np.testing.assert_allclose(scores, [1 / 62 + 2 / 61, 1 / 61], rtol=1e-6)


def test_a_tie_goes_to_the_lower_row() -> None:
    lists = [np.array([9, 2], np.int32), np.array([2, 9], np.int32), np.array([5], np.int32)]
    assert rrf.rrf(lists, np.array([1, 1, 1], np.float32))[0].tolist() == [2, 9, 5]


def test_lists_that_say_the_same_share_one_voice() -> None:
    # Two equal lists weigh 1 / (1 + 1) each, the third shares nothing: 0.5 + 0.5 against 1.
    lists = [np.array([7], np.int32), np.array([7], np.int32), np.array([3], np.int32)]
    rows, scores = rrf.rrf_discounted(lists, np.array([1, 1, 1], np.float32))
    assert rows.tolist() == [3, 7]
    np.testing.assert_allclose(scores, [1 / 61, 1 / 61], rtol=1e-6)


def test_read_only_and_wrong_input() -> None:
    ranked, weight = np.array([4, 1], np.int32), np.ones(1, np.float32)
    ranked.flags.writeable = weight.flags.writeable = False
    assert rrf.rrf([ranked], weight)[0].tolist() == [4, 1]
    with pytest.raises(ValueError, match=r"weights: expected 1 elements, got 2"):
        rrf.rrf([ranked], np.ones(2, np.float32))
    with pytest.raises(ValueError, match=r"lists\[0\]: expected .* int32"):
        rrf.rrf([np.array([1, 2])], weight)
    with pytest.raises(ValueError, match=r"k: expected more than -1"):
        rrf.rrf([ranked], weight, -1.0)
    with pytest.raises(ValueError, match=r"indptr"):
        rrf.rrf_batch(np.array([0, 1]), np.array([0, 3]), ranked, weight)
