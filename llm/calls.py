"""The calls to a language model: one function each, from plain data to a request.

A call shows things under handles ("t1", "c2"), which its schema lists: the reply cannot name
another. A schema depends on how many there are and on nothing else, so that a server compiles each
once: 181 for the default number of moves (20 of `extract`, 24 of `topics`, 15 of `relate`, 40 each
of `select`, `route` and `answer`, one of `analyse`, one that both judges share).

Instructions, the same for all calls of a purpose, are the first message, the data are the second:
a server that keeps prefixes reads the instructions once. Data that grow from round to round stand
before those that change, so the same holds for what a round has in common with the one before.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ..io.errors import InputError
from .page import TEXT_CHARS, Call, Move, Page, Passage, clock
from .schemas import (
    Answer,
    Extraction,
    Links,
    Question,
    Routing,
    Selection,
    Topics,
    Verdict,
)

MOST_TURNS: Final = 20
MOST_EPISODES: Final = 24
MOST_EVENTS: Final = 16
MOST_CANDIDATES: Final = 40
"""Moves of `select`, candidates of `route`, pieces of evidence of `answer`."""
WINDOW_CHARS: Final = 4_000
"""Longest text of a turn in `extract`, some 1,000 tokens of English."""
MOST_CHOSEN: Final = 4
"""Moves that `select` takes at once: evidence saturates there (MRAgent)."""


def extract(
    turns: Sequence[Passage], before: Sequence[Passage] = (), *, text_chars: int = WINDOW_CHARS
) -> Call:
    """Episodes with tags and cues, facts and dates of a window of turns (MRAgent's build).

    turns   in order, the first 20 of them; with fewer turns the reply may hold less
    before  turns before the window, for what its pronouns refer to; the reply cannot cite them
    """
    page = Page("extract", text_chars)
    page.show("before", "b", before, MOST_TURNS)
    handles = page.offer("turns", "t", turns, MOST_TURNS)
    n = len(handles)
    most = {"episodes": -(-n // 2), "facts": -(-n // 2), "dates": -(-n // 4)}
    return page.call("write", Extraction, handles, most)


def topics(
    episodes: Sequence[Passage], *, cap: int = MOST_EPISODES, text_chars: int = TEXT_CHARS
) -> Call:
    """Groups of episodes about the same, each with a label (MRAgent's topic layer).

    episodes  best first, those beyond `cap` (1 to 24) are cut
    """
    page = Page("topics", text_chars)
    handles = page.offer("episodes", "e", episodes, _checked("cap", cap, MOST_EPISODES))
    return page.call("write", Topics, handles, {"topics": -(-len(handles) // 2)})


def relate(
    events: Sequence[Passage], *, cap: int = MOST_EVENTS, text_chars: int = TEXT_CHARS
) -> Call:
    """Causal and entity links among events (MAGMA, section 3: the slow path).

    events  two or more, best first, those beyond `cap` (2 to 16) are cut
    """
    page = Page("relate", text_chars)
    handles = page.offer("events", "e", events, _checked("cap", cap, MOST_EVENTS, 2), least=2)
    return page.call("write", Links, handles)


def analyse(question: str, asked: datetime | None = None) -> Call:
    """Intent, cues and window of a question (MRAgent, Algorithm 1: extract_cues; MAGMA's intent).

    asked  when, on the asker's clock: "last week" is meant from there
    """
    return _asking("analyse", question, asked).call("read", Question, {})


def select(
    question: str,
    moves: Sequence[Move],
    found: Sequence[Passage] = (),
    *,
    asked: datetime | None = None,
    most: int = MOST_CHOSEN,
    cap: int = MOST_CANDIDATES,
    text_chars: int = TEXT_CHARS,
) -> Call:
    """Operators and arguments for the next round (MRAgent, Algorithm 1).

    A = select(x, H, Z). A handle stands for an operator with its arguments, which go together: no
    reply can ask for a pair of cue and tag that the memory does not hold.

    moves  best first, those beyond `cap` (1 to 40) are cut, as are those about an episode that is
           not shown
    found  the evidence H, in the order in which it was found, the first 40 of it
    most   moves to make, 1 to 8

    >>> move = Move(id=0, operator="query_tag_events", cue="Mira", tag="winning a contest")
    >>> select("Who won?", [move]).request.schema.json["properties"]["moves"]["items"]["enum"]
    ['m1']
    """
    page = _asking("select", question, asked, text_chars)
    shown = page.show("found", "e", found, MOST_CANDIDATES)
    handles = page.moves(moves, {id: handle for handle, id in shown.items()}, _checked_cap(cap))
    return page.call("read", Selection, handles, {"moves": _checked("most", most, 8)})


def route(
    question: str,
    candidates: Sequence[Passage],
    found: Sequence[Passage] = (),
    *,
    asked: datetime | None = None,
    cap: int = MOST_CANDIDATES,
    text_chars: int = TEXT_CHARS,
) -> Call:
    """Which candidates become evidence, and whether it suffices then (MRAgent, Algorithm 1).

    Z = route(x, H, Z~), with the stop test in the same call.

    candidates  best first, those beyond `cap` (1 to 40) are cut
    found       the evidence H, in the order in which it was found, the first 40 of it

    >>> said = [Passage(id=7, text="Mira won."), Passage(id=9, text="It rained.")]
    >>> call = route("Who won?", said)
    >>> call.handles
    {'c1': 7, 'c2': 9}
    >>> print(call.request.messages[1].content)
    {
    "question": "Who won?",
    "found": {},
    "candidates": {
    "c1": {"text": "Mira won."},
    "c2": {"text": "It rained."}
    }
    }
    """
    page = _asking("route", question, asked, text_chars)
    page.show("found", "e", found, MOST_CANDIDATES)
    handles = page.offer("candidates", "c", candidates, _checked_cap(cap))
    return page.call("read", Routing, handles)


def answer(
    question: str,
    evidence: Sequence[Passage],
    *,
    asked: datetime | None = None,
    cap: int = MOST_CANDIDATES,
    text_chars: int = TEXT_CHARS,
) -> Call:
    """The answer with what it rests on, or that it is not known (MRAgent, Algorithm 1).

    evidence  in the order in which it is to be read, those beyond `cap` (1 to 40) are cut
    """
    page = _asking("answer", question, asked, text_chars)
    handles = page.offer("evidence", "e", evidence, _checked_cap(cap))
    return page.call("read", Answer, handles)


def judge(question: str, reference: str, given: str, *, strict: bool = True) -> Call:
    """Whether an answer matches the reference. For evaluation only.

    strict  the same facts and no others, or merely the reference among what is said
    """
    page = _asking("judge_strict" if strict else "judge_lenient", question, None)
    page.text("reference", reference)
    page.text("answer", given)
    return page.call("evaluate", Verdict, {})


def _asking(
    purpose: str, question: str, asked: datetime | None, text_chars: int = TEXT_CHARS
) -> Page:
    """A page that begins with a question."""
    page = Page(purpose, text_chars)
    page.text("question", question)
    if asked is not None:
        page.text("asked", clock(asked))
    return page


def _checked_cap(cap: int) -> int:
    return _checked("cap", cap, MOST_CANDIDATES)


def _checked(name: str, value: int, most: int, least: int = 1) -> int:
    if not least <= value <= most:
        raise InputError(f"{name}: expected {least} to {most}, got {value}")
    return value
