"""What every embedder back end shares: optional packages, text made safe, rows made sure."""

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..io.errors import ModelError


def import_package(module: str, install: str) -> Any:
    """The module, or a ModelError that says what to give to `pip install`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ModelError(
            f"expected the package {module}, got an import error ({error}); "
            f'install it with: pip install "{install}"'
        ) from error


def plain(text: str, max_chars: int) -> str:
    """The first `max_chars` characters of `text`, in a form that every tokenizer accepts.

    NUL becomes a space, because C strings end there; a lone surrogate becomes "?", because UTF-8
    has no code for it.
    """
    head = text[:max_chars].replace("\0", " ")
    return head.encode("utf-8", "replace").decode("utf-8")


def unit_rows(
    rows: npt.NDArray[np.floating[Any]], n: int, dimension: int, name: str
) -> npt.NDArray[np.float32]:
    """`rows` as float32 (n, dimension), each of L2 norm 1.

    A row's bytes depend on that row alone. ModelError, naming the embedder `name`, on another
    shape, on a number that is not finite and on a row of zeros, which has no direction.
    """
    if rows.shape != (n, dimension):
        raise ModelError(
            f"{name}: expected {n} vectors of {dimension} numbers, got shape {rows.shape}"
        )
    exact = np.ascontiguousarray(rows, dtype=np.float64)
    # A NaN or an infinity makes its row's norm NaN or infinite: one test covers every number.
    with np.errstate(over="ignore"):
        norms: npt.NDArray[np.float64] = np.linalg.norm(exact, axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0.0))
    if bad.size:
        row = int(bad[0])
        raise ModelError(
            f"{name}: expected finite vectors that are not zero, got norm {norms[row]} "
            f"for text {row} of {n}"
        )
    return (exact / norms[:, None]).astype(np.float32)
