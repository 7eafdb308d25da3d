"""Evidence from what was found: the turns as they were kept, with the reasons for each."""

import numpy as np
import numpy.typing as npt

from ..io.turn import TurnRecord
from .anchors import Anchors
from .evidence import Evidence, Step, moment
from .ranking import Ranked
from .schema import Kind, Relation
from .snapshot import Snapshot
from .tokens import TokenCounter
from .walk import Walk

I32 = npt.NDArray[np.int32]


class Explainer:
    """Makes evidence of ranked episodes; reads each kept turn once."""

    def __init__(self, ranked: Ranked, found: Anchors, walk: Walk, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._nodes = ranked.nodes.tolist()
        self._scores = ranked.scores.tolist()
        self._parts = {name: values.tolist() for name, values in ranked.parts.items()}
        self._arms = {name: _places(nodes) for name, nodes in found.arms.items()}
        self._walk = _places(walk.rows)
        self._rows, self._parents = walk.rows.tolist(), walk.parent.tolist()
        self._relations, self._depths = walk.relation.tolist(), walk.depth.tolist()
        self._turns: dict[int, TurnRecord] = {}

    def within(
        self, k: int, budget_tokens: int | None, counter: TokenCounter
    ) -> tuple[tuple[Evidence, ...], int, bool]:
        """The k best that fit the token budget, their tokens, and whether the budget cut them."""
        evidence: list[Evidence] = []
        spent = 0
        for place, node in enumerate(self._nodes[:k]):
            tokens = counter.count(self._turn(node).text)
            if budget_tokens is not None and spent + tokens > budget_tokens:
                return tuple(evidence), spent, True
            spent += tokens
            evidence.append(self._evidence(place, node))
        return tuple(evidence), spent, False

    def _evidence(self, place: int, node: int) -> Evidence:
        turn = self._turn(node)
        parts = {name: round(values[place], 6) for name, values in self._parts.items()}
        return Evidence(
            node=self._step(node, "").node,
            id=turn.id,
            session=turn.session,
            speaker=turn.speaker,
            role=turn.role,
            time=moment(turn.time_us, turn.utc_offset_min),
            text=turn.text,
            caption=turn.caption,
            source=turn.source,
            agent=turn.agent,
            score=round(self._scores[place], 6),
            parts={name: part for name, part in parts.items() if part},
            arms={name: at[node] + 1 for name, at in self._arms.items() if node in at},
            path=self._path(self._walk.get(node, -1)),
        )

    def _path(self, place: int) -> tuple[Step, ...]:
        """Steps from an anchor to a place of the walk; () for no place.

        To an anchor that others support, the path leads from the anchor behind the support.
        """
        steps: list[Step] = []
        while place >= 0:
            ends = self._parents[place] < 0 or (self._depths[place] == 0 and bool(steps))
            relation = "anchor" if ends else Relation(self._relations[place]).name
            steps.append(self._step(self._rows[place], relation))
            place = -1 if ends else self._parents[place]
        return tuple(reversed(steps))

    def _step(self, node: int, relation: str) -> Step:
        """A step to a node: an episode by its journal row and id, another node by its name."""
        kind = Kind(int(self._snapshot.nodes["kind"][node]))
        if kind == Kind.EPISODE:
            seq = int(self._snapshot.nodes["seq"][node])
            return Step(relation, f"e{seq}", self._turn(node).id)
        label = self._snapshot.graph.label(node)
        return Step(relation, f"{kind.name.lower()}:{label}", label)

    def _turn(self, node: int) -> TurnRecord:
        turn = self._turns.get(node)
        if turn is None:
            turn = self._turns[node] = self._snapshot.graph.turn(node)
        return turn


def _places(nodes: I32) -> dict[int, int]:
    """Place of each node, each of which stands there once."""
    return {node: place for place, node in enumerate(nodes.tolist())}
