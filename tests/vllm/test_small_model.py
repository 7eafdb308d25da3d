"""A small real model behind vLLM: the plumbing, and no word about what it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cuegraph.llm.model import generate
from cuegraph.llm.vllm_engine import VllmConfig
from cuegraph.llm.vllm_model import VllmModel

from .models import NEEDS_VLLM
from .trials import failures, sample, samples, trial

pytestmark = NEEDS_VLLM
CALLS = 2


@pytest.fixture(scope="module")
def model(small_model: Path) -> Iterator[VllmModel]:
    with VllmModel(small_model, VllmConfig(max_model_len=3072)) as model:
        yield model


def test_every_reply_to_every_call_is_valid(model: VllmModel) -> None:
    replies = generate(model, samples(CALLS))
    assert failures(replies) == []
    assert sum(reply.cached_tokens for reply in replies) > 0


def test_the_same_batch_gives_the_same_replies(model: VllmModel) -> None:
    requests = [sample(p, n) for p in ("route", "select", "judge_strict") for n in range(4)]
    first, second = generate(model, requests), generate(model, requests)
    assert [reply.value for reply in first] == [reply.value for reply in second]


def test_what_it_says_without_the_constraint_is_decoded_or_typed(model: VllmModel) -> None:
    free = [trial(sample(p, max_tokens=64), constrained=False) for p in ("route", "judge_strict")]
    for reply in generate(model, free):
        assert (reply.value is None) == (reply.failure is not None)
        assert reply.failure is None or reply.failure.kind in ("invalid", "truncated")
