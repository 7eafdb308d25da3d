"""Rules of the source that no other tool checks: who imports whom, and what no file may hold."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cuegraph

ROOT = Path(__file__).parents[2]
FOLDERS = ("api", "bench", "engine", "io", "kernels", "llm")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))

# Imports run one way: api -> engine -> {kernels, io, llm}. The command line starts `bench`.
MAY_IMPORT = {
    "api": {"api", "bench", "engine", "io", "kernels", "llm"},
    "bench": {"api", "bench", "io", "kernels"},
    "engine": {"engine", "io", "kernels", "llm"},
    "io": {"io"},
    "kernels": {"kernels"},
    "llm": {"io", "llm"},
}
# llvmlite is the compiler's half of numba: its intrinsics are written in it.
KERNEL_PACKAGES = {"llvmlite", "numba", "numpy"}
CALLS_THAT_RUN_TEXT = {"eval", "exec", "compile", "__import__"}

TEXT = {".cfg", ".json", ".jsonl", ".md", ".py", ".toml", ".txt", ".typed", ".yaml", ".yml"}
# In parts, so that this file keeps its own rules.
MACHINE_PATH = re.compile(r"(?<![\w.~*:/-])/(?:home|Users|root|work|tmp|mnt|data)" + r"/\w")
INDEX_HOST = re.compile("|".join(["pypi" + r"\.org", "python" + "hosted", "index" + "-url"]))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> Iterator[str]:
    """Absolute names of what a module imports, at its head or later; of each name a module too."""
    package = [
        "cuegraph",
        *(path.parent.relative_to(ROOT).parts if path.parent.name != "api" else []),
    ]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = [*base, *(node.module.split(".") if node.module else [])]
            yield from (".".join([*home, name.name]) for name in node.names)


def folder_of(name: str) -> str:
    """Folder that a name below `cuegraph` lives in."""
    part = name.split(".")[1] if "." in name else ""
    return part if part in FOLDERS else "api"


def own(path: Path) -> list[str]:
    return [name for name in imports(path) if name.split(".")[0] == "cuegraph"]


def others(path: Path) -> set[str]:
    """Packages from outside, the standard library left out."""
    tops = {name.split(".")[0] for name in imports(path)}
    return tops - {"cuegraph"} - set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_imports_run_one_way(path: Path) -> None:
    wrong = [name for name in own(path) if folder_of(name) not in MAY_IMPORT[path.parent.name]]
    assert wrong == []


@pytest.mark.parametrize("path", sorted((ROOT / "kernels").glob("*.py")), ids=shown)
def test_kernels_need_the_compiler_and_arrays_only(path: Path) -> None:
    assert others(path) <= KERNEL_PACKAGES


@pytest.mark.parametrize("path", sorted((ROOT / "bench").glob("*.py")), ids=shown)
def test_bench_uses_what_a_user_can(path: Path) -> None:
    beyond = [name for name in own(path) if not name.startswith("cuegraph.bench")]
    if path.name.startswith("bench_"):  # they measure kernels
        beyond = [name for name in beyond if not name.startswith("cuegraph.kernels.")]
    public = {f"cuegraph.{name}" for name in cuegraph.__all__}
    importers = {name for name in beyond if name.startswith("cuegraph.io.importers.")}
    assert set(beyond) - importers <= public


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_every_module_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text or ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_no_text_is_run_as_code(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {func.id for func in calls if isinstance(func, ast.Name)}
    assert called.isdisjoint(CALLS_THAT_RUN_TEXT)
    assert {name.split(".")[0] for name in imports(path)}.isdisjoint({"dill", "marshal", "pickle"})


def text_files() -> list[Path]:
    folders = [ROOT / folder for folder in (*FOLDERS, "tests", ".github")]
    below = [path for folder in folders for path in folder.rglob("*")]
    kept = [path for path in [*ROOT.glob("*"), *below] if path.is_file()]
    return sorted(
        path for path in kept if path.suffix in TEXT or path.name in {"Makefile", "LICENSE"}
    )


@pytest.mark.parametrize("path", text_files(), ids=shown)
def test_no_file_names_a_machine_or_a_package_index(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    assert MACHINE_PATH.findall(text) == []
    assert INDEX_HOST.findall(text) == []
