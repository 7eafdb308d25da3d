"""Trying a model: what is counted, what is refused, and what the command line makes of it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cuegraph import InputError, ModelError
from cuegraph.bench import model_check
from cuegraph.bench.model_check import measure, tables
from cuegraph.cli import main

from ..llm.instances import longest
from ..llm.scripted import Action, Handler, Server, serving

PURPOSES = [
    *("extract", "relate", "topics"),
    *("analyse", "answer", "route", "select"),
    *("judge_lenient", "judge_strict"),
]


def answering(constrained: str = "longest", free: str = "I would rather talk.") -> Action:
    """Replies of a server: the longest that the schema allows, or a text, the same each time."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        if not body:
            handler.reply_json({"data": [{"id": "small"}]})
            return
        form = body.get("response_format")
        text = free if form is None else constrained
        if form is not None and text == "longest":
            text = json.dumps(longest(form["json_schema"]["schema"], "x"))
        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 75},
        }
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        handler.reply_json({"choices": [choice], "usage": usage})

    return act


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(answering()) as server:
        yield server


def check(server: Server, **options: Any) -> model_check.ModelReport:
    return measure(None, server.url, calls=2, batches=(1, 4), **options)


def test_a_model_that_keeps_to_schemas_holds(server: Server) -> None:
    report = check(server)
    assert report.holds and report.constrained and report.model == "small"
    assert [line.purpose for line in report.held.lines] == PURPOSES
    assert [line.purpose for line in report.free.lines] == PURPOSES
    assert all(line.cost.calls == 2 and not line.cost.failures for line in report.held.lines)
    assert all(line.cost.failures == {"invalid": 2} for line in report.free.lines)
    assert report.cached_share == 0.75
    assert report.versions.keys() == {"python", "cuegraph"}
    assert report.memory_mib["this process"] > 1


def test_each_batch_size_sends_as_many_requests_and_none_twice(server: Server) -> None:
    report = check(server)
    assert [(speed.batch, speed.requests) for speed in report.speeds] == [(1, 4), (4, 4)]
    for speed in report.speeds:
        assert (speed.prompt_tokens, speed.cached_tokens, speed.completion_tokens) == (400, 300, 40)
        assert speed.tokens_per_s == pytest.approx(40 / speed.seconds)
    asked = [body["messages"][1]["content"] for _, _, body in server.requests if body]
    speeds = asked[-8:]
    assert len(set(speeds)) == 8


def test_replies_that_are_not_what_was_asked_do_not_hold() -> None:
    with serving(answering(constrained='{"other": 1}')) as server:
        report = check(server)
    assert not report.holds
    assert report.held.total().failures == {"invalid": 18}


def test_a_server_that_ignores_the_schema_does_not_hold_though_its_json_is_right() -> None:
    def act(handler: Handler, body: dict[str, Any]) -> None:
        if not body:
            answering()(handler, body)
            return
        form = body.get("response_format", {}).get("json_schema", {}).get("schema")
        text = f"Sure: {json.dumps(longest(form, 'x'))}" if form else "no"
        answering(constrained=text)(handler, body)

    with serving(act) as server:
        report = check(server)
    assert not report.held.total().failures
    assert not report.constrained and not report.holds


def test_a_server_that_is_down_is_a_model_error() -> None:
    with serving(answering()) as server:
        url = server.url
    with pytest.raises(ModelError, match="expected status 200"):
        measure(None, url, name="small")


@pytest.mark.parametrize("options", [{"calls": 0}, {"batches": (1, 0)}])
def test_numbers_below_one_are_refused(server: Server, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="from 1"):
        measure(None, server.url, **options)


def test_a_model_or_an_endpoint_is_needed() -> None:
    with pytest.raises(InputError, match="got neither"):
        measure()
    with pytest.raises(InputError, match="got both"):
        measure("here", "http://127.0.0.1:9/v1")


def test_the_tables_show_every_figure(server: Server) -> None:
    with (console := Console(width=160)).capture() as captured:
        console.print(*tables(check(server)))
    shown = captured.get()
    for part in (*PURPOSES, "2 of 2", "0 of 2", "75 %", "400 + 40", "yes", "MiB", "cuegraph 0"):
        assert part in shown, part


def test_memory_of_gpus_is_what_their_tool_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    tool.write_text("#!/bin/sh\nprintf '1000\\n234\\n'\n")
    tool.chmod(0o755)
    assert model_check._gpu_mib() == {"GPUs, by all processes": 1234.0}
    tool.write_text("#!/bin/sh\necho no devices were found\nexit 6\n")
    assert model_check._gpu_mib() == {}


# --- the command line


def test_the_exit_code_says_whether_it_holds(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "check.json"
    options = ["--calls", "1", "--batches", "1,2", "--json"]
    assert main(["model", "check", "--endpoint", server.url, *options, str(target)]) == 0
    assert "keeps to schemas" in capsys.readouterr().out
    assert json.loads(target.read_bytes())["holds"] is True
    with serving(answering(constrained="no")) as broken:
        assert main(["model", "check", "--endpoint", broken.url, *options, "-"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["model"], ["model", "check"]):
        with pytest.raises(SystemExit) as left:
            main([*command, "--help"])
        assert left.value.code == 0
        assert "example:\n  cuegraph model check --model" in capsys.readouterr().out


def test_what_cannot_be_tried_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(answering()) as server:
        down = server.url
    cases = {
        ("--endpoint", down): (3, "expected a server that lists a model, got ConnectError"),
        ("--endpoint", "ftp://nowhere"): (2, "expected an endpoint"),
        ("--model", str(tmp_path)): (3, "with config.json"),
        ("--model", "m", "--endpoint", down): (2, "not allowed with"),
        ("--model", "m", "--name", "n"): (2, "expected an endpoint for the model 'n'"),
        (): (2, "one of the arguments --model --endpoint is required"),
    }
    for arguments, (code, words) in cases.items():
        assert main(["model", "check", *arguments]) == code
        shown = capsys.readouterr()
        assert shown.out == "" and shown.err.count("\n") == 1 and words in shown.err
