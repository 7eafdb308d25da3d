"""Evidence from what was found: the turns as they were kept, with the reasons for each."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..io.turn import TurnRecord
from ..kernels.ranking import places
from .anchors import Anchors
from .evidence import Evidence, Step, moment
from .ranking import PARTS, Ranked
from .schema import Kind, Relation
from .snapshot import Snapshot
from .tokens import TokenCounter
from .walk import Walk

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]

_TOGETHER = 64
"""Pieces whose turns are read together: more than most ask for, and few that no budget holds."""
_DIGITS = 6
_EPISODE = Kind.EPISODE.value
_KINDS = [kind.name.lower() for kind in Kind]
_RELATIONS = [relation.name for relation in Relation]


class Reader:
    """What nodes are called and what the episodes among them keep; `read` asks for many at once.

    called  stable id and label of each node: journal row and id of an episode, name of another
    turns   what each episode keeps
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.called: dict[int, tuple[str, str]] = {}
        self.turns: dict[int, TurnRecord] = {}

    def read(self, nodes: Iterable[int]) -> None:
        """Learn about those of some nodes that are new."""
        unknown = dict.fromkeys(node for node in nodes if node not in self.called)
        if not unknown:
            return
        new = np.array(list(unknown), np.int32)
        kinds = self._snapshot.nodes["kind"][new]
        episodes, others = new[kinds == _EPISODE], new[kinds != _EPISODE]
        seqs = self._snapshot.nodes["seq"][episodes].tolist()
        turns = self._snapshot.turns(episodes)
        for node, seq, turn in zip(episodes.tolist(), seqs, turns, strict=True):
            self.turns[node], self.called[node] = turn, (f"e{seq}", turn.id)
        for node in others.tolist():
            label = self._snapshot.graph.label(node)
            kind = _KINDS[self._snapshot.nodes["kind"][node]]
            self.called[node] = (f"{kind}:{label}", label)


class Explainer:
    """Makes evidence of the k best ranked episodes; keeps of what was found only what they need."""

    def __init__(self, ranked: Ranked, found: Anchors, walk: Walk, k: int, reader: Reader) -> None:
        nodes = ranked.nodes[:k]
        self._nodes = nodes.tolist()
        self._scores = _rounded(ranked.scores[:k])
        self._parts = _rounded(ranked.parts[ranked.place[:k]])
        self._arms = {name: places(arm, nodes).tolist() for name, arm in found.arms.items()}
        self._paths = _paths(walk, places(walk.rows, nodes))
        self._reader = reader

    def needed(self, start: int = 0) -> Iterator[int]:
        """Nodes that the pieces from rank `start` on speak of, of as many as are read together."""
        ranks = slice(start, start + _TOGETHER)
        yield from self._nodes[ranks]
        yield from (node for path in self._paths[ranks] for node, _ in path)

    def within(
        self, budget_tokens: int | None, counter: TokenCounter
    ) -> tuple[tuple[Evidence, ...], int, bool]:
        """Those that fit the token budget, their tokens, and whether the budget cut them."""
        evidence: list[Evidence] = []
        spent = 0
        for rank in range(len(self._nodes)):
            if rank % _TOGETHER == 0:
                self._reader.read(self.needed(rank))
            piece = self._evidence(rank)
            tokens = counter.count(piece.text)
            if budget_tokens is not None and spent + tokens > budget_tokens:
                return tuple(evidence), spent, True
            spent += tokens
            evidence.append(piece)
        return tuple(evidence), spent, False

    def _evidence(self, rank: int) -> Evidence:
        node, called = self._nodes[rank], self._reader.called
        turn, parts, arms = self._reader.turns[node], self._parts[rank], self._arms
        return Evidence(
            node=called[node][0],
            id=turn.id,
            session=turn.session,
            speaker=turn.speaker,
            role=turn.role,
            time=moment(turn.time_us, turn.utc_offset_min),
            text=turn.text,
            caption=turn.caption,
            source=turn.source,
            agent=turn.agent,
            score=self._scores[rank],
            parts={name: part for name, part in zip(PARTS, parts, strict=True) if part},
            arms={name: at[rank] + 1 for name, at in arms.items() if at[rank] >= 0},
            path=tuple(Step(relation, *called[step]) for step, relation in self._paths[rank]),
        )


def _paths(walk: Walk, reached: I32) -> list[list[tuple[int, str]]]:
    """Nodes and relations from an anchor to each place of the walk; [] for no place (-1).

    To an anchor that others support, the path leads from the anchor behind the support.
    """
    rows, parents = walk.rows.tolist(), walk.parent.tolist()
    relations, depths = walk.relation.tolist(), walk.depth.tolist()

    def path(place: int) -> list[tuple[int, str]]:
        steps: list[tuple[int, str]] = []
        while place >= 0:
            ends = parents[place] < 0 or (depths[place] == 0 and bool(steps))
            steps.append((rows[place], "anchor" if ends else _RELATIONS[relations[place]]))
            place = -1 if ends else parents[place]
        return steps[::-1]

    return [path(place) for place in reached.tolist()]


def _rounded(values: F32) -> list[Any]:
    """To six digits, as `round` does: a float32 times a million is exact in float64."""
    rounded: list[Any] = np.round(values.astype(np.float64), _DIGITS).tolist()
    return rounded
