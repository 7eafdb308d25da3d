"""The decorators: what is compiled when, and for which types."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numba import config

from cuegraph.kernels.types import F32, I64, RI64_1, Float, I64Array, Int, deferred, kernel

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")


@deferred(I64(RI64_1, I64))
def _at(array: I64Array, i: Int) -> Int:
    return array[i]


@deferred(F32(F32))
def _third(value: Float) -> Float:
    return value / np.float32(3)


@kernel(F32(RI64_1, F32))
def _outer(array: I64Array, value: Float) -> Float:
    return np.float32(_at(array, 1)) + _third(value)


@deferred(I64(RI64_1, I64))
def _unused(array: I64Array, i: Int) -> Int:
    return array[i]


def test_a_kernel_calls_a_deferred_one() -> None:
    array = np.array([5, 7])
    array.flags.writeable = False
    assert _outer(array, np.float32(1)) == np.float32(7) + np.float32(1) / np.float32(3)


@compiled
def test_a_deferred_one_is_compiled_for_its_signature_alone_and_when_it_is_needed() -> None:
    unused, third = _unused, _third
    assert not signatures(unused)
    assert unused(np.array([5, 7]), 1) == 7
    assert signatures(unused) == [(RI64_1, I64)]
    with pytest.raises(TypeError):
        unused(np.array([5.0, 7.0]), 1)
    assert third(np.float64(1)) == np.float32(1) / np.float32(3)
    assert signatures(third) == [(F32,)]


@deferred(I64(RI64_1, I64))
def _raced(array: I64Array, i: Int) -> Int:
    return array[i] + array[i] * 2


@compiled
def test_several_threads_may_be_the_first_to_call_it() -> None:
    barrier, array = threading.Barrier(8), np.array([5, 7])

    def call(_: int) -> Int:
        barrier.wait()
        return _raced(array, 1)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(8))) == [21] * 8
    assert len(signatures(_raced)) == 1


def signatures(dispatcher: Any) -> list[Any]:
    return list(dispatcher.signatures)
