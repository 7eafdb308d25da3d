"""What numba cannot say by itself: float16 dot products, what is needed soon, bits of a float.

Each intrinsic has a fallback in Python that gives the same bits, used under NUMBA_DISABLE_JIT.
Kernels of other files inline these, and numba's disk cache does not see an edit here: remove the
cache (or change NUMBA_CACHE_DIR) after one.
"""

from importlib import import_module
from mmap import MADV_WILLNEED, PAGESIZE
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .types import F32Array, U16Array

cgutils: Any = import_module("numba.core.cgutils")  # numba has no stubs
config: Any = import_module("numba.core.config")

LANES = 32
"""Partial sums of a dot product. Lane i sums the elements i, i + 32, i + 64, ... in that order, and
the lanes are folded in halves (32, 16, ..., 1): a fixed order that vectorises without fastmath."""


def _dot_blocks_python(vectors: U16Array, row: int, query: F32Array) -> np.float32:
    whole = query.size // LANES * LANES
    products = vectors[row, :whole].view(np.float16).astype(np.float32) * query[:whole]
    lanes: F32Array = np.zeros(LANES, np.float32)
    for block in products.reshape(-1, LANES):
        lanes += block
    while lanes.size > 1:
        half = lanes.size // 2
        lanes = lanes[:half] + lanes[half:]
    return np.float32(lanes[0])


def _half_to_float_python(bits: np.uint16) -> np.float32:
    return np.float32(np.uint16(bits).view(np.float16))


def _prefetch_python(array: npt.NDArray[Any], offset: int) -> None:
    return None


def _will_need_python(array: npt.NDArray[Any], offset: int, count: int) -> None:
    return None


def _float_bits_python(value: np.float32) -> np.int32:
    return np.int32(np.float32(value).view(np.int32))


def _vector(element: ir.Type, width: int = LANES) -> ir.VectorType:
    return ir.VectorType(element, width)


def _fold(builder: Any, lanes: Any) -> Any:
    """The sum of a vector's lanes, halves added to halves until one is left."""
    width = LANES
    while width > 1:
        width //= 2
        low = ir.Constant(_vector(ir.IntType(32), width), list(range(width)))
        high = ir.Constant(_vector(ir.IntType(32), width), list(range(width, 2 * width)))
        lanes = builder.fadd(
            builder.shuffle_vector(lanes, lanes, low), builder.shuffle_vector(lanes, lanes, high)
        )
    return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))


def _load_lanes(builder: Any, data: Any, block: Any, element: ir.Type, size: int) -> Any:
    """Lanes number `block` of an array that starts at `data`, aligned like one element only."""
    offset = builder.mul(block, ir.Constant(block.type, LANES * size))
    pointer = cgutils.pointer_add(builder, data, offset, _vector(element).as_pointer())
    return builder.load(pointer, align=size, typ=_vector(element))


def _dot_blocks_typer(typing_context: Any, vectors: Any, row: Any, query: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = context.make_array(signature.args[2])(context, builder, arguments[2])
        stride = builder.extract_value(matrix.strides, 0)
        start = cgutils.pointer_add(builder, matrix.data, builder.mul(arguments[1], stride))
        size = builder.extract_value(vector.shape, 0)
        total = cgutils.alloca_once_value(
            builder, ir.Constant(_vector(ir.FloatType()), [0.0] * LANES)
        )
        blocks = builder.udiv(size, ir.Constant(size.type, LANES))
        with cgutils.for_range(builder, blocks) as loop:
            bits = _load_lanes(builder, start, loop.index, ir.IntType(16), 2)
            halves = builder.bitcast(bits, _vector(ir.HalfType()))
            floats = builder.fpext(halves, _vector(ir.FloatType()))
            weights = _load_lanes(builder, vector.data, loop.index, ir.FloatType(), 4)
            product = builder.fmul(floats, weights)
            builder.store(builder.fadd(builder.load(total), product), total)
        return _fold(builder, builder.load(total))

    return types.float32(vectors, types.intp, query), generate


def _half_to_float_typer(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


def _prefetch_typer(locality: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        distance = builder.mul(arguments[1], ir.Constant(arguments[1].type, size))
        pointer = cgutils.pointer_add(builder, data, distance, cgutils.voidptr_t)
        number = ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch",
            (cgutils.voidptr_t,),
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number]),
        )
        read, keep, data_cache = (ir.Constant(number, value) for value in (0, locality, 1))
        builder.call(function, [pointer, read, keep, data_cache])
        return context.get_dummy_value()

    def typer(typing_context: Any, array: Any, offset: Any) -> Any:
        return types.void(array, types.intp), generate

    return typer


def _will_need_typer(typing_context: Any, array: Any, offset: Any, count: Any) -> Any:
    word, number = ir.IntType(64), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        item = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        before, length = (builder.mul(a, ir.Constant(word, item)) for a in arguments[1:])
        start = builder.add(builder.ptrtoint(data, word), before)
        page = builder.and_(start, ir.Constant(word, -PAGESIZE))
        length = builder.add(length, builder.sub(start, page))
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(number, [cgutils.voidptr_t, word, number]),
            "madvise",  # the C library's
        )
        pointer = builder.inttoptr(page, cgutils.voidptr_t)
        builder.call(function, [pointer, length, ir.Constant(number, MADV_WILLNEED)])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _float_bits_typer(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


def _choose(typer: Any, fallback: Any) -> Any:
    return fallback if config.DISABLE_JIT else intrinsic(typer)


dot_blocks = _choose(_dot_blocks_typer, _dot_blocks_python)
"""`dot_blocks(vectors, row, query)`: float32 sum over the whole blocks of 32 elements; the caller
adds the remainder. `vectors` is uint16 (n, d) holding float16, `query` float32 (d,)."""

half_to_float = _choose(_half_to_float_typer, _half_to_float_python)
"""`half_to_float(bits)`: the float32 value of a float16 given as uint16."""

prefetch = _choose(_prefetch_typer(3), _prefetch_python)
"""`prefetch(array, offset)`: ask for the cache line of flat element `offset`; never faults."""

prefetch_far = _choose(_prefetch_typer(2), _prefetch_python)
"""Likewise, but not into the first level of the cache: for what would not fit there till used."""

will_need = _choose(_will_need_typer, _will_need_python)
"""`will_need(array, offset, count)`: have the system begin to read `count` flat elements from
`offset` on into memory, where the array is a mapped file; a call into it, 0.5 us or more."""

float_bits = _choose(_float_bits_typer, _float_bits_python)
"""`float_bits(value)`: the bits of a float32 as int32."""
