"""In and out: the journal, the vector file and chat importers.

`cuegraph.io.snapshot` is imported by its own name, so that what needs no Arrow does not load it.
"""

from .errors import (
    CuegraphError,
    InputError,
    ModelError,
    StoreBusyError,
    StoreError,
    StoreMismatchError,
)
from .importers import (
    Conversation,
    Problem,
    Question,
    load_turns,
    read_jsonl,
    read_locomo,
    repair_evidence,
)
from .journal import Journal
from .row import Appended, Row
from .turn import Turn, TurnRecord, content_digest, normalise, read_zone
from .vectors import VectorFile

__all__ = [
    "Appended",
    "Conversation",
    "CuegraphError",
    "InputError",
    "Journal",
    "ModelError",
    "Problem",
    "Question",
    "Row",
    "StoreBusyError",
    "StoreError",
    "StoreMismatchError",
    "Turn",
    "TurnRecord",
    "VectorFile",
    "content_digest",
    "load_turns",
    "normalise",
    "read_jsonl",
    "read_locomo",
    "read_zone",
    "repair_evidence",
]
