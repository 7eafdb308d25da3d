"""Codes of the graph: kinds of nodes, relations, status, and the value that means no time."""

from enum import IntEnum

import numpy as np

TIME_NONE = int(np.iinfo(np.int64).min)
"""Time of a node that has none: order only."""

LIVE, DELETED = 0, 1
"""Values of the status column."""


class Kind(IntEnum):
    """What a node is. Cues, tags and contents (episodes, facts, topics) are MRAgent's."""

    EPISODE = 0
    SESSION = 1
    CUE = 2
    TAG = 3
    FACT = 4
    TOPIC = 5


class Relation(IntEnum):
    """How two nodes are related. Every edge is kept in both directions: reverse = code ^ 1."""

    FOLLOWS = 0
    PRECEDES = 1
    CAUSES = 2
    CAUSED_BY = 3
    SIMILAR = 4
    SIMILAR_REVERSE = 5
    MENTIONS = 6
    MENTIONED_BY = 7
    PART_OF = 8
    HAS_PART = 9
    ABOUT = 10
    HAS_CONTENT = 11
    CUES = 12
    CUED_BY = 13
    SUPERSEDES = 14
    SUPERSEDED_BY = 15


RELATIONS = len(Relation)


def reverse(relation: int) -> int:
    """Code of the relation read from the other end."""
    return relation ^ 1
