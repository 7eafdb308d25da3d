"""Whether a language model can be used here: its replies by call, its speed, its memory.

Replies are judged by whether they are what their schema asks for, never by what they say.
"""

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import asdict, replace
from rich.table import Table

from cuegraph import (
    Accounted,
    Accounts,
    CostReport,
    HttpModel,
    InputError,
    Model,
    ModelError,
    Reply,
    Request,
    Trial,
    generate,
    open_model,
    sample_requests,
)

Progress = Callable[[str], None]
CALLS = 4
BATCHES = (1, 16, 64)
MOST_FREE = 16
"""Calls of each kind that nothing holds to a schema: some of their replies never end."""
FREE_TOKENS = 512
"""Where those are cut: the replies to these samples take a third of it."""
LONG_S = 1_800.0
"""A slow machine is not a failure."""
READING = ("analyse", "select", "route", "answer")
"""The calls of a question, by which the speed is measured."""
PACKAGES = ("vllm", "torch", "xgrammar", "transformers")
MIB = 1 << 20


class Speed(msgspec.Struct, frozen=True):
    """What the requests of one batch size took together.

    batch            requests at a time; the next ones are sent when all of them are answered
    reuses_prefixes  whether what was read before was read again
    """

    batch: int
    reuses_prefixes: bool
    requests: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float
    tokens_per_s: float


class ModelReport(msgspec.Struct, frozen=True):
    """What was found.

    holds         whether the model keeps to schemas and every reply to a call was valid
    constrained   whether it was asked to keep to schemas and did, as far as can be seen
    start_s       seconds until it was ready
    cached_share  of the prompts' tokens in `held`, read before
    held          costs and failures of the calls, by phase and purpose
    free          the same of calls that nothing held to a schema, cut at `FREE_TOKENS`
    memory_mib    peaks; of a server it is not known
    versions      of what runs the model; of a server they are not known
    """

    model: str
    holds: bool
    constrained: bool
    start_s: float
    cached_share: float
    held: CostReport
    free: CostReport
    speeds: list[Speed]
    memory_mib: dict[str, float]
    versions: dict[str, str]


def measure(
    model: str | Path | None = None,
    endpoint: str | None = None,
    *,
    name: str | None = None,
    calls: int = CALLS,
    batches: Sequence[int] = BATCHES,
    progress: Progress = lambda line: None,
) -> ModelReport:
    """A model tried with `calls` calls of each kind, and for its speed with batches of some sizes.

    model, endpoint, name  as for `open_model`, one of the first two

    InputError on neither or both of them, or on a number below 1; ModelError where the model cannot
    be loaded, or the first reply shows that it cannot be reached.
    """
    if min(calls, *batches) < 1:
        raise InputError(f"expected calls and batches from 1, got {calls} and {list(batches)}")
    progress("starting the model")
    begun = time.perf_counter()
    opened = open_model(model, endpoint, name=name)
    if opened is None:
        raise InputError("expected a model or an endpoint, got neither")
    with closing(opened):
        start_s = time.perf_counter() - begun
        _reach(opened)
        held = _held(opened, calls, progress)
        free = _free(opened, endpoint, min(calls, MOST_FREE), progress)
        speeds = _speeds(opened, batches, endpoint is None, progress)
        constrained = bool(getattr(opened, "constrained", False))
        gpu = _gpu_mib()
    total = held.total()
    return ModelReport(
        model=opened.name,
        holds=constrained and not total.failures,
        constrained=constrained,
        start_s=start_s,
        cached_share=total.cached_tokens / max(total.prompt_tokens, 1),
        held=held,
        free=free,
        speeds=speeds,
        memory_mib=_peaks(endpoint is None) | gpu,
        versions=_versions(PACKAGES if endpoint is None else ()),
    )


def tables(report: ModelReport) -> list[Table]:
    """Validity by call, speed by batch, and the rest."""
    return [_validity_table(report), _speed_table(report), _facts_table(report)]


def _reach(model: Model) -> None:
    """ModelError where the model does not answer at all."""
    failure = model.submit(sample_requests()["analyse"]).result().failure
    if failure is not None and failure.kind in ("unavailable", "refused", "timed_out"):
        raise ModelError(failure.message)


def _held(model: Model, calls: int, progress: Progress) -> CostReport:
    accounts = Accounts()
    for purpose, requests in _by_purpose(calls):
        progress(f"{calls} calls of {purpose}")
        generate(Accounted(model, accounts), requests)
    return accounts.report()


def _free(model: Model, endpoint: str | None, calls: int, progress: Progress) -> CostReport:
    accounts = Accounts()
    free = model if endpoint is None else HttpModel(endpoint, model.name, constrained="never")
    for purpose, requests in _by_purpose(calls):
        progress(f"{calls} calls of {purpose} without a constraint")
        trials = [
            replace(_trial(r), constrained=False, max_tokens=min(r.max_tokens, FREE_TOKENS))
            for r in requests
        ]
        generate(Accounted(free, accounts), trials)
    if free is not model:
        free.close()
    return accounts.report()


def _by_purpose(calls: int) -> Iterator[tuple[str, list[Request]]]:
    """So many requests of each kind, a kind after the other, the first at temperature 0.

    The others are drawn at temperature 1: what is likeliest hardly changes from text to text.
    """
    samples = [sample_requests(number) for number in range(calls)]
    for purpose in samples[0]:
        yield (
            purpose,
            [
                replace(sample[purpose], temperature=float(seed > 0), seed=seed, timeout_s=LONG_S)
                for seed, sample in enumerate(samples)
            ],
        )


def _speeds(
    model: Model, batches: Sequence[int], has_cache: bool, progress: Progress
) -> list[Speed]:
    # Each size gets texts of its own: of those that were read before, all would be cached.
    fresh = (sample[purpose] for sample in map(sample_requests, count()) for purpose in READING)
    reuses = (True, False) if has_cache else (True,)
    speeds = []
    for batch in batches:
        for reuse in reuses:
            progress(f"speed in batches of {batch}")
            requests = [_trial(request, reuse) for request in islice(fresh, max(batches))]
            speeds.append(_speed(model, requests, batch, reuse))
    return speeds


def _speed(model: Model, requests: Sequence[Request], batch: int, reuse: bool) -> Speed:
    replies: list[Reply] = []
    begun = time.perf_counter()
    for start in range(0, len(requests), batch):
        replies += generate(model, requests[start : start + batch])
    seconds = time.perf_counter() - begun
    said = sum(reply.completion_tokens for reply in replies)
    return Speed(
        batch=batch,
        reuses_prefixes=reuse,
        requests=len(requests),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        cached_tokens=sum(reply.cached_tokens for reply in replies),
        completion_tokens=said,
        seconds=seconds,
        tokens_per_s=said / seconds,
    )


def _trial(request: Request, reuse: bool = True) -> Trial:
    fields: dict[str, Any] = asdict(request) | {"timeout_s": LONG_S}
    return Trial(**fields, reuses_prefixes=reuse)


def _peaks(has_children: bool) -> dict[str, float]:
    """Peak resident memory; of processes that have ended, the largest's."""
    unit = MIB if sys.platform == "darwin" else MIB / 1024
    whose = {"this process": resource.RUSAGE_SELF}
    if has_children:
        whose["largest engine process"] = resource.RUSAGE_CHILDREN
    return {who: resource.getrusage(key).ru_maxrss / unit for who, key in whose.items()}


def _gpu_mib() -> dict[str, float]:
    """Memory in use on the GPUs of this machine, whoever uses it; nothing where there are none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    query = [program, "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    said = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
    used = [float(word) for word in said if word.isdecimal()]
    return {"GPUs, by all processes": sum(used)} if used else {}


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """Of what is installed; vLLM's build for CPUs is a distribution of another name."""
    found = {"python": sys.version.split()[0]}
    for package in ("cuegraph", *packages):
        for distribution in (package, f"{package}-cpu"):
            try:
                found[distribution] = version(distribution)
                break
            except PackageNotFoundError:
                continue
    return found


def _validity_table(report: ModelReport) -> Table:
    table = _table(
        f"Replies of {report.model}",
        *("call", "valid", "failures", "valid, free", "tokens", "cached", "mean s"),
    )
    free = {line.purpose: line.cost for line in report.free.lines}
    for line in report.held.lines:
        cost, other = line.cost, free[line.purpose]
        table.add_row(
            line.purpose,
            _share(cost.calls - sum(cost.failures.values()), cost.calls),
            ", ".join(f"{n} {kind}" for kind, n in cost.failures.items()) or "none",
            _share(other.calls - sum(other.failures.values()), other.calls),
            f"{cost.prompt_tokens:,} + {cost.completion_tokens:,}",
            f"{100 * cost.cached_tokens / max(cost.prompt_tokens, 1):.0f} %",
            f"{cost.seconds / cost.calls:.1f}",
        )
    table.caption = "free: nothing held the reply to its schema; tokens: of prompts + of replies"
    return table


def _speed_table(report: ModelReport) -> Table:
    table = _table(
        "Speed", "batch", "prefixes", "tokens/s", "calls/s", "calls", "tokens", "cached", "s"
    )
    for speed in report.speeds:
        table.add_row(
            str(speed.batch),
            "reused" if speed.reuses_prefixes else "read anew",
            f"{speed.tokens_per_s:,.0f}",
            f"{speed.requests / speed.seconds:.2f}",
            str(speed.requests),
            f"{speed.prompt_tokens:,} + {speed.completion_tokens:,}",
            f"{100 * speed.cached_tokens / max(speed.prompt_tokens, 1):.0f} %",
            f"{speed.seconds:.1f}",
        )
    return table


def _facts_table(report: ModelReport) -> Table:
    table = Table(box=None, show_header=False)
    rows = {
        "keeps to schemas": "yes" if report.constrained else "NO: replies are only asked for JSON",
        "all replies valid": "yes" if not report.held.total().failures else "NO",
        "start": f"{report.start_s:.1f} s",
        "tokens of prompts cached": f"{100 * report.cached_share:.0f} %",
        "peak memory": ", ".join(f"{who} {mib:,.0f} MiB" for who, mib in report.memory_mib.items()),
        "versions": ", ".join(f"{what} {which}" for what, which in report.versions.items()),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _table(title: str, *names: str) -> Table:
    table = Table(title=title)
    for i, name in enumerate(names):
        justify: Literal["left", "right"] = "right" if i else "left"
        table.add_column(name, justify=justify)
    return table


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}"
