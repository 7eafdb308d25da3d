"""Embeddings from a model that vLLM runs (pooling)."""

import hashlib
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .backend import plain, unit_rows
from .spawning import at_exit, without_main
from .vllm_engine import VllmConfig, engine_options, find_weights, import_vllm, started

MAX_CHARS = 32_768
"""Longer texts are cut before the tokenizer sees them; it cuts the rest at `max_model_len`."""
BESIDE = VllmConfig(gpu_share=0.3)
"""Leaves room on the GPU for a language model with its own default share."""
SAMPLED_BYTES = 1 << 20


class VllmEmbedder:
    """A pooling model, loaded once: "vllm:FOLDER".

    model  as for `VllmModel`

    Passages and queries are embedded alike. A text's vector can differ in its last bits with the
    batch that it comes in, as floating-point sums on a GPU do. The name holds a digest of the
    folder, so that other weights are another embedder. The engine, a process of its own, ends with
    this one.

    ModelError where vLLM is not installed, there is no GPU for it or no such folder, or the model
    does not fit.
    """

    def __init__(self, model: str | Path, config: VllmConfig | None = None) -> None:
        weights, vllm = find_weights(model), import_vllm()
        self.name = f"vllm:{weights.name}:{_digest(weights.folder)}"

        def start() -> Any:
            options = engine_options(config or BESIDE, weights, vllm.is_cpu)
            with without_main():
                return vllm.LLM(runner="pooling", **options)

        self._llm: Any = started(weights, start)
        # An embedder has no close(): its engine goes when it does, or with this process.
        end = weakref.finalize(self, self._llm.llm_engine.engine_core.shutdown)
        end.atexit = False
        at_exit(end)
        self._lock = threading.Lock()  # vLLM's own loop is for one caller at a time
        self.dimension = len(self._embed(["dimension"])[0])

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that will be searched, float32 (n, dimension)."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        rows = np.array(self._embed([plain(text, MAX_CHARS) or " " for text in texts]))
        return unit_rows(rows, len(texts), self.dimension, self.name)

    def queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of texts that search: the same as `passages`."""
        return self.passages(texts)

    def _embed(self, texts: list[str]) -> list[list[float]]:
        with self._lock:
            cut = {"truncate_prompt_tokens": -1}  # at max_model_len
            found = self._llm.embed(texts, use_tqdm=False, tokenization_kwargs=cut)
        return [output.outputs.embedding for output in found]


def _digest(folder: Path) -> str:
    """Of each file the name, the size and the last MiB, where the weights of a fine-tune differ."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode())
            with path.open("rb") as file:
                file.seek(-min(size, SAMPLED_BYTES), os.SEEK_END)
                digest.update(file.read())
    return digest.hexdigest()[:12]
