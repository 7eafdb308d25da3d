"""Names in a text by rule: capitalised phrases, and the aliases that the text itself joins."""

import re
from collections.abc import Callable

from .text import STOP_WORDS, fold

# Capitals of Latin with all its marks, Greek, Cyrillic, Armenian and Georgian.
_UPPER = "A-Z" + "".join(c for c in map(chr, range(0x80, 0x2000)) if c.isupper())
_GAP = r"[^\S\n]{1,8}"  # no name runs over the end of a line
# "I" and its contractions are capitalised everywhere: never a name, never part of one. All lengths
# are bounded, so that a long run of capitals costs no more than its length.
_WORD = rf"(?<!\w)(?!I\b)[{_UPPER}](?:[\w'’&.-]{{0,40}}\w)?"
_PHRASE = re.compile(rf"{_WORD}(?:{_GAP}(?:(?:of|de|van|von|the){_GAP})?{_WORD}){{0,7}}")
_TITLE = "".join(rf"(?<!\b{title})" for title in ("Mr", "Ms", "Mrs", "Dr", "St", "Prof"))
_SENTENCE_START = re.compile(rf"(?:^|{_TITLE}\.|[!?…:;\n\"“(\[—-])\s*[\"'“(\[]*$")
_BEFORE = 12
"""Characters before a name that tell whether it begins a sentence."""
_NAME = rf"({_WORD}(?:{_GAP}{_WORD}){{0,4}})"
_JOINS = re.compile(r"known as|a\.?k\.?a|called|nicknamed|short|that is|which is|meaning|\(")
"""Each pattern of an alias holds one of these; most texts hold none."""
_BRACKETS = re.compile(rf"{_NAME}\s+\((?:the\s+)?{_NAME}\)")
_ALIASES = (
    # "Ana called Bob" is a telephone call.
    re.compile(
        rf"{_NAME}(?:,?\s+(?:also known as|a\.?k\.?a\.?|nicknamed)|(?:,|\s+is)\s+called)"
        rf"\s+{_NAME}"
    ),
    re.compile(rf"{_NAME},\s+(?:or\s+)?(?:just\s+)?{_NAME}\s+for short"),
    re.compile(rf"{_NAME},?\s+(?:that is|which is|meaning|short for)\s+(?:the\s+)?{_NAME}"),
    _BRACKETS,
)
# Capitalised by convention, and never a name on their own.
_NOT_NAMES = STOP_WORDS | frozenset(
    """
    absolutely anyway awesome aww btw bye congrats congratulations definitely dr hello hey hi
    last let lol maybe mr mrs ms next no nope now ok okay oh omg please since sorry sure thank
    thanks totally well wow yeah yep yes monday tuesday wednesday thursday friday saturday
    sunday january february march april may june july august september october november
    december
    """.split()
)


def normal(name: str) -> str:
    """Form in which names are compared: folded, inner white space single, no article, no ending."""
    words = re.sub(r"['’]s$", "", fold(name)).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def names(text: str, known: Callable[[str], bool]) -> list[str]:
    """Names said in `text` in order, as said, each once.

    Any word is capitalised where a sentence begins. There a single word is a name only if it is
    `known` from elsewhere, and of a phrase only the rest is, where the rest is known ("Bye Mira").
    """
    found: dict[str, str] = {}
    for match in _PHRASE.finditer(text):
        said = _strip(match.group())
        if match.group().startswith(said) and _begins_sentence(text, match.start()):
            first, _, rest = said.partition(" ")
            if rest and known(normal(rest)):
                said = rest
            elif not rest and not first.isupper() and not known(normal(first)):
                continue
        key = normal(said)
        if len(key) > 1 and key not in _NOT_NAMES:
            found.setdefault(key, said)
    return list(found.values())


def aliases(text: str) -> list[tuple[str, str]]:
    """Pairs of names that `text` itself says are the same, as said: `Theodora, Teddy for short`."""
    if not _JOINS.search(text):
        return []
    pairs = []
    for pattern in _ALIASES:
        for match in pattern.finditer(text):
            first, second = _strip(match.group(1)), _strip(match.group(2))
            if match.group(2).endswith(("'s", "’s")):  # "Rex, which is Mira's dog"
                continue
            if pattern is _BRACKETS and not _abbreviates(first, second):
                continue
            if normal(first) != normal(second) and _plausible(first) and _plausible(second):
                pairs.append((first, second))
    return pairs


def _abbreviates(first: str, second: str) -> bool:
    """Whether one of two names is made of the initials of the other: brackets hold much else."""
    initials = ["".join(word[0] for word in name.split()) for name in (first, second)]
    return second in initials[:1] or first in initials[1:]


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    if start > _BEFORE:
        before = "x" + before  # so that ^ is the start of the text and of nothing else
    return bool(_SENTENCE_START.search(before))


def _plausible(name: str) -> bool:
    return normal(name) not in _NOT_NAMES and len(name) > 1


def _strip(phrase: str) -> str:
    """Phrase without leading words that only stand capitalised at the start of a sentence."""
    words = re.sub(r"['’]s$", "", phrase.rstrip(".'’-")).split()
    while len(words) > 1 and fold(words[0]) in _NOT_NAMES:
        words.pop(0)
    return " ".join(words)
