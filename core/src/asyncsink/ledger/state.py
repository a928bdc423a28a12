"""What the ledger keeps from one micro-batch to the next."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from asyncsink.ledger.envelope import decode, encode

KeptState = tuple[int, bytes]
"""A writer's state as its serializer wrote it: version and bytes."""

_KIND = "state"
_WITHOUT = (
    "remove it to start without what it tells: its last batch may then be delivered once more, and what writers had "
    "left to the next batch is lost with it"
)


@dataclass(frozen=True, kw_only=True)
class LedgerState:
    """The state of a sink after the last batch that was committed.

    :param query_id: Spark's id of the query, which its checkpoint has too; None for batch jobs
    :param batch_id: the last batch that was committed; None before the first
    :param learned: by scope, what rate limits have learned, one snapshot for each worker process
    :param writers: tasks of the last batch that were at work at once; None if none had rows
    :param writer_states: by partition, what its writer left for a successor
    """

    query_id: str | None = None
    batch_id: int | None = None
    learned: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    writers: int | None = None
    writer_states: Mapping[int, tuple[KeptState, ...]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return encode(_KIND, self.as_fields())

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Self:
        """:raises LedgerError: the file is damaged or of a newer release"""
        return decode(_KIND, data, where, cls.of_fields, _WITHOUT)

    def as_fields(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "writers": self.writers,
            "learned": {scope: [_text(each) for each in found] for scope, found in self.learned.items()},
            "writer_states": {
                str(partition): [[version, _text(data)] for version, data in states]
                for partition, states in self.writer_states.items()
            },
        }

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What :meth:`as_fields` has given; raises what a damaged one brings about."""
        batch_id, writers = fields["batch_id"], fields["writers"]
        return cls(
            query_id=fields["query_id"],
            batch_id=None if batch_id is None else int(batch_id),
            writers=None if writers is None else int(writers),
            learned={scope: tuple(map(_bytes, found)) for scope, found in fields["learned"].items()},
            writer_states={
                int(partition): tuple((int(version), _bytes(data)) for version, data in states)
                for partition, states in fields["writer_states"].items()
            },
        )


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return b64decode(text, validate=True)
