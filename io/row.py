"""A row of the journal, and the records that its body may hold."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

from .errors import StoreError
from .turn import TurnRecord

_Record = TypeVar("_Record")


class DeleteRecord(msgspec.Struct, frozen=True, array_like=True):
    """A deletion mark: the row `target` (a seq) no longer counts."""

    target: int


class Row(msgspec.Struct, frozen=True):
    """One row of the journal.

    seq          position in the journal, from 1, rising in the order of commits
    kind         "turn" or "delete"; a reader skips kinds that it does not know
    key          names the row within its kind
    recorded_us  when the row was written, microseconds UTC
    vector_row   row of its vector in the vector file, with that vector's crc32; None = no vector
    body         msgpack of the record
    """

    seq: int
    kind: str
    key: str
    recorded_us: int
    agent: str | None
    vector_row: int | None
    vector_crc: int | None
    body: bytes

    def turn(self) -> TurnRecord:
        """The turn that the body holds; StoreError where it holds none."""
        return self._decoded(TurnRecord)

    def target(self) -> int:
        """The seq that a deletion mark names; StoreError where the body is no mark."""
        return self._decoded(DeleteRecord).target

    def _decoded(self, record: type[_Record]) -> _Record:
        try:
            decoded: _Record = _DECODERS[record].decode(self.body)
            return decoded
        except msgspec.DecodeError as exc:
            where = f"journal row {self.seq} ({self.kind})"
            raise StoreError(f"expected a {record.__name__}, got '{exc}', at {where}") from exc


_DECODERS: Mapping[type, msgspec.msgpack.Decoder[Any]] = {
    record: msgspec.msgpack.Decoder(record) for record in (TurnRecord, DeleteRecord)
}


class Appended(msgspec.Struct, frozen=True):
    """What became of one turn: "added", "unchanged" (known already) or "conflict".

    A conflict is a turn whose id is taken by other content: nothing was written. `seq` is the row
    that stands now, whichever call wrote it.
    """

    status: Literal["added", "unchanged", "conflict"]
    seq: int


def turn_key(session: str, turn_id: str) -> str:
    """The journal's key of a turn; unambiguous whatever characters the two names hold."""
    return msgspec.json.encode([session, turn_id]).decode()
