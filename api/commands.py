"""What the commands of the command line do. Each takes its arguments and returns an exit code."""

# ruff: noqa: PLC0415  (a benchmark is loaded when it runs)

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console

from .adding import Tally, add_source, source_of
from .demo import run_demo
from .io.errors import InputError, StoreError
from .io.journal import Journal
from .io.turn import read_zone
from .llm.cache import Cached, VectorCache
from .llm.embedder import Embedder, open_embedder
from .memory import Memory
from .render import (
    console_on,
    note,
    progress,
    show_narrative,
    show_problems,
    show_recall,
    show_stats,
    show_timings,
)


def add(args: Namespace) -> int:
    """Keep turns of files or of standard input."""
    if args.zone is not None:
        read_zone(args.zone)  # said once here, and not of every turn
    sources = [source_of(name, args.conversation) for name in args.rest or ["-"]]
    sizes = [source.size for source in sources if source.size is not None]
    total = sum(sizes) if len(sizes) == len(sources) else None
    tally = Tally()

    def show(console: Console) -> None:
        kept = f"added {tally.added:,}, unchanged {tally.unchanged:,}"
        console.print(f"{kept}, conflicts {tally.conflicts:,}, rejected {tally.rejected:,}")
        show_problems(console, [(problem.where, problem.reason) for problem in tally.problems])

    with Memory.open(args.store, embedder=args.embedder) as memory:
        try:
            with progress("adding turns", total) as advance:
                for source in sources:
                    add_source(memory, source, zone=args.zone, tally=tally, advance=advance)
        finally:  # also what was kept before an error
            _tell(args.json, tally, show)
    return 1 if tally.problems else 0


def recall(args: Namespace) -> int:
    """Ask questions."""
    # Bytes of the command line that are not UTF-8 come as lone surrogates, which JSON cannot hold.
    queries = [query.encode(errors="replace").decode() for query in args.rest]
    with _open_to_read(args) as memory:
        recalls = memory.recall_batch(
            queries,
            k=args.k,
            budget_tokens=args.budget_tokens,
            deadline_ms=args.deadline_ms,
            after=args.after,
            before=args.before,
            speaker=args.speaker,
            asked=args.asked,
        )
        narratives = [
            memory.narrate(found, budget_tokens=args.narrate) if args.narrate else None
            for found in recalls
        ]
    answers = list(zip(recalls, narratives, strict=True))

    def show(console: Console) -> None:
        for found, narrative in answers:
            show_recall(console, found)
            if narrative is not None:
                show_narrative(console, narrative)
        show_timings(console, recalls)

    _tell(args.json, [{"recall": found, "narrative": text} for found, text in answers], show)
    return 0


def stats(args: Namespace) -> int:
    """Count what a memory holds."""
    with _open_to_read(args) as memory:
        counted = memory.stats()
    _tell(args.json, counted, lambda console: show_stats(console, counted))
    return 0


def demo(args: Namespace) -> int:
    """Show the sample conversation."""
    run_demo(console_on(sys.stdout), store=args.store, embedder=args.embedder)
    return 0


def profile(args: Namespace) -> int:
    """Measure the latency of recalls by stage."""
    from .bench import picture
    from .bench.profile import profile as measure
    from .bench.profile import profile_table

    target = None if args.picture is None else Path(args.picture)
    if target is not None:
        picture.check_picture(target)
    with _profiled(args) as (store, embedder, queries):
        found = measure(store, embedder, queries, progress=note)
    if target is not None:
        picture.draw(found, target)
    _tell(args.json, found, lambda console: console.print(profile_table(found)))
    return 0


@contextmanager
def _profiled(args: Namespace) -> Iterator[tuple[Path, Embedder, list[str]]]:
    """The memory to profile, what it was embedded with, and questions to it."""
    from .bench.stores import synthetic_store
    from .bench.synthetic import SyntheticEmbedder, questions

    if args.synthetic is None:
        if args.store is None:
            raise InputError("expected STORE or --synthetic N, got neither")
        _check_store(args.store)
        embedder = open_embedder(args.embedder)
        yield Path(args.store), embedder, _first_words(Path(args.store), embedder, args.queries)
        return
    if args.embedder is not None:
        raise InputError("expected --synthetic, which has vectors of its own, or --embedder")
    kept = None if args.store is None else Path(args.store)
    with synthetic_store(kept, args.synthetic, note) as store:
        invented = questions(args.synthetic, args.queries)
        yield store, SyntheticEmbedder(args.synthetic), invented


def _first_words(store: Path, embedder: Embedder, count: int) -> list[str]:
    """The first eight words of turns, `count` at most, evenly spread over the journal."""
    with Journal.open(
        store, embedder=embedder.name, dimension=embedder.dimension, read_only=True
    ) as journal:
        last = journal.last_seq()
        places = [last * i // count for i in range(count)] if count < last else range(last)
        rows = [row for place in places for row in journal.rows_after(place, limit=1)]
    said = [row.turn().text for row in rows if row.kind == "turn"]
    if not said:
        raise InputError(f"expected a memory with turns, got an empty one, at {store}")
    return [" ".join(text.split()[:8])[:200] for text in said]


def bench_locomo(args: Namespace) -> int:
    """Measure retrieval on LoCoMo, or what each part of the read path adds to it."""
    if (args.ablate or args.leave_one_out) and args.corrections is not None:
        raise InputError("expected --ablate, --leave-one-out or --corrections, got two of them")
    path = args.cache or _cache_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with VectorCache(path) as cache:
        if args.leave_one_out:
            return _leave_one_out(args, cache)
        return _ablate(args, cache) if args.ablate else _evaluate(args, cache)


def _evaluate(args: Namespace, cache: VectorCache) -> int:
    from .bench import tables
    from .bench.locomo import evaluate

    evaluation = evaluate(
        args.data,
        embedder=open_embedder(args.embedder),
        cache=cache,
        corrections=args.corrections,
        progress=note,
    )
    report = evaluation.report

    def show(console: Console) -> None:
        console.print(tables.retrieval_table(report.categories))
        if report.corrected is not None:
            title = f"With {report.corrected.changed} corrections, %"
            console.print(tables.retrieval_table(report.corrected.categories, title))
        console.print(tables.latency_table(report))
        console.print(tables.left_out_table(report))
        show_problems(console, [("", problem) for problem in report.problems])

    _tell(args.json, report, show, evaluation.write)
    return 1 if report.problems else 0


def _ablate(args: Namespace, cache: VectorCache) -> int:
    from .bench.ablation import ablate
    from .bench.tables import ablation_table

    embedder = open_embedder(args.embedder)
    ablation = ablate(args.data, embedder=embedder, cache=cache, progress=note)
    _tell(args.json, ablation, lambda console: console.print(ablation_table(ablation)))
    return 0


def _leave_one_out(args: Namespace, cache: VectorCache) -> int:
    from .bench.ablation import leave_one_out
    from .bench.rows import variations
    from .bench.tables import leave_one_out_table
    from .engine.config import RecallConfig

    found = leave_one_out(
        args.data,
        variations(RecallConfig()),
        embedder=open_embedder(args.embedder),
        cache=cache,
        progress=note,
    )
    _tell(args.json, found, lambda console: console.print(leave_one_out_table(found)))
    return 0


def bench_scale(args: Namespace) -> int:
    """Measure LoCoMo among distractors."""
    from .bench.scale import SIZES, measure
    from .bench.tables import scale_table

    path = args.cache or _cache_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with VectorCache(path) as cache:
        found = measure(
            args.data,
            args.sizes or SIZES,
            embedder=Cached(open_embedder(args.embedder), cache),
            embed=args.embed,
            progress=note,
        )
    problems = [("", problem) for size in found.sizes for problem in size.problems]

    def show(console: Console) -> None:
        console.print(scale_table(found))
        show_problems(console, problems)

    _tell(args.json, found, show)
    return 1 if problems else 0


def bench_targets(args: Namespace) -> int:
    """Measure the targets of performance."""
    from .bench.targets import beside_table, measure, targets_table

    report = measure(args.nodes, args.store, note)
    tables = (targets_table(report), beside_table(report))
    _tell(args.json, report, lambda console: console.print(*tables))
    return 0 if report.holds else 1


def model_check(args: Namespace) -> int:
    """Try a language model."""
    from .bench.model_check import BATCHES, measure, tables

    report = measure(
        args.model,
        args.endpoint,
        name=args.name,
        calls=args.calls,
        batches=args.batches or BATCHES,
        progress=note,
    )
    _tell(args.json, report, lambda console: console.print(*tables(report)))
    return 0 if report.holds else 1


def _cache_file() -> Path:
    """Where vectors are kept between runs, by the XDG base directory specification."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(caches) if os.path.isabs(caches) else Path.home() / ".cache"
    return folder / "cuegraph" / "vectors.sqlite"


def _open_to_read(args: Namespace) -> Memory:
    _check_store(args.store)
    return Memory.open(args.store, embedder=args.embedder, read_only=True)


def _check_store(store: str) -> None:
    if not Path(store).is_dir():  # said before an embedder is loaded for nothing
        raise StoreError(f"expected the directory of a memory, got none, at {store}")


def _tell(
    target: str | None,
    value: object,
    show: Callable[[Console], None],
    write: Callable[[Path], None] | None = None,
) -> None:
    """Show a result, or write it as JSON, or both; `write` writes files in a way of its own."""
    content = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    if target is not None:
        (write or (lambda path: path.write_bytes(content)))(Path(target))
    show(console_on(sys.stdout))
