import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cuegraph.kernels import reference, topk

FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 2.0])
SCORES = arrays.arrays(np.float32, st.integers(0, 200), elements=FLOATS)


@given(SCORES, st.integers(0, 220), st.sampled_from([-np.inf, 0.0, 1.5]))
def test_topk_is_the_reference(scores: np.ndarray, k: int, floor: float) -> None:
    want = reference.topk(scores, k, floor)
    assert topk.topk(scores, k, floor).tolist() == want.tolist()
    rows = np.random.default_rng(k).permutation(scores.size).astype(np.int32)
    assert topk.topk_at(scores, rows, k, floor).tolist() == want.tolist()


@pytest.mark.parametrize("k", [1, 7, 64, 1000])
@pytest.mark.parametrize("order", ["ascending", "descending", "equal", "random"])
def test_orders_that_fill_or_spare_the_heap(order: str, k: int) -> None:
    scores = np.random.default_rng(k).integers(0, 300, 1000).astype(np.float32)
    if order == "ascending":
        scores.sort()
    elif order == "descending":
        scores = np.sort(scores)[::-1].copy()
    elif order == "equal":
        scores[:] = 3
    assert topk.topk(scores, k).tolist() == reference.topk(scores, k).tolist()


def test_ties_signs_and_nan_by_hand() -> None:
    scores = np.array([np.nan, 0.0, -1.0, -0.0, 2.0, -np.inf, np.inf, 2.0], np.float32)
    assert topk.topk(scores, 9).tolist() == [6, 4, 7, 1, 3, 2]
    assert topk.topk_at(scores, np.array([7, 3, 4, 1, 0], np.int32), 3).tolist() == [4, 7, 1]


def test_read_only_and_wrong_input() -> None:
    scores = np.arange(5, dtype=np.float32)
    scores.flags.writeable = False
    assert topk.topk(scores, 2).tolist() == [4, 3]
    with pytest.raises(ValueError, match=r"scores: expected .* float32 .* got float64"):
        topk.topk(np.zeros(3), 1)
    with pytest.raises(ValueError, match=r"rows: expected 0 <= row < 5"):
        topk.topk_at(scores, np.array([5], np.int32), 1)
