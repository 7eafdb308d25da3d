"""`cuegraph model check` with vLLM beside it."""

import json
import subprocess
import sys
from pathlib import Path

from .models import NEEDS_VLLM

pytestmark = NEEDS_VLLM


def test_the_command_line_tries_a_model(random_model: Path) -> None:
    program = Path(sys.executable).parent / "cuegraph"
    options = ["--calls", "2", "--batches", "1,4", "--json", "-"]
    ran = subprocess.run(
        [program, "model", "check", "--model", random_model, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    report = json.loads(ran.stdout)  # and nothing else
    assert report["holds"] and report["constrained"] and report["model"] == "vllm:random"
    assert sum(line["cost"]["calls"] for line in report["held"]["lines"]) == 18
    assert all(line["cost"]["failures"] for line in report["free"]["lines"])
    modes = [(speed["batch"], speed["reuses_prefixes"]) for speed in report["speeds"]]
    assert modes == [(1, True), (1, False), (4, True), (4, False)]
    assert all(bool(s["cached_tokens"]) == s["reuses_prefixes"] for s in report["speeds"])
    assert 0 < report["cached_share"] < 1
    assert report["memory_mib"]["largest engine process"] > 100
    assert {"torch", "xgrammar", "transformers"} < report["versions"].keys()
    assert any(name.startswith("vllm") for name in report["versions"])
