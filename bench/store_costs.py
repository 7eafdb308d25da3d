"""What a store costs at rest: to open it to the first answer, its bytes, and the package itself."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

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
_RESIDENT = """\
import sys
import msgspec
from cuegraph import Memory
from cuegraph.bench.store_costs import resident_mb
from cuegraph.bench.synthetic import SyntheticEmbedder, questions
nodes = int(sys.argv[2])
embedder, question = SyntheticEmbedder(nodes), questions(nodes, 1)[0]
embedder.queries([question])
before = resident_mb()
with Memory.open(sys.argv[1], embedder=embedder, read_only=True) as memory:
    memory.recall(question)
    after = resident_mb()
sys.stdout.buffer.write(msgspec.json.encode({name: after[name] - before[name] for name in after}))
"""
_IMPORT = """\
import time
start = time.perf_counter()
from cuegraph import Memory, Turn, recall_batch
print(time.perf_counter() - start)
"""


def open_costs(store: Path, nodes: int, repeats: int = REPEATS) -> dict[str, Measured]:
    """Milliseconds on the wall from `Memory.open` to the evidence for a question, medians.

    Without the embedding of the question, in a process that has imported and compiled all, and of
    files that were found sound before: a copy is read whole when it is first opened. Cold: the
    system has been told to drop the pages of the store's files. Beside: what of it is `Memory.open`
    and, warm, the memory that a process holds more than before.
    """
    meter, question = Metered(SyntheticEmbedder(nodes)), questions(nodes, 1)[0]
    with Memory.open(store, embedder=meter):
        pass
    found = {}
    for config, cold, warm in (
        (RecallConfig(), COLD, WARM),
        (WITHOUT_VECTORS, COLD_WORDS, WARM_WORDS),
    ):
        _first_answer(store, question, config, meter)
        warm_runs = [_first_answer(store, question, config, meter) for _ in range(repeats)]
        held, cold_runs = set[str](), []
        for _ in range(repeats):
            held |= set(drop_pages(store))
            cold_runs.append(_first_answer(store, question, config, meter))
        note = f"not cold: the system kept {', '.join(sorted(held))}" if held else None
        found[cold] = _opened(cold_runs, nodes, note=note)
        found[warm] = _opened(warm_runs, nodes)
    found[WARM].beside.update(_resident_after(store, nodes))
    return found


class _FirstAnswer(NamedTuple):
    """Milliseconds to the answer, and to the opened memory."""

    answered_ms: float
    opened_ms: float


def _first_answer(store: Path, question: str, config: RecallConfig, meter: Metered) -> _FirstAnswer:
    with ExitStack() as stack:
        start = time.perf_counter()
        opened = Memory.open(store, embedder=meter, read_only=True, config=config)
        opened_ms = (time.perf_counter() - start) * 1e3
        memory = stack.enter_context(opened)
        answered = taken(lambda: memory.recall(question), meter)
        return _FirstAnswer(opened_ms + answered.wall_s * 1e3, opened_ms)


def _opened(runs: Sequence[_FirstAnswer], nodes: int, note: str | None = None) -> Measured:
    beside = {"ms to open": median([run.opened_ms for run in runs])}
    return Measured(median([run.answered_ms for run in runs]), nodes, beside=beside, note=note)


def _resident_after(store: Path, nodes: int) -> dict[str, float]:
    """MB that a fresh process holds more after its first answer, by whose they are."""
    command = [sys.executable, "-c", _RESIDENT, str(store), str(nodes)]
    run = subprocess.run(command, capture_output=True, check=True)
    return msgspec.json.decode(run.stdout, type=dict[str, float])


def resident_mb() -> dict[str, float]:
    """MB of this process in memory: its own, and pages of files; nothing where nobody says."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    kept = {line.split(":")[0]: float(line.split()[1]) / 1e3 for line in lines if "Rss" in line}
    names = {"RssAnon": "MB resident", "RssFile": "MB resident of files"}
    return {names[name]: mb for name, mb in kept.items() if name in names}


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
    """Bytes a turn of the snapshot with the vectors, and of the whole directory by part.

    A turn is the smaller number to divide by: cues and sessions are nodes, too.
    """
    parts = Counter[str]()
    for path in _files(store):
        parts[_part(path)] += path.stat().st_size
    each = {part: size / nodes for part, size in sorted(parts.items())}
    beside: dict[str, float] = {p: each[p] for p in ("snapshot", "vectors") if p in each}
    return {
        SNAPSHOT: Measured(sum(beside.values()), nodes, beside=beside),
        DIRECTORY: Measured(sum(each.values()), nodes, beside=each),
    }


def import_costs() -> dict[str, Measured]:
    """Seconds that a fresh interpreter takes to import what a memory needs, the best of three.

    Kernels come from numba's cache and modules from Python's, which one run before fills.
    """
    command = [sys.executable, "-c", _IMPORT]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [
        subprocess.run(command, env=kept, capture_output=True, check=True)
        for _ in range(IMPORTS + 1)
    ]
    return {IMPORT: Measured(min(float(run.stdout) for run in runs[1:]))}


def _files(store: Path) -> list[Path]:
    found = [path for path in sorted(store.rglob("*")) if path.is_file()]
    return [path for path in found if path.name != MARKER]


def _part(path: Path) -> str:
    return "snapshot" if path.parent.name == "snapshot" else path.name.split(".")[0]
