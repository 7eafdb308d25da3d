"""Counting tokens, by hand: a word counts one for every six letters begun."""

import pytest

from cuegraph.engine.tokens import WordCounter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        (" \n\t", 0),
        ("a", 1),
        ("sixsix", 1),
        ("sevense", 2),
        ("twelvetwelve", 2),
        ("thirteenthirt", 3),
        ("Mira paints boats, extraordinarily well.", 1 + 1 + 1 + 1 + 3 + 1 + 1),
        ("don't", 3),
        ("snake_case", 3),
        ("...", 3),
        ("12345678", 2),
        ("我爱猫", 3),
        ("猫。", 2),
        ("iPhone手机很好用", 1 + 5),
        ("𠮷野家", 3),
        ("한국어", 3),
        ("😀😀", 2),
        ("<memory>", 3),
        ("\ud800", 1),
    ],
)
def test_count(text: str, expected: int) -> None:
    assert WordCounter().count(text) == expected


def test_tokens_of_a_whole_are_those_of_its_parts() -> None:
    count = WordCounter().count
    parts = ["Mira's boat", "我爱猫", "extraordinarily well.", ""]
    assert count("\n".join(parts)) == sum(map(count, parts))


@pytest.mark.parametrize("text", ["a\x1c_b1", "ten-letter words, 12345678!", "\x7f\x00~", "__x__"])
def test_ascii_counts_as_any_other_text(text: str) -> None:
    count = WordCounter().count
    assert count(text) == count(text + "猫") - 1
