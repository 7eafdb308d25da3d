"""Settings of the engine, one frozen Struct per component; the defaults are what is measured."""

import msgspec

from .schema import Relation

Intents = dict[str, dict[str, float]]

_PHI: Intents = {
    "why": {"CAUSES": 3.0, "FOLLOWS": 1.0, "SIMILAR": -1.0, "MENTIONS": 0.0, "CUES": 1.0},
    "when": {"CAUSES": 0.0, "FOLLOWS": 1.0, "SIMILAR": -1.0, "MENTIONS": 1.0, "CUES": 1.0},
    "entity": {"CAUSES": 0.0, "FOLLOWS": 0.0, "SIMILAR": -1.0, "MENTIONS": 1.0, "CUES": 1.0},
    "open": {"CAUSES": 0.0, "FOLLOWS": 0.0, "SIMILAR": -1.0, "MENTIONS": 0.0, "CUES": 1.0},
}


class GraphConfig(msgspec.Struct, frozen=True):
    """How the fast path builds the graph.

    cues_per_episode  rule-made keyword cues of one episode, its rarest terms; 0 to 64
    cue_limit         turns that hold a term beyond which it makes no more cues: its cue is a hub,
                      which the walk passes over (see `BeamConfig.hub_limit`); 0 or more
    cue               weight of a CUES edge; 0 to 1
    mention           weight of a MENTIONS edge; 0 to 1
    across_sessions   weight of a FOLLOWS edge from one session to the next; 0 to 1
    similar           SIMILAR edges made for a new episode, to its nearest earlier ones; 0 to 64
    similar_floor     least similarity of a SIMILAR edge, on the embedder's scale from the cosine
                      of unrelated texts (0) to the same text (1)
    """

    cues_per_episode: int = 24
    cue_limit: int = 160
    cue: float = 1.0
    mention: float = 1.0
    across_sessions: float = 0.5
    similar: int = 3
    similar_floor: float = 0.3


class AnchorConfig(msgspec.Struct, frozen=True):
    """How anchors are found and fused.

    per_arm         candidates that each arm names; 1 to 10,000
    rrf_k           constant of reciprocal rank fusion; above 0
    discount        whether arms that name the same episodes count less (see `kernels.rrf`)
    keyword, vector, time, cue   weights of the arms in the fusion; 0 switches an arm off
    from_previous   weight of a term of the turn before in the keyword arm; 0 to 1
    from_following  weight of a term of the turn after; 0 to 1
    """

    per_arm: int = 100
    rrf_k: float = 60.0
    discount: bool = False
    keyword: float = 1.0
    vector: float = 1.0
    time: float = 0.5
    cue: float = 0.0
    from_previous: float = 0.7
    from_following: float = 0.3


class BeamConfig(msgspec.Struct, frozen=True):
    """The walk from the anchors (MAGMA, section 3.3).

    seeds       best anchors that the walk starts from; 1 to budget
    width       nodes kept a step; 1 to budget
    depth       steps; 0 to 10
    budget      nodes kept in all
    gamma       decay of the score of the node before; 0 to 1
    structure   weight l1 of how well a relation fits the intent; 0 or more
    semantics   weight l2 of a node's likeness to the question; 0 or more
    hub         exponent by which the degree of a node damps its edges; 0 to 1
    hub_limit   edges beyond which a node is not expanded: so many weigh next to nothing each
    phi         for each intent, how well each relation fits it; a relation that is missing is
                closed. A relation and its reverse share a weight
    """

    seeds: int = 10
    width: int = 60
    depth: int = 2
    budget: int = 200
    gamma: float = 0.5
    structure: float = 1.0
    semantics: float = 1.0
    hub: float = 0.5
    hub_limit: int = 128
    phi: Intents = msgspec.field(default_factory=lambda: {k: dict(v) for k, v in _PHI.items()})

    def __post_init__(self) -> None:
        """Check the names."""
        known = {relation.name for relation in Relation if relation % 2 == 0}
        for weights in self.phi.values():
            if unknown := set(weights) - known:
                raise ValueError(f"phi: expected relations among {known}, got {unknown}")


class RankConfig(msgspec.Struct, frozen=True):
    """Weights of the parts of an episode's score; see `ranking`."""

    fused: float = 0.1
    keyword: float = 0.6
    session: float = 0.45
    vector: float = 0.65
    graph: float = 0.3
    speaker: float = 0.5
    present: float = 0.5
    time: float = 0.45
    asks: float = -0.25
    short: float = -0.3


class RecallConfig(msgspec.Struct, frozen=True):
    """Everything that a recall is governed by."""

    anchors: AnchorConfig = AnchorConfig()
    beam: BeamConfig = BeamConfig()
    rank: RankConfig = RankConfig()
