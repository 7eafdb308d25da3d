"""What a store costs at rest: to open it to the first answer, its bytes, and the package itself."""

import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from cuegraph import AnchorConfig, Memory, RankConfig, RecallConfig

from .measured import Measured, Metered, median, taken
from .stores import MARKER
from .synthetic import SyntheticEmbedder, questions

REPEATS = 5
IMPORTS = 3
WITHOUT_VECTORS = RecallConfig(anchors=AnchorConfig(vector=0.0), rank=RankConfig(vector=0.0))
COLD, WARM = "open to the first answer, cold", "open to the first answer, warm"
COLD_WORDS, WARM_WORDS = f"{COLD}, no vector arm", f"{WARM}, no vector arm"
SNAPSHOT, DIRECTORY = "snapshot and vectors on disk", "whole directory on disk"
IMPORT = "import of the package"
_IMPORT = """\
import time
start = time.perf_counter()
from cuegraph import Memory, Turn, recall_batch
print(time.perf_counter() - start)
"""


def open_costs(store: Path, nodes: int, repeats: int = REPEATS) -> dict[str, Measured]:
    """Milliseconds on the wall from `Memory.open` to the evidence for a question, medians.

    Without the embedding of the question, and in a process that has imported and compiled all.
    Cold: the system has been told to drop the pages of the store's files.
    """
    meter, question = Metered(SyntheticEmbedder(nodes)), questions(nodes, 1)[0]
    found = {}
    for config, cold, warm in (
        (RecallConfig(), COLD, WARM),
        (WITHOUT_VECTORS, COLD_WORDS, WARM_WORDS),
    ):
        _first_answer_ms(store, question, config, meter)
        warm_ms = [_first_answer_ms(store, question, config, meter) for _ in range(repeats)]
        held, cold_ms = set[str](), []
        for _ in range(repeats):
            held |= set(drop_pages(store))
            cold_ms.append(_first_answer_ms(store, question, config, meter))
        note = f"not cold: the system kept {', '.join(sorted(held))}" if held else None
        found[cold] = Measured(median(cold_ms), nodes, note=note)
        found[warm] = Measured(median(warm_ms), nodes)
    return found


def _first_answer_ms(store: Path, question: str, config: RecallConfig, meter: Metered) -> float:
    with ExitStack() as stack:

        def answer() -> None:
            opened = Memory.open(store, embedder=meter, read_only=True, config=config)
            stack.enter_context(opened).recall(question)

        return taken(answer, meter).wall_s * 1e3


def drop_pages(store: Path) -> list[str]:
    """Have the system forget the pages of a store's files; names of those that it keeps.

    Pages that another process maps are kept, and file systems in memory keep all.
    """
    kept = []
    for path in _files(store):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)  # pages that are not on the disk yet would stay
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            kept += [path.name] if _is_held(fd) else []
        finally:
            os.close(fd)
    return kept


def _is_held(fd: int) -> bool:
    """Whether a file's first page is in memory; no where the system cannot tell."""
    try:
        return os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT) > 0
    except OSError:
        return False


def disk_costs(store: Path, nodes: int) -> dict[str, Measured]:
    """Bytes a turn of the newest snapshot with the vectors, and of the whole directory by part.

    A turn is the smaller number to divide by: cues and sessions are nodes, too.
    """
    parts = Counter[str]()
    snapshots = sorted(path.name for path in _files(store) if path.suffix == ".arrow")
    for path in _files(store):
        parts[_part(path, snapshots)] += path.stat().st_size
    each = {part: size / nodes for part, size in sorted(parts.items())}
    newest = each.get("snapshot", 0.0) + each.get("vectors", 0.0)
    beside: dict[str, float] = {p: each[p] for p in ("snapshot", "vectors") if p in each}
    return {
        SNAPSHOT: Measured(newest, nodes, beside=beside),
        DIRECTORY: Measured(sum(each.values()), nodes, beside=each),
    }


def import_costs() -> dict[str, Measured]:
    """Seconds that a fresh interpreter takes to import what a memory needs, the best of three.

    Kernels come from numba's cache, which one run before fills.
    """
    command = [sys.executable, "-c", _IMPORT]
    runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(IMPORTS + 1)]
    return {IMPORT: Measured(min(float(run.stdout) for run in runs[1:]))}


def _files(store: Path) -> list[Path]:
    found = [path for path in sorted(store.rglob("*")) if path.is_file()]
    return [path for path in found if path.name != MARKER]


def _part(path: Path, snapshots: list[str]) -> str:
    if path.suffix == ".arrow":
        return "snapshot" if path.name == snapshots[-1] else "older snapshots"
    return path.name.split(".")[0] if path.suffix != ".hnsw" else "vector index"
