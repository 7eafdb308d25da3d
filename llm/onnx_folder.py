"""Embedders from an ONNX file and a tokenizer file."""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ..io.errors import ModelError
from .backend import import_package, plain, unit_rows

EXTRA = "cuegraph[minilm]"
INPUTS: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids")
# Tokenizers read a text to its end before they cut it: 200,000 characters took 35 to 340 ms.
# No text that means anything says it in fewer than 512 tokens over this many characters.
MAX_CHARS = 16_384


class OnnxSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model wants its texts; as `cuegraph.json` in its folder, every field optional.

    query_prefix    put before texts that search, such as "query: "
    passage_prefix  put before texts that will be searched
    max_tokens      tokens read of a text, 2 up to what the model has positions for
    pooling         "mean" over the tokens, or "cls", the first token
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 256
    pooling: Literal["mean", "cls"] = "mean"


class OnnxEmbedder:
    """An encoder run by onnxruntime on the CPU.

    Each text is one run on one thread, and texts run side by side in a pool. So neither a text's
    neighbours nor the number of threads can change its bytes, whatever the model: dynamically
    quantised ones scale by the whole batch, others may add padding into their sums. Batches of 32
    over two threads were 1.2 times as fast with all-MiniLM-L6-v2. A first output of rank 3 is
    pooled over the tokens; one of rank 2 is taken as the vector.
    """

    def __init__(
        self, model: Path, tokenizer: Path, name: str, settings: OnnxSettings | None = None
    ) -> None:
        self.name = name
        self._settings = settings or OnnxSettings()
        self._session = _open_session(model)
        self._inputs = _input_types(self._session, model)
        self._tokenizer = _open_tokenizer(tokenizer, self._settings.max_tokens)
        self._pool = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="cuegraph-onnx")
        # Learned from a run: a model need not declare it.
        self.dimension = len(self._vector("dimension"))

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched, float32 (n, dimension)."""
        return self._embed(self._settings.passage_prefix, texts)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search, float32 (n, dimension)."""
        return self._embed(self._settings.query_prefix, texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = np.empty((len(texts), self.dimension), np.float32)
        prefixed = [prefix + plain(text, MAX_CHARS) for text in texts]
        for row, vector in zip(rows, self._pool.map(self._vector, prefixed), strict=True):
            row[:] = vector
        return unit_rows(rows, len(texts), self.dimension, self.name)

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        code = self._tokenizer.encode(text)
        values = dict(zip(INPUTS, (code.ids, code.attention_mask, code.type_ids), strict=True))
        feed = {name: np.array([values[name]], dtype) for name, dtype in self._inputs.items()}
        try:
            output = np.asarray(self._session.run(None, feed)[0])
        except Exception as error:  # onnxruntime's errors share no base class but this
            raise ModelError(f"{self.name}: expected a vector, got {error}") from error
        return self._pooled(output)

    def _pooled(self, output: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        if output.ndim == 2 and output.shape[0] == 1:
            return np.asarray(output[0], np.float32)
        if output.ndim != 3 or output.shape[0] != 1 or output.shape[1] == 0:
            raise ModelError(
                f"{self.name}: expected an output of shape (1, tokens, d) or (1, d), "
                f"got {output.shape}"
            )
        tokens = np.asarray(output[0], np.float32)
        # Nothing is padded, so the mask is all ones and the plain mean is the masked one.
        return tokens[0] if self._settings.pooling == "cls" else _mean(tokens)


def _mean(tokens: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    mean: npt.NDArray[np.float32] = tokens.mean(axis=0)
    return mean


def open_folder(folder: str | Path) -> OnnxEmbedder:
    """The embedder in a folder with `model.onnx`, `tokenizer.json` and maybe `cuegraph.json`.

    Its name carries a hash of these files, so that a changed model is another embedder. ModelError
    where a file is missing or cannot be used.
    """
    path = Path(folder)
    model, tokenizer = path / "model.onnx", path / "tokenizer.json"
    for file in (model, tokenizer):
        if not file.is_file():
            raise ModelError(f"expected the file {file.name} in {path}, got none")
    config = path / "cuegraph.json"
    settings = _read_settings(config)
    # A large model keeps its weights beside it, in model.onnx_data or model.onnx.data.
    files = [*sorted(path.glob("model.onnx*")), tokenizer, *([config] if config.exists() else [])]
    return OnnxEmbedder(model, tokenizer, f"onnx:{path.resolve().name}:{_hash(files)}", settings)


def _read_settings(config: Path) -> OnnxSettings:
    if not config.exists():
        return OnnxSettings()
    try:
        return msgspec.json.decode(config.read_bytes(), type=OnnxSettings)
    except (OSError, msgspec.DecodeError) as error:
        fields = ", ".join(OnnxSettings.__struct_fields__)
        raise ModelError(f"{config}: expected JSON with {fields}; got: {error}") from error


def _hash(files: Sequence[Path]) -> str:
    total = hashlib.blake2b(digest_size=8)
    for file in files:
        with file.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "blake2b").digest())
    return total.hexdigest()


def _open_session(model: Path) -> Any:
    runtime = import_package("onnxruntime", EXTRA)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base class but this
        raise ModelError(f"{model}: expected an ONNX model, got {error}") from error


def _input_types(session: Any, model: Path) -> dict[str, np.dtype[Any]]:
    types: dict[str, np.dtype[Any]] = {
        "tensor(int64)": np.dtype(np.int64),
        "tensor(int32)": np.dtype(np.int32),
    }
    declared = {node.name: node.type for node in session.get_inputs()}
    if "input_ids" not in declared or not set(declared) <= set(INPUTS):
        raise ModelError(f"{model}: expected inputs among {INPUTS}, got {tuple(declared)}")
    if not set(declared.values()) <= set(types):
        raise ModelError(f"{model}: expected inputs of {tuple(types)}, got {declared}")
    return {name: types[declared[name]] for name in INPUTS if name in declared}


def _open_tokenizer(file: Path, max_tokens: int) -> Any:
    package = import_package("tokenizers", EXTRA)
    try:
        tokenizer = package.Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens)
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelError(f"{file}: expected a tokenizer, got {error}") from error
    return tokenizer
