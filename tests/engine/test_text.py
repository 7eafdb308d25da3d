"""Words and index terms, worked out by hand."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuegraph.engine.text import STOP_WORDS, fold, stem, terms, words

LETTERS = st.text(
    st.characters(categories=["Ll", "Lu", "Nd"], exclude_characters="ﬀﬁﬂﬃﬄﬅﬆ"),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("Mira's boat", ["mira", "boat"]),
        ("Mira’s boat", ["mira", "boat"]),
        ("James' boat", ["james", "boat"]),
        ("O'Brien met O'Brien's son", ["obrien", "met", "obrien", "son"]),
        ("I didn't, we've, they're, she'll, he'd, I'm", "i didn we they she he i".split()),
        ("shouldn't've", ["shouldn"]),
        ("rock'n'roll at five o'clock", ["rocknroll", "at", "five", "oclock"]),
        ("'quoted' words", ["quoted", "words"]),
        ("ﬁnal ＡＢＣ １２", ["final", "abc", "12"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("snake_case, under__score", ["snake", "case", "under", "score"]),
        ("2024-05-24 10:00, 3.5", ["2024", "05", "24", "10", "00", "3", "5"]),
        ("😀🎉👩‍👩‍👧", []),
        ("😀word🎉", ["word"]),
        ("\ud800", []),
        ("a\udfffb", ["a", "b"]),
        ("Привет, мир", ["привет", "мир"]),
        ("我爱猫 and 猫", ["我爱猫", "and", "猫"]),
        ("iPhone手机abc", ["iphone", "手机", "abc"]),
        ("ﾈｺ", ["ネコ"]),
        ("한국어 말", ["한국어", "말"]),
        ("\u1112\u1161\u11ab", ["한"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert list(words(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("the of and", []),
        ("It's what I didn't do", []),
        ("Mira's been painting two boats", ["mira", "paint", "two", "boat"]),
        ("boats boat boating", ["boat", "boat", "boat"]),
        ("我爱猫", ["我", "爱", "猫", "我爱", "爱猫"]),
        ("ねこ", ["ね", "こ", "ねこ"]),
        ("猫", ["猫"]),
        ("한국어", ["한", "국", "어", "한국", "국어"]),
        ("猫cats猫", ["猫", "cat", "猫"]),
        ("𠮷野家", ["𠮷", "野", "家", "𠮷野", "野家"]),
        ("42 kg", ["42", "kg"]),
        ("😀", []),
        ("\ud83d", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "run", ["我昨天去了北京大学", "きのう東京タワーへ行った", "나는어제서울에갔다"]
)
def test_any_part_of_an_unspaced_run_finds_it(run: str) -> None:
    held = set(terms(run))
    parts = [run[i:j] for i in range(len(run)) for j in range(i + 1, len(run) + 1)]
    assert all(set(terms(part)) <= held for part in parts)


@given(LETTERS, st.sampled_from(["", "Before ", "so, ", "(", "1. "]))
def test_the_same_word_gives_the_same_terms_in_question_and_text(word: str, before: str) -> None:
    alone = terms(word)
    assert terms(f"{before}{word} after all?")[-len(alone) :] == alone or not alone
    assert terms(f"Which {word}?") == alone


@given(LETTERS)
def test_case_and_composition_do_not_matter(word: str) -> None:
    decomposed = unicodedata.normalize("NFD", word)
    assert terms(unicodedata.normalize("NFC", decomposed)) == terms(decomposed)
    assert fold(word.casefold()) == fold(fold(word))


@given(st.text(max_size=40))
def test_any_text_has_words_and_terms(text: str) -> None:
    said = list(words(text))
    assert all(said)
    assert not set(said) & set(" \n_")
    assert terms(text) == terms(text)


@pytest.mark.parametrize("word", sorted(STOP_WORDS))
def test_stop_words_are_words_as_they_come_out(word: str) -> None:
    assert list(words(word)) == [word]
    assert terms(word) == []


def test_stems_are_those_of_the_snowball_vocabulary() -> None:
    # From the sample vocabulary on the page of the Snowball English stemmer.
    sample = {"consign": "consign", "consigned": "consign", "consisting": "consist",
              "consolingly": "consol", "knightly": "knight", "knots": "knot"}  # fmt: skip
    assert {word: stem(word) for word in sample} == sample
