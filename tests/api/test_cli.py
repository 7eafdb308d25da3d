"""The command line: every command, every exit code, and output that is what it claims to be."""

import hashlib
import io as stdio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cuegraph.adding import CHUNK
from cuegraph.cli import main

TURNS: list[dict[str, Any]] = [
    {
        "id": "1",
        "speaker": "Ada",
        "time": "2024-05-01T10:00:00+02:00",
        "text": "I moved to Lisbon.",
    },
    {"id": "2", "speaker": "Ben", "time": "2024-05-02T10:00:00+02:00", "text": "My dog chews ink."},
    {"id": "3", "speaker": "Ada", "time": "2024-06-01T10:00:00+02:00", "text": "我喜欢里斯本。"},
]
COMMANDS = (
    ["add"],
    ["recall"],
    ["stats"],
    ["demo"],
    ["profile"],
    ["bench"],
    ["bench", "locomo"],
    ["bench", "targets"],
)


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process; commands with an embedder get the one of hashes."""

    def run(*args: object) -> Ran:
        argv = [str(arg) for arg in args]
        if argv[0] != "bench" and not {"--embedder", "--synthetic"} & set(argv):
            argv[1:1] = ["--embedder", "hash"]
        code = main(argv)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    return write(tmp_path / "chat.jsonl", TURNS)


@pytest.fixture
def store(tmp_path: Path, chat: Path, run: Run) -> Path:
    assert run("add", tmp_path / "store", chat).code == 0
    return tmp_path / "store"


def write(path: Path, turns: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), encoding="utf-8")
    return path


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", stdio.TextIOWrapper(stdio.BytesIO(content)))


def failed(ran: Ran, code: int, *words: str) -> None:
    """The exit code, nothing on standard output, and one line that says what was wrong."""
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("cuegraph: ") and ran.err.count("\n") == 1
    for word in words:
        assert word in ran.err


# --- help


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert f"example:\n  cuegraph {' '.join(command)}" in capsys.readouterr().out


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    for code in ("  0  ", "  1  ", "  2  ", "  3  ", "  130  "):
        assert f"\n{code}" in shown


def test_help_loads_nothing_that_is_slow() -> None:
    code = (
        "import sys\nfrom cuegraph.cli import main\ntry: main(['recall', '--help'])\n"
        "except SystemExit: pass\n"
        "print({'numba', 'numpy', 'pyarrow', 'rich', 'msgspec', 'httpx'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\nset()\n")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("cuegraph ")


# --- add


def test_add_counts(tmp_path: Path, chat: Path, run: Run) -> None:
    assert run("add", tmp_path / "s", chat).out == (
        "added 3, unchanged 0, conflicts 0, rejected 0\n"
    )
    again = run("add", tmp_path / "s", chat, chat)
    assert again == (0, "added 0, unchanged 6, conflicts 0, rejected 0\n", "")


def test_add_names_what_it_did_not_keep(tmp_path: Path, store: Path, run: Run) -> None:
    bad = tmp_path / "bad.jsonl"
    other = json.dumps({**TURNS[0], "text": "I moved to Porto."})
    bad.write_text(
        f'{{"speaker": "Ada"}}\n\nno JSON\n{other}\n{{"text": "Yes.", "time": "soon"}}\n'
    )
    ran = run("add", store, bad, "--json", tmp_path / "report.json")
    assert ran.code == 1
    assert "added 0, unchanged 0, conflicts 1, rejected 3" in ran.out
    report = json.loads((tmp_path / "report.json").read_text())
    assert {key: report[key] for key in ("added", "unchanged", "conflicts", "rejected")} == {
        "added": 0,
        "unchanged": 0,
        "conflicts": 1,
        "rejected": 3,
    }
    named = {problem["where"]: problem for problem in report["problems"]}
    assert "text" in named["bad.jsonl line 1"]["reason"]
    assert named["bad.jsonl line 3"]["status"] == "rejected"
    assert named[f"{bad} item 3"]["status"] == "conflict"
    assert "soon" in named[f"{bad} item 4"]["reason"]


def test_add_shows_some_of_many_problems(tmp_path: Path, run: Run) -> None:
    (tmp_path / "song.mp3").write_bytes(b"\xff\xfb\n" * 50)
    ran = run("add", tmp_path / "s", tmp_path / "song.mp3")
    assert (ran.code, ran.out.count("line ")) == (1, 20)
    assert "and 30 more" in ran.out


@pytest.mark.parametrize("name", [[], ["-"]])
def test_add_from_standard_input(
    name: list[str], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(monkeypatch, b'{"text": "Hello."}\n\n{"text": "\xff"}\n')
    ran = run("add", tmp_path / "s", *name)
    assert ran.code == 1
    assert "added 1, unchanged 0, conflicts 0, rejected 1" in ran.out
    assert "standard input line 3" in ran.out


def test_files_may_stand_after_options(tmp_path: Path, chat: Path, run: Run) -> None:
    ran = run("add", tmp_path / "s", "--zone", "UTC", chat, "--json", "-")
    assert (ran.code, json.loads(ran.out)["added"]) == (0, 3)


def test_zone_is_where_times_without_offset_were_said(tmp_path: Path, run: Run) -> None:
    turn = {"text": "Lunch.", "time": "2024-07-01T12:00"}
    chat = write(tmp_path / "chat.jsonl", [turn])
    assert run("add", tmp_path / "s", chat).code == 1
    assert run("add", tmp_path / "s", chat, "--zone", "Europe/Rome").code == 0
    found = run("recall", tmp_path / "s", "Lunch?", "--json", "-")
    [piece] = json.loads(found.out)[0]["recall"]["evidence"]
    assert piece["time"] == "2024-07-01T12:00:00+02:00"
    failed(run("add", tmp_path / "s", chat, "--zone", "Mars/Base"), 2, "Mars/Base")


def test_equal_turns_are_told_apart_across_chunks(tmp_path: Path, run: Run) -> None:
    many = CHUNK + 44
    chat = write(tmp_path / "chat.jsonl", [{"text": "Yes."}] * many)
    assert f"added {many}, unchanged 0," in run("add", tmp_path / "s", chat).out
    assert f"added 0, unchanged {many}," in run("add", tmp_path / "s", chat).out


def test_what_was_added_before_an_interruption_is_kept(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Typed(stdio.BytesIO):
        def __iter__(self) -> Iterator[bytes]:
            for number in range(CHUNK + 1):
                yield b'{"text": "Line %d."}' % number
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", stdio.TextIOWrapper(Typed()))
    ran = run("add", tmp_path / "s")
    assert (ran.code, ran.err) == (130, "cuegraph: interrupted\n")
    assert f"added {CHUNK}," in ran.out
    assert json.loads(run("stats", tmp_path / "s", "--json", "-").out)["turns"] == CHUNK


def locomo(path: Path, *ids: str) -> Path:
    turns = [
        {"speaker": "Orla", "dia_id": "D1:1", "text": "I bought a red kayak."},
        {"speaker": "Piet", "dia_id": "D1:2", "text": "I joined a choir."},
    ]
    sample = {
        "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2021"},
        "qa": [{"question": "Who bought a kayak?", "category": 4, "evidence": ["D1:1"]}],
    }
    path.write_text(json.dumps([{"sample_id": name, **sample} for name in ids]))
    return path


def test_add_one_conversation_of_locomo(tmp_path: Path, run: Run) -> None:
    assert "added 2," in run("add", tmp_path / "a", locomo(tmp_path / "1.json", "conv-1")).out
    two = locomo(tmp_path / "2.json", "conv-1", "conv-2")
    assert "added 2," in run("add", tmp_path / "b", two, "--conversation", "conv-2").out
    failed(run("add", tmp_path / "c", two), 2, "--conversation", "conv-1, conv-2")
    failed(run("add", tmp_path / "c", two, "--conversation", "x"), 2, "'x'", "conv-1, conv-2")
    failed(run("add", tmp_path / "c", "-", "--conversation", "x"), 2, "standard input")
    assert not (tmp_path / "c").exists()


def test_add_refuses_what_holds_no_turns(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").write_bytes(b" \n")
    failed(run("add", tmp_path / "s", tmp_path / "empty"), 2, "empty")
    failed(run("add", tmp_path / "s", tmp_path / "missing"), 2, "No such file", "missing")
    failed(run("add", tmp_path / "s", tmp_path), 2, "directory")
    assert not (tmp_path / "s").exists()
    pipe(monkeypatch, b"\n")
    ran = run("add", tmp_path / "s")
    assert (ran.code, ran.err) == (2, "cuegraph: expected turns, got nothing, at standard input\n")


def test_add_refuses_a_store_that_cannot_be_made(tmp_path: Path, chat: Path, run: Run) -> None:
    failed(run("add", chat / "store", chat), 2, str(chat))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_add_refuses_a_folder_it_may_not_write_to(tmp_path: Path, chat: Path, run: Run) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    failed(run("add", tmp_path / "locked" / "store", chat), 2, "locked")


# --- recall


def test_recall_shows_evidence_and_timings(store: Path, run: Run) -> None:
    ran = run("recall", store, "Who moved to Lisbon?", "What does the dog chew?", "-k", 1)
    assert (ran.code, ran.err) == (0, "")
    for shown in ("Who moved to Lisbon?", "I moved to Lisbon.", "Ada", "2024-05-01 10:00+02:00"):
        assert shown in ran.out
    for shown in ("My dog chews ink.", "keyword 1", "path: anchor 2", "embedding", "mean of 2"):
        assert shown in ran.out


def test_recall_json_is_json_and_nothing_else(tmp_path: Path, store: Path, run: Run) -> None:
    ran = run("recall", store, "里斯本?", "Who has a dog?", "--narrate", 50, "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    first, second = json.loads(ran.out)
    assert first["recall"]["query"] == "里斯本?"
    assert first["recall"]["evidence"][0]["text"] == "我喜欢里斯本。"
    assert first["recall"]["evidence"][0]["time"] == "2024-06-01T10:00:00+02:00"
    assert second["recall"]["timings_ms"]["embedding"] > 0
    assert 0 < second["narrative"]["tokens"] <= 50
    both = run("recall", store, "Who has a dog?", "--json", tmp_path / "found.json")
    assert "My dog chews ink." in both.out
    assert json.loads((tmp_path / "found.json").read_text())[0]["narrative"] is None


def found(ran: Ran) -> set[str]:
    return {piece["id"] for piece in json.loads(ran.out)[0]["recall"]["evidence"]}


def test_recall_filters(store: Path, run: Run) -> None:
    asked = ("recall", store, "Lisbon dog 里斯本", "--json", "-")
    assert found(run(*asked)) == {"1", "2", "3"}
    assert found(run(*asked, "--speaker", "ben")) == {"2"}
    assert found(run(*asked, "--after", "2024-05-02")) == {"2", "3"}
    assert found(run(*asked, "--before", "2024-05-02", "--asked", "2024-07-01")) == {"1"}
    assert len(found(run(*asked, "-k", "2"))) == 2


def test_recall_says_what_cut_it_short(store: Path, run: Run) -> None:
    assert "cut short: tokens" in run("recall", store, "Lisbon dog", "--budget-tokens", 6).out
    assert "cut short: deadline" in run("recall", store, "Lisbon", "--deadline-ms", 0).out


def test_narrative_is_shown_in_whole_lines(store: Path, run: Run) -> None:
    ran = run("recall", store, "Who moved to Lisbon?", "--narrate")
    assert '\n<memory ref="e1" time="2024-05-01 10:00" speaker="Ada">I moved to' in ran.out


def test_bytes_in_a_question_that_are_not_utf8(store: Path, run: Run) -> None:
    ran = run("recall", store, "Lisbon \udcff?", "--json", "-")
    assert json.loads(ran.out)[0]["recall"]["query"] == "Lisbon ??"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--speaker", "Zoe\x1b[31m"], ["Zoe\\x1b[31m", "Ada"]),
        (["-k", "0"], ["-k", "'0'"]),
        (["--budget-tokens", "many"], ["--budget-tokens", "'many'"]),
        (["--deadline-ms", "nan"], ["--deadline-ms", "'nan'"]),
        (["--after", "soon"], ["after", "soon"]),
        (["--narrate", "0"], ["--narrate", "'0'"]),
        (["--nonsense"], ["--nonsense", "--help"]),
        (["--json", "missing/file.json"], ["--json", "missing/file.json"]),
        (["--embedder", "best"], ["best"]),
        ([" "], ["blank"]),
    ],
)
def test_recall_refuses_bad_usage(
    options: list[str], words: list[str], store: Path, run: Run
) -> None:
    failed(run("recall", store, "Who?", *options), 2, *words)


@pytest.mark.parametrize("command", [["recall", "Who?"], ["stats"]], ids=lambda words: words[0])
def test_reading_never_makes_a_store(command: list[str], tmp_path: Path, run: Run) -> None:
    name, *query = command
    failed(run(name, tmp_path / "none", *query), 2, "expected the directory of a memory")
    (tmp_path / "empty").mkdir()
    failed(run(name, tmp_path / "empty", *query), 2, "journal")
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_reading_changes_nothing(store: Path, run: Run) -> None:
    def kept() -> dict[str, str]:
        paths = [path for path in store.rglob("*") if path.suffix in (".sqlite", ".f16", ".arrow")]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    before = kept()
    assert run("recall", store, "Who moved?").code == 0
    assert run("stats", store).code == 0
    assert kept() == before


def test_a_store_of_another_embedder_or_a_newer_format(store: Path, run: Run) -> None:
    with sqlite3.connect(store / "journal.sqlite") as database:
        database.execute("UPDATE meta SET value = '99' WHERE key = 'format_version'")
    database.close()
    failed(run("stats", store), 2, "format version", "99")
    failed(run("recall", store, "Who?"), 2, "format version", "99")
    with sqlite3.connect(store / "journal.sqlite") as database:
        database.execute("UPDATE meta SET value = '1' WHERE key = 'format_version'")
        database.execute("UPDATE meta SET value = 'oracle-7' WHERE key = 'embedder'")
    database.close()
    failed(run("stats", store), 2, "embedder", "oracle-7")


def test_a_model_that_fails(tmp_path: Path, chat: Path, run: Run) -> None:
    failed(run("add", tmp_path / "s", chat, "--embedder", f"onnx:{tmp_path}"), 3)


# --- stats


def test_stats(store: Path, run: Run) -> None:
    ran = run("stats", store)
    assert (ran.code, ran.err) == (0, "")
    assert "Ada, Ben" in ran.out and "episode 3" in ran.out
    counted = json.loads(run("stats", store, "--json", "-").out)
    assert (counted["turns"], counted["sessions"], counted["vectors"]) == (3, 1, 3)


# --- output


def test_stored_text_cannot_command_the_terminal(tmp_path: Path, run: Run) -> None:
    evil = "red \x1b[31m bell \x07 line\nend \u202e override"
    turn = {"id": "a\x1b]0;b", "speaker": "E\x1bve", "text": evil, "caption": "\x9b31m"}
    chat = write(tmp_path / "chat.jsonl", [turn, {**turn, "text": "another"}])
    shown = run("add", tmp_path / "s", chat).out
    shown += run("recall", tmp_path / "s", "red bell", "--narrate").out
    shown += run("stats", tmp_path / "s").out
    assert not set("\x1b\x07\x9b\u202e") & set(shown)
    assert "red \\x1b[31m bell \\x07 line\\nend" in " ".join(shown.split())
    assert "E\\x1bve" in shown


def test_markup_in_stored_text_is_text(tmp_path: Path, run: Run) -> None:
    chat = write(tmp_path / "chat.jsonl", [{"text": "[bold]loud[/bold] :smile:"}])
    run("add", tmp_path / "s", chat)
    assert "[bold]loud[/bold] :smile:" in run("recall", tmp_path / "s", "loud").out


def test_output_that_is_no_terminal_is_plain_and_of_one_width(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    chat = write(tmp_path / "chat.jsonl", [{"text": "word " * 100}, {"text": "x" * 300}])
    shown = run("add", tmp_path / "s", chat).out + run("recall", tmp_path / "s", "word x").out
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) == 100


def test_progress_is_for_terminals(
    tmp_path: Path, chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert main(["add", str(tmp_path / "s"), str(chat), "--embedder", "hash"]) == 0
        terminal.flush()
        assert b"adding turns" in os.read(master, 1 << 16)
    os.close(master)
    assert capsys.readouterr().out == "added 3, unchanged 0, conflicts 0, rejected 0\n"


@pytest.mark.parametrize("command", ["--help", "stats"])
def test_a_reader_that_goes_away_is_no_fault(command: str, store: Path) -> None:
    argv = [command] if command == "--help" else [command, str(store), "--embedder", "hash"]
    code = f"import sys; from cuegraph.cli import main; sys.exit(main({argv}))"
    # Unbuffered, argparse hears of it first, and keeps it to itself.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


# --- profile


def test_profile_asks_the_first_words_of_turns(tmp_path: Path, store: Path, run: Run) -> None:
    report = tmp_path / "profile.json"
    ran = run("profile", store, "--queries", 2, "--json", report)
    assert (ran.code, ran.err) == (0, "")
    assert "keyword anchors" in ran.out and "questions a second" in ran.out
    found = json.loads(report.read_text())
    assert (found["turns"], found["queries"]) == (3, 2)
    assert {"analysis", "beam", "narrative", "all"} <= found["single"].keys()


def test_profile_of_invented_turns_is_kept_and_drawn(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("matplotlib")
    kept, picture = tmp_path / "kept", tmp_path / "latency.svg"
    asked = ("--synthetic", 40, "--queries", 3)
    ran = run("profile", kept, *asked, "--picture", picture, "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["turns"] == 40
    assert b"<svg" in picture.read_bytes()
    assert run("profile", kept, *asked).code == 0
    failed(run("profile", kept, "--synthetic", 80), 2, "80 turns", "got 40")


def test_profile_refuses(
    tmp_path: Path, store: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed(run("profile"), 2, "STORE or --synthetic")
    failed(run("profile", tmp_path / "none"), 2, "expected the directory of a memory")
    failed(run("profile", "--synthetic", 9, "--embedder", "hash"), 2, "--embedder")
    failed(run("profile", store, "--picture", tmp_path / "latency.pdf"), 2, ".png or .svg")
    pipe(monkeypatch, b"")
    assert run("add", tmp_path / "empty").code == 2  # a memory, without a turn
    failed(run("profile", tmp_path / "empty"), 2, "empty")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    failed(run("profile", store, "--picture", tmp_path / "l.png"), 2, "cuegraph[plots]")


# --- bench


def test_bench_targets_fails_where_one_does_not_hold(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    report = tmp_path / "targets.json"
    kept = ("--store", tmp_path / "kept")
    ran = run("bench", "targets", "--nodes", 40, *kept, "--json", report)
    assert (ran.code, ran.err) == (1, "")
    found = json.loads(report.read_text())
    assert not found["holds"]
    assert {row["holds"] for row in found["rows"] if "networkx" in row["name"]} == {False}
    assert "networkx is not installed" in ran.out
    failed(run("bench", "targets", "--nodes", 60, *kept), 2, "60 turns", "got 40")


def bench(*args: object) -> tuple[object, ...]:
    return ("bench", "locomo", "--embedder", "hash", *args)


def test_bench_locomo(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    data = locomo(tmp_path / "data.json", "conv-1", "conv-2")
    ran = run(*bench("--data", data, "--json", tmp_path / "report.json"))
    assert (ran.code, ran.err) == (0, "")
    assert "Evidence recall" in ran.out and "Latency" in ran.out
    assert (tmp_path / "caches" / "cuegraph" / "vectors.sqlite").is_file()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["categories"]["4"]["n"] == 2
    questions = (tmp_path / "report.questions.jsonl").read_text().splitlines()
    assert len(questions) == 2


def test_bench_locomo_json_alone(tmp_path: Path, run: Run) -> None:
    data = locomo(tmp_path / "data.json", "conv-1", "conv-2")
    cache = ("--cache", tmp_path / "new" / "cache.sqlite")
    ran = run(*bench("--data", data, *cache, "--json", "-"))
    assert json.loads(ran.out)["unit"] == "percent"
    ran = run(*bench("--data", data, *cache, "--ablate", "--json", "-"))
    assert (ran.code, ran.err) == (0, "")
    assert "full" in json.loads(ran.out)["rows"]
    ran = run(*bench("--data", data, *cache, "--leave-one-out", "--json", "-"))
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert set(found["choices"]) == {"conv-1", "conv-2"}
    assert len(found["grid"]) == 41


def test_bench_locomo_refuses(tmp_path: Path, run: Run) -> None:
    cache = ("--cache", tmp_path / "cache.sqlite")
    failed(run(*bench("--data", tmp_path / "none.json", *cache)), 2, "none.json")
    data = ("--data", locomo(tmp_path / "data.json", "conv-1"))
    failed(run(*bench(*data, *cache, "--ablate", "--corrections", "c.json")), 2, "--ablate")
    failed(run(*bench(*data, *cache, "--corrections", tmp_path / "c.json")), 2, "c.json")
    failed(run("bench"), 2, "BENCHMARK")
    (tmp_path / "cache.sqlite").write_text("not a database, and long enough to be looked at" * 9)
    failed(run(*bench(*data, *cache)), 2, "cache.sqlite")
