"""Names and aliases read from texts, worked out by hand."""

import pytest

from cuegraph.engine.entities import aliases, names, normal


def nobody(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("nothing capitalised here", []),
        ("we met Mira", ["Mira"]),
        ("we met Mira's sister", ["Mira"]),
        ("we met Mira’s sister", ["Mira"]),
        ("we met Mira. Then we left", ["Mira"]),
        ("we met Mira, Mira and MIRA", ["Mira"]),
        # A single word at the start of a sentence is capitalised anyhow.
        ("Painting is fun", []),
        ("so? Painting is fun", []),
        ("so:\nPainting is fun", []),
        ('she said "Painting is fun"', []),
        ("Mira Haddad came", ["Mira Haddad"]),
        # ... unless it is an acronym, or only stands there as a greeting.
        ("NASA called", ["NASA"]),
        ("Bye Mira", ["Mira"]),
        ("Thanks, Mira!", ["Mira"]),
        ("Wow Mira", ["Mira"]),
        ("I'm here and I'll go, I think", []),
        ("then I met Mira and I said so", ["Mira"]),
        ("I Mira", ["Mira"]),
        ("on Monday in May", []),
        ("Last Friday we met Teo", ["Teo"]),
        ("I met Mr. Smith and Dr. Alvarez", ["Smith", "Alvarez"]),
        ("I met Mrs Smith", ["Smith"]),
        ("at St. Mary", ["St", "Mary"]),
        ("at the University of Ghent", ["University of Ghent"]),
        ("met Ludwig van Beethoven", ["Ludwig van Beethoven"]),
        ("saw Jan de Wit, Pim the Cat", ["Jan de Wit", "Pim the Cat"]),
        ("met Anne-Marie O'Brien at A&E", ["Anne-Marie O'Brien", "A&E"]),
        ("lived in the U.S. for years", ["U.S"]),
        ("met Émile, Łukasz and Šárka", ["Émile", "Łukasz", "Šárka"]),
        ("in Москва with Ёлка and Ελένη", ["Москва", "Ёлка", "Ελένη"]),
        ("went to Đà Nẵng", ["Đà Nẵng"]),
        ("we met Mira\nTwo dogs on grass", ["Mira"]),
        ("我爱猫", []),
        ("see plan B", []),
    ],
)  # fmt: skip
def test_names_that_nobody_knows_yet(text: str, expected: list[str]) -> None:
    assert names(text, nobody) == expected


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("Mira came", {"mira"}, ["Mira"]),
        ("Painting Mira was fun", {"mira"}, ["Mira"]),
        ("Painting Mira was fun", set(), ["Painting Mira"]),
        ("Mira Haddad came", {"haddad"}, ["Haddad"]),
        ("Hello", {"hello"}, []),
        ("Rose is here", {"rose"}, ["Rose"]),
    ],
)
def test_names_known_from_elsewhere(text: str, known: set[str], expected: list[str]) -> None:
    assert names(text, known.__contains__) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Mira", "mira"),
        ("Mira's", "mira"),
        ("The  Hague", "hague"),
        ("The", "the"),
        ("New\n York", "new york"),
        ("ＭＩＲＡ", "mira"),
        ("O'Brien’s", "o'brien"),
        ("", ""),
    ],
)
def test_normal(name: str, expected: str) -> None:
    assert normal(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This is Theodora, Teddy for short.", [("Theodora", "Teddy")]),
        ("my boss Theodora, or just Teddy for short", [("Theodora", "Teddy")]),
        ("I love NYC, that is New York City", [("NYC", "New York City")]),
        ("use SEBA (Scheldt Estuary Bird Atlas)", [("SEBA", "Scheldt Estuary Bird Atlas")]),
        ("in Den Haag, which is the Hague", [("Den Haag", "Hague")]),
        ("Robert, also known as Bob, came", [("Robert", "Bob")]),
        ("Robert aka Bob", [("Robert", "Bob")]),
        ("Robert a.k.a. Bob", [("Robert", "Bob")]),
        ("Robert, nicknamed Bob", [("Robert", "Bob")]),
        ("my cat, Mister, called Mimi", [("Mister", "Mimi")]),
        ("Robert is called Bob", [("Robert", "Bob")]),
        ("Beth is short for Elisabeth", []),  # "is" stands between the names
        ("Beth, short for Elisabeth", [("Beth", "Elisabeth")]),
        ("Mira, also known as Mira", []),
        # What merely stands side by side, or is alike, is not the same.
        ("Task 5 and Task 6 are done, so is Task 7", []),
        ("Mira, Teo and Noor", []),
        ("Mira and Miranda", []),
        ("Ana called Bob", []),
        ("Then Ana called Bob back", []),
        ("I walked Rex, which is Mira's dog", []),
        ("Mira (my sister) came", []),
        ("Mira (Monday) came", []),
        ("", []),
    ],
)  # fmt: skip
def test_aliases_are_only_what_the_text_joins(text: str, expected: list[tuple[str, str]]) -> None:
    assert aliases(text) == expected
