"""cuegraph: graph memory for LLM agents in which memory is reconstructed, not retrieved.

The names below are loaded when they are first used, so that importing the package costs nothing
and the command line need not wait for a compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asynchronous import AsyncMemory
    from .batch import RecallOptions
    from .engine.config import AnchorConfig, BeamConfig, GraphConfig, RankConfig, RecallConfig
    from .engine.evidence import Evidence, Recall, Step
    from .engine.handles import Handles
    from .engine.narrative import Narrative
    from .engine.report import AddReport, Item, Stats
    from .engine.tokens import TokenCounter, WordCounter
    from .io.errors import (
        CuegraphError,
        InputError,
        ModelError,
        StoreBusyError,
        StoreError,
        StoreMismatchError,
    )
    from .io.turn import Turn
    from .llm.cache import VectorCache
    from .llm.embedder import Embedder, open_embedder
    from .memory import Memory, recall_batch

_HOMES = {
    "asynchronous": ("AsyncMemory",),
    "batch": ("RecallOptions",),
    "engine.config": ("AnchorConfig", "BeamConfig", "GraphConfig", "RankConfig", "RecallConfig"),
    "engine.evidence": ("Evidence", "Recall", "Step"),
    "engine.handles": ("Handles",),
    "engine.narrative": ("Narrative",),
    "engine.report": ("AddReport", "Item", "Stats"),
    "engine.tokens": ("TokenCounter", "WordCounter"),
    "io.errors": (
        "CuegraphError",
        "InputError",
        "ModelError",
        "StoreBusyError",
        "StoreError",
        "StoreMismatchError",
    ),
    "io.turn": ("Turn",),
    "llm.cache": ("VectorCache",),
    "llm.embedder": ("Embedder", "open_embedder"),
    "memory": ("Memory", "recall_batch"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AddReport",
    "AnchorConfig",
    "AsyncMemory",
    "BeamConfig",
    "CuegraphError",
    "Embedder",
    "Evidence",
    "GraphConfig",
    "Handles",
    "InputError",
    "Item",
    "Memory",
    "ModelError",
    "Narrative",
    "RankConfig",
    "Recall",
    "RecallConfig",
    "RecallOptions",
    "Stats",
    "Step",
    "StoreBusyError",
    "StoreError",
    "StoreMismatchError",
    "TokenCounter",
    "Turn",
    "VectorCache",
    "WordCounter",
    "open_embedder",
    "recall_batch",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names."""
    return __all__
