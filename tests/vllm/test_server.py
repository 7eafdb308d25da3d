"""The HTTP back end and vLLM's own server, on the loopback."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cuegraph.cli import main
from cuegraph.llm.http_model import HttpModel
from cuegraph.llm.model import Message, generate
from cuegraph.llm.vllm_engine import import_vllm

from .models import CONTEXT, NEEDS_VLLM
from .trials import PATIENCE_S, failures, sample, samples

pytestmark = NEEDS_VLLM
STRUCTURED = '{"backend": "xgrammar", "disable_any_whitespace": true}'


@pytest.fixture(scope="module")
def url(random_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    import_vllm()  # for the environment that its processes need
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(random_model), "--served-model-name", "tiny", "--dtype", "bfloat16"),
        *("--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(CONTEXT)),
        *("--enforce-eager", "--block-size", "32", "--enable-prompt-tokens-details"),
        *("--kv-cache-memory-bytes", str(1 << 28), "--structured-outputs-config", STRUCTURED),
    ]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as run:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", run, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            run.terminate()


def wait_for(address: str, run: subprocess.Popen[bytes], log: Path) -> None:
    """Until the server answers; what it wrote, where it does not."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and run.poll() is None:
        try:
            if httpx.get(address).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"expected a server, got\n{log.read_text(errors='replace')[-4000:]}")


@pytest.fixture(scope="module")
def model(url: str) -> Iterator[HttpModel]:
    with HttpModel(url) as model:
        yield model


def test_every_reply_to_every_call_is_valid(model: HttpModel) -> None:
    replies = generate(model, samples(2))
    assert failures(replies) == []
    assert model.constrained is True
    assert all(reply.completion_tokens > 0 for reply in replies)
    assert sum(reply.cached_tokens for reply in replies) > 0


def test_the_name_is_the_one_that_it_is_served_by(model: HttpModel) -> None:
    assert model.name == "tiny"


def test_a_prompt_that_is_too_long_is_refused(model: HttpModel) -> None:
    long = sample("route", messages=(Message("user", "tea " * CONTEXT),))
    failure = model.submit(long).result().failure
    assert failure is not None and failure.kind == "refused"


def test_a_model_of_another_name_is_refused(url: str) -> None:
    with HttpModel(url, "other") as other:
        failure = other.submit(sample("judge_strict")).result().failure
    assert failure is not None and failure.kind == "refused" and "404" in failure.message


def test_the_command_line_finds_it_fit(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--calls", "1", "--batches", "1,4"]
    assert main(["model", "check", "--endpoint", url, *options]) == 0
    assert "keeps to schemas" in capsys.readouterr().out
