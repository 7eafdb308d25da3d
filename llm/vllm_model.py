"""A language model served by vLLM beside this process, on a GPU or on the CPU."""

from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from ..io.errors import ModelError
from .chat_template import ChatTemplate
from .decoding import decode
from .model import Message, Reply, Request, failed
from .request_loop import RequestLoop
from .spawning import at_exit, without_main
from .vllm_engine import VllmConfig, engine_options, find_weights, import_vllm, started

# A process that has loaded torch takes seconds to leave where others want the processor, too.
LEAVE_S = 20.0
MESSAGE_CHARS = 400


class Trial(Request, frozen=True, kw_only=True):
    """A request by which to measure what vLLM adds; other back ends take it for a plain one.

    constrained      False = the schema stands in the first message, nothing holds the reply to it
    reuses_prefixes  False = the whole prompt is computed, whatever was seen before
    """

    constrained: bool = True
    reuses_prefixes: bool = True


class VllmModel:
    """A model, loaded once, behind vLLM's asynchronous engine.

    model   a folder in Hugging Face's form, or a name that was fetched before: nothing is fetched
    config  how vLLM runs it

    Replies are held to their schemas token by token (xgrammar), pending requests share batches, and
    a prompt's beginning that was seen before is not computed again. At temperature 0 the same batch
    gives the same replies. The engine is a process of its own, so that its work and this process's
    do not wait for each other; it ends with `close`, or with this process.

    ModelError where vLLM is not installed, there is no GPU for it or no such folder, the model does
    not fit, or it has no chat template.
    """

    def __init__(self, model: str | Path, config: VllmConfig | None = None) -> None:
        self._config = config or VllmConfig()
        self._weights = find_weights(model)
        self._vllm = import_vllm()
        tokenizer = started(self._weights, lambda: self._vllm.get_tokenizer(self._weights.folder))
        self._template = ChatTemplate(tokenizer, self.name)
        self._numbers = count()
        self._engine: Any = None
        # vLLM has a queue of its own; its places are counted here, where `submit` can wait.
        self._loop = RequestLoop(
            self.name,
            self._answer,
            concurrency=self._config.max_num_seqs,
            waiting=self._config.waiting,
        )
        try:
            self._engine = started(self._weights, lambda: self._loop.run(self._start()))
        except ModelError:
            self.close()
            raise
        at_exit(self.close)
        self._context = int(self._engine.model_config.max_model_len)

    @property
    def name(self) -> str:
        """The folder's name, or the name that it was found by."""
        return f"vllm:{self._weights.name}"

    @property
    def constrained(self) -> bool:
        """Whether replies are held to their schemas: always."""
        return True

    def submit(self, request: Request) -> Future[Reply]:
        """The reply to come."""
        return self._loop.submit(request)

    def close(self) -> None:
        """Answer what is pending with "unavailable" and end the engine. Repeatable."""
        self._loop.close(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _start(self) -> Any:
        options = engine_options(self._config, self._weights, self._vllm.is_cpu)
        arguments = self._vllm.AsyncEngineArgs(
            **options,
            enable_log_requests=False,
            structured_outputs_config={
                "backend": "xgrammar",
                # Or a small model fills its limit with blanks.
                "disable_any_whitespace": True,
            },
        )
        with without_main():
            return self._vllm.AsyncLLM.from_engine_args(arguments)

    async def _end(self) -> None:
        if self._engine is not None:
            self._engine.shutdown(timeout=LEAVE_S)

    async def _answer(self, request: Request, deadline: float) -> Reply:
        trial = request if isinstance(request, Trial) else Trial(**_fields(request))
        prompt = self._template.tokens(_messages(trial))
        room = self._context - len(prompt)
        if room < 1:
            got = f"{len(prompt)} of {self._context}"
            return failed("refused", f"{self.name}: expected a prompt that fits, got {got} tokens")
        number = f"cuegraph-{next(self._numbers)}"
        salt = None if trial.reuses_prefixes else number
        tokens = self._vllm.tokens_input(prompt, cache_salt=salt)
        try:
            parameters = self._parameters(trial, room)
            outputs = [out async for out in self._engine.generate(tokens, parameters, number)]
        except (ValueError, self._vllm.RefusedError) as error:  # such as another schema language
            got = str(error)[:MESSAGE_CHARS]
            return failed("refused", f"{self.name}: expected a request that it takes, got {got}")
        return self._reply(request, outputs[-1])

    def _parameters(self, trial: Trial, room: int) -> Any:
        form = self._vllm.StructuredOutputsParams(json=trial.schema.json)
        return self._vllm.SamplingParams(
            temperature=trial.temperature,
            seed=trial.seed,
            max_tokens=min(trial.max_tokens, room),
            structured_outputs=form if trial.constrained else None,
            output_kind=self._vllm.RequestOutputKind.FINAL_ONLY,
        )

    def _reply(self, request: Request, output: Any) -> Reply:
        said = output.outputs[0]
        costs = {
            "prompt_tokens": len(output.prompt_token_ids or ()),
            "cached_tokens": output.num_cached_tokens or 0,
            "completion_tokens": len(said.token_ids),
        }
        if said.finish_reason == "stop":
            decoded = decode(said.text, request.schema)
            return Reply(decoded.value, decoded.failure, **costs)
        if said.finish_reason == "length":
            got = f"none in {len(said.token_ids)} tokens"
            reply = failed("truncated", f"{self.name}: expected an end, got {got}", said.text)
        else:
            got = str(said.finish_reason)
            reply = failed("unavailable", f"{self.name}: expected an end, got {got}", said.text)
        return replace(reply, **costs)


def _fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__struct_fields__}


def _messages(trial: Trial) -> tuple[Message, ...]:
    """What the model is to read: without a constraint, the schema too."""
    if trial.constrained:
        return trial.messages
    first, *others = trial.messages
    written = msgspec.json.encode(trial.schema.json).decode()
    asked = f"{first.content}\n\nReply with JSON alone, by this JSON schema:\n{written}"
    return (replace(first, content=asked), *others)
