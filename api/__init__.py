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
    from .llm.accounting import Accounted, Accounts, CostReport
    from .llm.cache import VectorCache
    from .llm.embedder import Embedder, open_embedder
    from .llm.http_model import HttpModel
    from .llm.model import Failure, Message, Model, Reply, Request, Schema, generate
    from .llm.opening import open_model
    from .llm.samples import sample_requests
    from .llm.vllm_engine import VllmConfig
    from .llm.vllm_model import Trial, VllmModel
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
    "llm.accounting": ("Accounted", "Accounts", "CostReport"),
    "llm.cache": ("VectorCache",),
    "llm.embedder": ("Embedder", "open_embedder"),
    "llm.http_model": ("HttpModel",),
    "llm.model": ("Failure", "Message", "Model", "Reply", "Request", "Schema", "generate"),
    "llm.opening": ("open_model",),
    "llm.samples": ("sample_requests",),
    "llm.vllm_engine": ("VllmConfig",),
    "llm.vllm_model": ("Trial", "VllmModel"),
    "memory": ("Memory", "recall_batch"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Accounted",
    "Accounts",
    "AddReport",
    "AnchorConfig",
    "AsyncMemory",
    "BeamConfig",
    "CostReport",
    "CuegraphError",
    "Embedder",
    "Evidence",
    "Failure",
    "GraphConfig",
    "Handles",
    "HttpModel",
    "InputError",
    "Item",
    "Memory",
    "Message",
    "Model",
    "ModelError",
    "Narrative",
    "RankConfig",
    "Recall",
    "RecallConfig",
    "RecallOptions",
    "Reply",
    "Request",
    "Schema",
    "Stats",
    "Step",
    "StoreBusyError",
    "StoreError",
    "StoreMismatchError",
    "TokenCounter",
    "Trial",
    "Turn",
    "VectorCache",
    "VllmConfig",
    "VllmModel",
    "WordCounter",
    "generate",
    "open_embedder",
    "open_model",
    "recall_batch",
    "sample_requests",
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
