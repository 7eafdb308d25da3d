"""Sample requests: each call once, small, and never the same twice."""

from pathlib import Path

from cuegraph.llm.samples import sample_requests

PROMPTS = Path(__file__).parents[2] / "llm" / "prompts"


def test_each_call_has_a_sample() -> None:
    purposes = {path.stem for path in PROMPTS.glob("*.txt")} - {"common"}
    samples = sample_requests()
    assert samples.keys() == purposes
    assert all(request.purpose == purpose for purpose, request in samples.items())


def test_numbers_change_the_texts_and_nothing_else() -> None:
    seen: set[str] = set()
    first = sample_requests(0)
    for number in range(100):
        for purpose, request in sample_requests(number).items():
            system, user = request.messages
            assert system == first[purpose].messages[0]
            assert request.schema is first[purpose].schema
            seen.add(user.content)
    assert len(seen) == 100 * len(first)


def test_samples_are_small() -> None:
    sizes = [
        sum(len(message.content) for message in request.messages)
        for number in range(20)
        for request in sample_requests(number).values()
    ]
    assert max(sizes) < 3_000
