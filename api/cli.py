"""The command line: what `cuegraph` understands, and what its exit codes mean.

What the commands do is in `commands`, which is imported when one runs: `--help` is at once.
"""

# ruff: noqa: PLC0415  (see above)

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["Parser"]

EXIT_CODES = """\
exit codes:
  0    done
  1    done in part: what was not kept is listed with the reason
  2    bad usage, bad input, or a memory that cannot be used
  3    the model or embedder failed
  130  interrupted
"""
EMBEDDER = """\
model behind the vectors: "e5" (the default), "minilm", "hash", "onnx:FOLDER" or \
"http://HOST:PORT/v1#MODEL"; a memory is opened with the one it was made with"""
CACHE = """\
vectors embedded before (default: cuegraph/vectors.sqlite where the user's caches are)"""
JSON = """\
also write the result to FILE, as JSON; "-" writes it to standard output, and nothing else"""


class UsageError(Exception):
    """The command line cannot be understood."""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code of one run of the command line; see `EXIT_CODES`."""
    try:
        return _run(argv)
    except BrokenPipeError:
        # Who read our output has seen enough; what is left of it must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except (UsageError, OSError) as error:
        return _failed(str(error), 2)
    except Exception as error:
        from .io.errors import CuegraphError, ModelError

        if not isinstance(error, CuegraphError):
            raise  # a fault of ours, which its traceback helps to find
        return _failed(str(error), 3 if isinstance(error, ModelError) else 2)


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = _parsed(argv)
        code: int = args.run(args)
        return code
    finally:
        sys.stdout.flush()  # a reader that is gone is found out here, after --help, too


def _failed(reason: str, code: int) -> int:
    from .render import plain

    print(f"cuegraph: {plain(reason)}", file=sys.stderr)
    return code


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    args, left = parser.parse_known_args(argv)
    # argparse up to 3.12 takes `STORE --zone UTC FILE` for a store without files, and a rest.
    if left and ("rest" not in args or any(part[:1] == "-" and part != "-" for part in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if left:
        args.rest += left
    return args


class Parser(argparse.ArgumentParser):
    """A parser that complains as the rest of the program does, and keeps the lines of examples."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options
        )

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{message}; see {self.prog} --help")


class _Version(argparse.Action):
    """Looks the version up only where it is asked for: that takes longer than all of --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"cuegraph {version('cuegraph')}")
        parser.exit()


def _parser() -> Parser:
    parser = Parser(
        prog="cuegraph",
        description="A graph memory for LLM agents: keeps the turns of conversations, and finds\n"
        "those that answer a question, each with the reasons why it is there.",
        epilog=f"example:\n  cuegraph demo\n\n{EXIT_CODES}",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, title="commands", metavar="COMMAND")
    for declare in (
        *(_declare_add, _declare_recall, _declare_stats, _declare_demo),
        *(_declare_profile, _declare_model, _declare_bench),
    ):
        declare(commands)
    return parser


def _declare_add(commands: "Commands") -> None:
    parser = _command(
        commands,
        "add",
        "add",
        "keep turns in a memory, which is made where there is none",
        "  cuegraph add ./mia chat.jsonl\n"
        '  echo \'{"text": "I moved to Lisbon.", "speaker": "Mia"}\' | cuegraph add ./mia -\n\n'
        "A line of JSONL holds text and, where known, id, session, speaker, role, time, source,\n"
        "agent and caption. Adding the same turn again changes nothing.",
    )
    parser.add_argument("store", metavar="STORE", help="directory of the memory")
    files = 'JSONL, a turn a line, or a LoCoMo file; "-" or none: JSONL from standard input'
    parser.add_argument("rest", metavar="FILE", nargs="*", help=files)
    parser.add_argument("--conversation", metavar="ID", help="which one of a LoCoMo file")
    parser.add_argument("--zone", help='where times without offset were said, as "Europe/Rome"')
    _output_options(parser)


def _declare_recall(commands: "Commands") -> None:
    parser = _command(
        commands,
        "recall",
        "recall",
        "find the turns that may answer a question",
        '  cuegraph recall ./mia "Where does Mia live?" -k 5 --narrate 300\n\n'
        'Quote each QUERY. Times are ISO 8601, as "2024-05-01" or "2024-05-01T10:00+02:00";\n'
        "without an offset they are UTC.",
    )
    parser.add_argument("store", metavar="STORE", help="directory of the memory, only read")
    parser.add_argument("rest", metavar="QUERY", nargs="+", help="a question")
    parser.add_argument("-k", type=_count, default=10, help="turns at most (default: 10)")
    tokens = "tokens of their texts at most"
    parser.add_argument("--budget-tokens", type=_count, metavar="N", help=tokens)
    deadline = "milliseconds after which the walk through the graph is left out"
    parser.add_argument("--deadline-ms", type=_duration, metavar="N", help=deadline)
    parser.add_argument("--after", metavar="TIME", help="only turns said then or later")
    parser.add_argument("--before", metavar="TIME", help="only turns said earlier")
    parser.add_argument("--speaker", metavar="NAME", help="only turns of this speaker")
    asked = 'when it is asked, from which "last week" is read (default: as the newest turn)'
    parser.add_argument("--asked", metavar="TIME", help=asked)
    narrate = "also the text for a model's context, of TOKENS at most (default: 1000)"
    parser.add_argument(
        "--narrate", type=_count, nargs="?", const=1000, metavar="TOKENS", help=narrate
    )
    _output_options(parser)


def _declare_stats(commands: "Commands") -> None:
    example = "  cuegraph stats ./mia --json -"
    parser = _command(commands, "stats", "stats", "count what a memory holds", example)
    parser.add_argument("store", metavar="STORE", help="directory of the memory, only read")
    _output_options(parser)


def _declare_demo(commands: "Commands") -> None:
    parser = _command(
        commands,
        "demo",
        "demo",
        "keep a sample conversation, ask it questions and show why they are answered as they are",
        "  cuegraph demo --store ./sample",
    )
    store = "directory to keep it in (default: a temporary one, removed at the end)"
    parser.add_argument("--store", metavar="DIR", help=store)
    parser.add_argument("--embedder", metavar="NAME", help=EMBEDDER)


def _declare_profile(commands: "Commands") -> None:
    parser = _command(
        commands,
        "profile",
        "profile",
        "measure where the time of a recall goes, stage by stage",
        "  cuegraph profile ./mia --picture latency.svg\n"
        "  cuegraph profile --synthetic 10000\n\n"
        "Questions are the first words of turns of STORE. With --synthetic the memory is made for\n"
        "it, of N invented turns, and kept in STORE where that is given.",
    )
    store = "directory of the memory, only read"
    parser.add_argument("store", metavar="STORE", nargs="?", help=store)
    parser.add_argument("--synthetic", type=_count, metavar="N", help="turns to invent")
    queries = "questions to ask (default: 200)"
    parser.add_argument("--queries", type=_count, default=200, metavar="M", help=queries)
    picture = "also draw it to FILE, .png or .svg (extra `plots`)"
    parser.add_argument("--picture", type=_target, metavar="FILE", help=picture)
    _output_options(parser)


def _declare_model(commands: "Commands") -> None:
    summary = "try language models"
    parser = commands.add_parser(
        "model",
        help=summary,
        description=f"{summary}.",
        epilog="example:\n  cuegraph model check --model ./SmolLM2-135M-Instruct",
    )
    _declare_check(parser.add_subparsers(required=True, title="commands", metavar="COMMAND"))


def _declare_check(commands: "Commands") -> None:
    parser = _command(
        commands,
        "check",
        "model_check",
        "send a model a few calls of each kind and measure its speed; the exit code is 0 only if\n"
        "it keeps to schemas and every reply is valid",
        "  cuegraph model check --model ./SmolLM2-135M-Instruct\n"
        "  cuegraph model check --endpoint http://127.0.0.1:8000/v1 --calls 16\n\n"
        "What replies say is not judged. The key of an endpoint is read from CUEGRAPH_API_KEY.",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    model = "folder of a model, or a name that was fetched before; vLLM runs it (extra `vllm`)"
    where.add_argument("--model", metavar="PATH", help=model)
    where.add_argument("--endpoint", metavar="URL", help="an OpenAI-compatible server")
    name = "what the server calls the model (default: the first that it lists)"
    parser.add_argument("--name", metavar="NAME", help=name)
    calls = "calls of each kind (default: 4)"
    parser.add_argument("--calls", type=_count, default=4, metavar="N", help=calls)
    batches = "requests at a time, for the speed (default: 1,16,64)"
    parser.add_argument("--batches", type=_sizes, metavar="N,N", help=batches)
    parser.add_argument("--json", type=_target, metavar="FILE", help=JSON)


def _declare_bench(commands: "Commands") -> None:
    """Further benchmarks are declared beside the first, each in a function of its own."""
    summary = "measure on data sets"
    parser = commands.add_parser(
        "bench",
        help=summary,
        description=f"{summary}.",
        epilog="example:\n  cuegraph bench locomo --data locomo10.json",
    )
    benches = parser.add_subparsers(required=True, title="benchmarks", metavar="BENCHMARK")
    for declare in (_declare_locomo, _declare_scale, _declare_targets):
        declare(benches)


def _declare_locomo(benches: "Commands") -> None:
    parser = _command(
        benches,
        "locomo",
        "bench_locomo",
        "measure how much of the evidence of LoCoMo's questions is found, and how fast",
        "  cuegraph bench locomo --data locomo10.json --json report.json\n\n"
        "With --json FILE, a line a question is written beside it, as report.questions.jsonl.",
    )
    parser.add_argument("--data", required=True, type=Path, metavar="FILE", help="the data set")
    instead = parser.add_mutually_exclusive_group()
    ablate = "measure instead what each part of the read path adds"
    instead.add_argument("--ablate", action="store_true", help=ablate)
    leave = "measure instead weights that were chosen without the conversation they are measured on"
    instead.add_argument("--leave-one-out", action="store_true", help=leave)
    corrections = "corrected evidence; its figures stand beside the others"
    parser.add_argument("--corrections", type=Path, metavar="FILE", help=corrections)
    parser.add_argument("--cache", type=Path, metavar="FILE", help=CACHE)
    _output_options(parser)


def _declare_scale(benches: "Commands") -> None:
    parser = _command(
        benches,
        "scale",
        "bench_scale",
        "measure LoCoMo in one memory with many turns that resemble the evidence",
        "  cuegraph bench scale --data locomo10.json --sizes 0,10000",
    )
    parser.add_argument("--data", required=True, type=Path, metavar="FILE", help="the data set")
    sizes = "numbers of distractor turns (default: 0,10000,100000)"
    parser.add_argument("--sizes", type=_sizes, metavar="N,N", help=sizes)
    embed = "embed all distractors, which takes an hour, instead of deriving their vectors"
    parser.add_argument("--embed", action="store_true", help=embed)
    parser.add_argument("--cache", type=Path, metavar="FILE", help=CACHE)
    _output_options(parser)


def _declare_targets(benches: "Commands") -> None:
    parser = _command(
        benches,
        "targets",
        "bench_targets",
        "measure every target of performance; the exit code is 0 only if all hold",
        "  cuegraph bench targets --nodes 100000 --store ./synthetic-1e5\n\n"
        "Sizes above N are measured at N.",
    )
    nodes = "turns of the invented memory (default: 1000000)"
    parser.add_argument("--nodes", type=_count, default=1_000_000, metavar="N", help=nodes)
    store = "directory to keep that memory in for the next run (default: a temporary one)"
    parser.add_argument("--store", type=Path, metavar="DIR", help=store)
    parser.add_argument("--json", type=_target, metavar="FILE", help=JSON)


def _command(commands: "Commands", name: str, function: str, summary: str, example: str) -> Parser:
    """A command that is done by a function of `commands`."""

    def run(args: argparse.Namespace) -> int:
        from . import commands as bodies

        code: int = getattr(bodies, function)(args)
        return code

    parser = commands.add_parser(
        name, help=summary, description=f"{summary}.", epilog=f"example:\n{example}"
    )
    parser.set_defaults(run=run)
    return parser


def _output_options(parser: Parser) -> None:
    parser.add_argument("--embedder", metavar="NAME", help=EMBEDDER)
    parser.add_argument("--json", type=_target, metavar="FILE", help=JSON)


def _count(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {word!r}")
    return int(word)


def _sizes(word: str) -> list[int]:
    sizes = [int(part) for part in word.split(",") if part.isdecimal()]
    if len(set(sizes)) < len(word.split(",")):
        raise argparse.ArgumentTypeError(f"expected different whole numbers, got {word!r}")
    return sizes


def _duration(word: str) -> float:
    try:
        duration = float(word)
    except ValueError:
        duration = -1.0
    if not 0 <= duration < float("inf"):
        raise argparse.ArgumentTypeError(f"expected milliseconds from 0, got {word!r}")
    return duration


def _target(name: str) -> str:
    """The name of a file that can be written, found out before the work and not after it."""
    path = Path(name).absolute()
    if name != "-" and (path.is_dir() or not os.access(path.parent, os.W_OK)):
        raise argparse.ArgumentTypeError(f"expected a file in a writable folder, got {name!r}")
    return name
