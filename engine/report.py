"""What is told to the caller about a write, and about a space."""

from typing import Literal

import msgspec


class Item(msgspec.Struct, frozen=True):
    """What became of one turn of an `add`.

    index     place of the turn in the call, from 0
    id        its id in its session: the caller's, or the one made from its content; None where the
              turn could not be read
    status    "added", "unchanged" (the same turn is kept already), "conflict" (its id is taken by
              another content: nothing was written) or "rejected" (it cannot be kept)
    reason    what was expected, what came and where, of a conflict or a rejection
    """

    index: int
    id: str | None
    session: str | None
    status: Literal["added", "unchanged", "conflict", "rejected"]
    reason: str | None = None


class AddReport(msgspec.Struct, frozen=True):
    """What became of each turn of an `add`, in order. Those added are safe on disk."""

    items: tuple[Item, ...]

    def count(self, status: str) -> int:
        """Turns with a status."""
        return sum(item.status == status for item in self.items)

    @property
    def added(self) -> int:
        """Turns that are new."""
        return self.count("added")

    @property
    def unchanged(self) -> int:
        """Turns that were kept before."""
        return self.count("unchanged")

    @property
    def problems(self) -> tuple[Item, ...]:
        """The turns that were not kept, each with its reason."""
        return tuple(item for item in self.items if item.reason is not None)


class Stats(msgspec.Struct, frozen=True):
    """Size and state of a space.

    nodes, edges   counts by kind and by relation (each edge once)
    bytes_on_disk  by file
    verified       whether all files were read and found sound or made good; of a large store, whose
                   files nobody has touched since they were found sound, that is done soon after
                   opening
    notices        what was found damaged or out of date, and what was done about it
    """

    path: str
    turns: int
    deleted: int
    sessions: int
    speakers: tuple[str, ...]
    nodes: dict[str, int]
    edges: dict[str, int]
    triples: int
    terms: int
    journal_rows: int
    vectors: int
    vectors_indexed: int
    embedder: str
    dimension: int
    format_version: int
    bytes_on_disk: dict[str, int]
    verified: bool
    notices: tuple[str, ...]
