"""The memory of a beam's search, and the numba types of what its kernels hand on."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import from_dtype, types

from .beam_types import Adjacency, BeamResult, Nodes, Queries
from .types import (
    F32,
    F32_1,
    F32_2,
    F64,
    I32_1,
    I32_2,
    I64,
    I64_1,
    RF32_1,
    RF32_2,
    RI32_1,
    RI64_1,
    RI64_2,
    RU8_1,
    RU16_1,
    RU16_2,
    U8_1,
    U8_2,
    F32Array,
    Float,
    I32Array,
    I64Array,
    Int,
    named_tuple,
)

MET = np.dtype(
    [
        ("order", np.int64),
        ("row", np.int32),
        ("cell", np.int32),
        ("step", np.int32),
        ("parent", np.int32),
        ("vector", np.int32),
        ("score", np.float32),
    ],
    align=True,
)
"""A node that the query met; its number is its slot.

cell     its cell in the table
step     the last one that it was a candidate in
vector   row of its vector, or negative
score    best that an edge gave it in that step, with the edge's `order` and `parent`. Of an anchor,
         once it is kept, in any step: that is its support
"""

EDGE = np.dtype(
    [("order", np.int64), ("to", np.int32), ("parent", np.int32), ("gain", np.float32)], align=True
)
"""An edge of the frontier.

order    relation << 32 | tag + 1: of one parent's edges the lower wins a tie
to       row of the node that it leads to; from `_meet` on the node's slot
parent   place of the node that it comes from
gain     all its factors but the likeness of the node that it leads to
"""

PLACE = np.dtype(
    [
        ("first", np.int64),
        ("own", np.int64),
        ("degree", np.int64),
        ("row", np.int32),
        ("slot", np.int32),
        ("depth", np.int32),
        ("score", np.float32),
        ("damping", np.float32),
    ],
    align=True,
)
"""A node that was kept; its number is its place in the result.

first, own   number of its first edge in the base, and how many it has there
degree       edges that it has in all; 0 where they are over the limit
damping      degree^-hub
"""


class Work(NamedTuple):
    """The memory of a search.

    table       cells row << 32 | slot, with the bit KEPT or without; or EMPTY
    met         MET, by slot
    likeness    exp(l2 * (sim - 1)), by slot
    edges       EDGE, of one step
    candidates  slots of the nodes that a step may keep, and in the same order their `keys`
    best        keys of the candidates that it does keep, best first
    kept        PLACE, by place in the result
    damping     degree^-hub by degree; negative where it was not needed yet
    """

    table: I64Array
    met: npt.NDArray[Any]
    likeness: F32Array
    edges: npt.NDArray[Any]
    candidates: I32Array
    keys: I64Array
    best: I64Array
    kept: npt.NDArray[Any]
    damping: F32Array


class Query(NamedTuple):
    """One of the batch; the window is [start, stop)."""

    vector: F32Array
    gain: F32Array
    tag_gain: F32Array
    start: Int
    stop: Int


class Model(NamedTuple):
    """The options of `beam`; `l2` is its similarity."""

    width: Int
    depth: Int
    l2: Float
    gamma: Float
    hub: Float
    limit: Int


class Source(NamedTuple):
    """Where edges come from: the place, row and damping of a kept node.

    origin   row of the node that it was reached from, or -1
    """

    place: Int
    row: Int
    origin: Int
    damping: Float


EDGE_COLUMNS = (RI32_1, RU16_1, RI32_1)
ADJACENCY_COLUMNS = (RI64_1, *EDGE_COLUMNS, RI32_1, RI32_1, *EDGE_COLUMNS, I64, I64)
NODES_COLUMNS = (RU16_2, RI32_1, RU8_1, RU8_1, RI64_1)
QUERIES_COLUMNS = (RF32_2, RI64_1, RI32_1, RF32_1, RF32_2, RF32_2, RI64_2)
ADJACENCY = named_tuple(Adjacency, *ADJACENCY_COLUMNS)
NODES = named_tuple(Nodes, *NODES_COLUMNS)
QUERIES = named_tuple(Queries, *QUERIES_COLUMNS)
RESULT = named_tuple(BeamResult, I32_1, I32_2, F32_2, I32_2, U8_2, I32_2, U8_2, F32_2, U8_1)
QUERY = named_tuple(Query, RF32_1, RF32_1, RF32_1, I64, I64)
MODEL = named_tuple(Model, I64, I64, F64, F32, F64, I64)
SOURCE = named_tuple(Source, I64, I64, I64, F32)
_RECORDS: Any = [types.Array(from_dtype(record), 1, "C") for record in (MET, EDGE, PLACE)]
WORK = named_tuple(
    Work, I64_1, _RECORDS[0], F32_1, _RECORDS[1], I32_1, I64_1, I64_1, _RECORDS[2], F32_1
)
