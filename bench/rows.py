"""Configurations to compare: the full one, and the same with one part gone or alone."""

from collections.abc import Mapping

import msgspec
import numpy as np

from cuegraph import AnchorConfig, BeamConfig, RankConfig, RecallConfig

Row = tuple[str, RecallConfig]
"""A name, and what is asked with."""

FULL = "full"
ARMS: Mapping[str, tuple[str, ...]] = {
    "vector": ("vector",),
    "keyword": ("keyword", "session"),
    "time": ("time",),
    "cue": (),
}
"""The arms, each with the parts of the ranking that say the same again."""
PARTS = RankConfig.__struct_fields__


def rows_of(config: RecallConfig) -> list[Row]:
    """The rows of an ablation of `config`, which is the first.

    without arm X       X names no anchors, and the parts of the ranking that repeat it are gone;
                        without the vector arm the walk does not see vectors either, but SIMILAR
                        edges, which were made of them, stay
    only arm X          the arm's own order, with no walk and no other ranking: plain retrieval
    fusion alone        the arms fused by reciprocal rank, with no walk and no other ranking
    discounted fusion   arms that name the same episodes count less; in the whole, and alone
    without relation X  the walk cannot take it; it is closed for every intent
    only relation X     the walk takes no other
    uniform intents     each open relation fits each intent alike
    no walk             the arms and the ranking alone
    without part X      of the ranking, for those with a weight; the arm or walk behind it stays
    """
    relations = _open(config.beam)
    parts = [name for name in PARTS if getattr(config.rank, name)]
    return [
        (FULL, config),
        *((f"without arm {name}", without_arm(config, name)) for name in ARMS),
        *((f"only arm {name}", only_arm(config, name)) for name in ARMS),
        ("fusion alone", fusion_alone(config)),
        ("discounted fusion", _anchors(config, discount=True)),
        ("discounted fusion alone", _anchors(fusion_alone(config), discount=True)),
        *((f"without relation {name}", without_relations(config, {name})) for name in relations),
        *(
            (f"only relation {name}", without_relations(config, {*relations} - {name}))
            for name in relations
        ),
        ("uniform intents", uniform_intents(config)),
        ("no walk", _beam(config, depth=0)),
        *((f"without part {name}", without_parts(config, (name,))) for name in parts),
    ]


def variations(config: RecallConfig, count: int = 40) -> list[Row]:
    """`config`, and `count` more with each weight of the ranking up to halved or doubled.

    The factors are drawn evenly on a logarithmic scale, from a fixed seed: a grid to choose from
    that knows nothing of the data.
    """
    draw = np.random.default_rng(0)
    rows: list[Row] = [(FULL, config)]
    for number in range(1, count + 1):
        factors = np.exp2(draw.uniform(-1, 1, len(PARTS))).tolist()
        weights = {
            name: round(getattr(config.rank, name) * factor, 3)
            for name, factor in zip(PARTS, factors, strict=True)
        }
        rank = msgspec.structs.replace(config.rank, **weights)
        rows.append((f"variation {number}", msgspec.structs.replace(config, rank=rank)))
    return rows


def without_arm(config: RecallConfig, arm: str) -> RecallConfig:
    """The configuration without an arm and what repeats it."""
    config = without_parts(_anchors(config, **{arm: 0.0}), ARMS[arm])
    return _beam(config, semantics=0.0) if arm == "vector" else config


def only_arm(config: RecallConfig, arm: str) -> RecallConfig:
    """The order of one arm; an arm that is switched off is switched on."""
    return fusion_alone(_anchors(config, **{name: float(name == arm) for name in ARMS}))


def fusion_alone(config: RecallConfig) -> RecallConfig:
    """The order of the fused anchors."""
    rank = RankConfig(**{name: float(name == "fused") for name in PARTS})
    return msgspec.structs.replace(_beam(config, depth=0), rank=rank)


def without_relations(config: RecallConfig, names: set[str]) -> RecallConfig:
    """The configuration with some relations closed for every intent."""
    phi = {
        intent: {name: fit for name, fit in fits.items() if name not in names}
        for intent, fits in config.beam.phi.items()
    }
    return _beam(config, phi=phi)


def uniform_intents(config: RecallConfig) -> RecallConfig:
    """The configuration in which each open relation fits each intent alike."""
    return _beam(config, phi={i: dict.fromkeys(_open(config.beam), 1.0) for i in config.beam.phi})


def without_parts(config: RecallConfig, parts: tuple[str, ...]) -> RecallConfig:
    """The configuration without some parts of the ranking."""
    rank = msgspec.structs.replace(config.rank, **dict.fromkeys(parts, 0.0))
    return msgspec.structs.replace(config, rank=rank)


def _open(beam: BeamConfig) -> list[str]:
    """Relations that the walk may take under some intent, in the order of their first mention."""
    return list(dict.fromkeys(name for fits in beam.phi.values() for name in fits))


def _anchors(config: RecallConfig, **changes: float) -> RecallConfig:
    anchors: AnchorConfig = msgspec.structs.replace(config.anchors, **changes)
    return msgspec.structs.replace(config, anchors=anchors)


def _beam(config: RecallConfig, **changes: object) -> RecallConfig:
    beam: BeamConfig = msgspec.structs.replace(config.beam, **changes)
    return msgspec.structs.replace(config, beam=beam)
