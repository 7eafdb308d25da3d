"""What the beam costs against networkx and against the floor of its dot products."""

from collections.abc import Callable, Mapping
from typing import Any

from .bench_beam import beam_kernel, beam_networkx, dots_floor
from .measured import Figure, Measured, median, taken
from .spaces import Progress, silent

BATCH = 1024
"""Queries of a call, the same for all: few ones would stay in the caches of the processor."""
ROUNDS = 5
RIVAL_ROUNDS = 3
RIVALS, FLOORS = (10_000, 100_000), (10_000, 100_000, 1_000_000)
"""Nodes: a long conversation's memory, a team's, an organisation's. Networkx at 1e6 needs 10 GB."""
NETWORKX, FLOOR = "beam against networkx", "beam against its floor"

Costs = Mapping[str, float]


def beam_costs(nodes: int, progress: Progress = silent) -> dict[str, Measured]:
    """Ratios by name and size, each at `nodes` where that is less, of as many queries at most.

    All run in turn on one thread, on the same graph, anchors and queries; a cost is the median of
    the processor time of the rounds, in microseconds a query.
    """
    found: dict[str, Measured] = {}
    for size in FLOORS:
        progress(f"beam at {size:,} nodes")
        found |= _at(size, min(size, nodes))
    return found


def _at(size: int, n: int) -> dict[str, Measured]:
    batch = min(BATCH, n)
    calls: dict[str, Callable[[], Any]] = {
        "beam": beam_kernel(n, batch),
        "floor": dots_floor(n, batch),
    }
    note = None
    if size in RIVALS:
        try:
            calls["networkx"] = beam_networkx(n, batch)
        except ImportError:
            note = "networkx is not installed; it comes with the extra dev"
    costs = _costs(calls, batch)
    floor = Figure("as many dot products", costs["floor"], "us a query")
    beside = {"beam us a query": costs["beam"]}
    share = costs["floor"] / costs["beam"]
    found = {named(FLOOR, size): Measured(share, n, limit=floor, beside=beside)}
    if size in RIVALS:
        rival = Figure("networkx", costs["networkx"], "us a query") if not note else None
        times = costs["networkx"] / costs["beam"] if not note else None
        measured = Measured(times, n, rival=rival, limit=floor, beside=beside, note=note)
        found[named(NETWORKX, size)] = measured
    return found


def named(what: str, size: int) -> str:
    """Name of a row: what is measured, and the size that it is meant for.

    >>> named("beam", 100_000)
    'beam, 1e5 nodes'
    """
    return f"{what}, 1e{len(str(size)) - 1} nodes"


def _costs(calls: Mapping[str, Callable[[], Any]], batch: int) -> Costs:
    for call in calls.values():
        call()
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for i in range(ROUNDS):
        for name, call in calls.items():
            if name != "networkx" or i < RIVAL_ROUNDS:
                spent[name].append(taken(call).cpu_s / batch * 1e6)
    return {name: median(values) for name, values in spent.items()}
