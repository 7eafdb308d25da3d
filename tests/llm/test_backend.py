"""The checks that every back end's rows and texts go through."""

import numpy as np
import pytest

from cuegraph.io.errors import ModelError
from cuegraph.llm.backend import plain, unit_rows


def test_rows_are_renormalised() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, -2.0]]), 2, 2, "m")
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, np.array([[0.6, 0.8], [0.0, -1.0]], np.float32))


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    raw = np.random.default_rng(5).standard_normal((300, 384)).astype(np.float32)
    alone = np.concatenate([unit_rows(row[None], 1, 384, "m") for row in raw])
    assert unit_rows(raw, 300, 384, "m").tobytes() == alone.tobytes()
    assert unit_rows(np.asfortranarray(raw), 300, 384, "m").tobytes() == alone.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, 1e300])
def test_a_row_without_direction_is_refused(bad: float) -> None:
    rows = np.ones((3, 2))
    rows[1] = bad
    with pytest.raises(ModelError, match=r"m: expected finite vectors.* for text 1 of 3"):
        unit_rows(rows, 3, 2, "m")


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 1), (6,), (0, 2)])
def test_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="expected 3 vectors of 2 numbers"):
        unit_rows(np.ones(shape), 3, 2, "m")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a\0b", "a b"), ("a\ud800b", "a?b"), ("汉字😀", "汉字😀"), ("abcdefgh", "abcde"), ("", "")],
)
def test_plain(text: str, expected: str) -> None:
    assert plain(text, 5) == expected
