"""The array types of the kernels, named once, and the decorator that compiles them.

Numba types carry their rank: `RF32_1` is a read-only C-contiguous float32 vector, `F32_1` the same
writable. Inputs are declared read-only because a plain `float32[::1]` refuses memory-mapped and
Arrow arrays, while a read-only type accepts both.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock

U8Array = npt.NDArray[np.uint8]
U16Array = npt.NDArray[np.uint16]
I32Array = npt.NDArray[np.int32]
I64Array = npt.NDArray[np.int64]
F32Array = npt.NDArray[np.float32]
F64Array = npt.NDArray[np.float64]

Int: TypeAlias = Any
"""A scalar inside a kernel: int64 compiled, an int or a numpy scalar uncompiled."""

Float: TypeAlias = Any
"""Likewise: float32, where the signature does not say float64."""

VOID = types.void
U8, U16, I32, I64 = types.uint8, types.uint16, types.int32, types.int64
F32, F64 = types.float32, types.float64

U8_1, U8_2 = types.Array(U8, 1, "C"), types.Array(U8, 2, "C")
I32_1, I32_2 = types.Array(I32, 1, "C"), types.Array(I32, 2, "C")
I64_1 = types.Array(I64, 1, "C")
F32_1, F32_2 = types.Array(F32, 1, "C"), types.Array(F32, 2, "C")
F64_1 = types.Array(F64, 1, "C")

RU8_1 = types.Array(U8, 1, "C", readonly=True)
RU16_1 = types.Array(U16, 1, "C", readonly=True)
RU16_2 = types.Array(U16, 2, "C", readonly=True)
RI32_1 = types.Array(I32, 1, "C", readonly=True)
RI64_1 = types.Array(I64, 1, "C", readonly=True)
RI64_2 = types.Array(I64, 2, "C", readonly=True)
RF32_1 = types.Array(F32, 1, "C", readonly=True)
RF32_2 = types.Array(F32, 2, "C", readonly=True)

_numba: Any = types  # numba has no stubs


def named_tuple(bundle: type, *elements: Any) -> Any:
    """The numba type of a NamedTuple with elements of these types."""
    return _numba.BaseTuple.from_types(elements, bundle)


def tuple_of(*elements: Any) -> Any:
    """The numba type of a tuple, for kernels that return several things."""
    return _numba.BaseTuple.from_types(elements)


Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(signature: Any) -> Callable[[Function], Function]:
    """Decorator that compiles for `signature`: `@njit(SIGNATURE, cache=True, nogil=True)`.

    It exists for its own type: numba has no stubs, and an untyped decorator would hide the type of
    every kernel. Compilation happens at import, from the disk cache where that is warm.
    """
    decorate: Any = njit(signature, cache=True, nogil=True)
    typed: Callable[[Function], Function] = decorate
    return typed


def deferred(signature: Any) -> Callable[[Function], Function]:
    """Decorator of a kernel that is compiled, or loaded, when something first calls it.

    For kernels that only others of their file call, whose callers hold them in compiled form, and
    for those that only a writer needs: loading one takes some 3 ms, and there are dozens.
    """

    def decorate(function: Function) -> Function:
        dispatcher: Any = njit(cache=True, nogil=True)(function)
        if dispatcher is function:  # NUMBA_DISABLE_JIT
            return function
        compile_for = dispatcher.compile

        def compile_declared(_: Any) -> Any:
            """The entry point for `signature`, whatever types the first caller has."""
            with global_compiler_lock:
                if not dispatcher.overloads:
                    compile_for(signature)
                    dispatcher.disable_compile()
                (compiled,) = dispatcher.overloads.values()
            return compiled.entry_point

        dispatcher.compile = compile_declared
        declared: Function = dispatcher
        return declared

    return decorate


def check_array(name: str, array: npt.NDArray[Any], dtype: type, ndim: int = 1) -> None:
    """Raise ValueError unless `array` is C-contiguous with this dtype and rank."""
    if array.dtype != dtype or array.ndim != ndim or not array.flags.c_contiguous:
        raise ValueError(
            f"{name}: expected a C-contiguous {np.dtype(dtype).name} array of rank {ndim}, "
            f"got {array.dtype.name} of shape {array.shape}"
        )
