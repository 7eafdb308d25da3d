import numpy as np
import pytest

from cuegraph.kernels import beam, reference, similarity


def unit(n: int, d: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def vector(d: int) -> np.ndarray:
    return np.random.default_rng(d).standard_normal(d).astype(np.float32)


@pytest.mark.parametrize("d", [1, 5, 31, 32, 33, 64, 100, 384])
def test_dots_have_the_bits_of_the_reference(d: int) -> None:
    rows, query = unit(9, d), vector(d)
    got = similarity.dots(rows.view(np.uint16), query)
    assert got.tobytes() == reference.dots(rows.view(np.uint16), query).tobytes()
    np.testing.assert_allclose(got, rows.astype(np.float64) @ query, atol=1e-5)


def test_dots_by_hand() -> None:
    rows = np.array([[1, 2], [0, -4], [0.5, 0]], np.float16).view(np.uint16)
    assert similarity.dots(rows, np.array([2, 0.25], np.float32)).tolist() == [2.5, -1, 1]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_dots_at_have_the_bits_of_dots(dtype: type) -> None:
    rows, query = unit(50, 70).view(np.uint16), vector(70)
    chosen = np.array([49, -1, 0, 7, 7, 3, 2, -1, 1], dtype)
    want = np.where(chosen < 0, 0, similarity.dots(rows, query)[chosen]).astype(np.float32)
    assert similarity.dots_at(rows, chosen, query).tobytes() == want.tobytes()
    assert reference.dots_at(rows, chosen, query).tobytes() == want.tobytes()


def test_a_row_has_one_value_whatever_n_and_in_the_beam() -> None:
    rows, query = unit(40, 45).view(np.uint16), vector(45)
    whole = similarity.dots(rows, query)
    for i in range(40):
        assert similarity.dots(rows[i : i + 1], query)[0] == whole[i]
        assert beam._dot(rows, i, query) == whole[i]


def test_read_only_input_is_accepted() -> None:
    rows, query = unit(5, 40).view(np.uint16), vector(40)
    chosen = np.array([1, 2], np.int32)
    for array in (rows, query, chosen):
        array.flags.writeable = False
    assert similarity.dots(rows, query)[1:3].tolist() == (
        similarity.dots_at(rows, chosen, query).tolist()
    )


def test_wrong_input_is_named() -> None:
    rows, query = unit(5, 40).view(np.uint16), vector(40)
    with pytest.raises(ValueError, match=r"query: expected 40 elements, got 39"):
        similarity.dots(rows, query[:39])
    with pytest.raises(ValueError, match=r"vectors: expected .* uint16"):
        similarity.dots(rows.view(np.float16), query)
    with pytest.raises(ValueError, match=r"rows: expected rows below 5, got 5"):
        similarity.dots_at(rows, np.array([5], np.int32), query)
