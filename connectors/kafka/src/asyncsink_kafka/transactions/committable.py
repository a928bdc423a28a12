"""What goes from a task to the driver, and into the log: a transaction that is flushed, and only has to be ended."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsink.serializer import DataclassSerializer


@dataclass(frozen=True)
class KafkaTransaction:
    """A committable. Whoever has it can commit it: the producer that has made it is not needed any more.

    It was made by requests that do not raise the epoch when a transaction ends (EndTxn below version 5), and has to be
    ended by such a one.

    :param started_ms: when the coordinator saw it begin, since the epoch
    :param timeout_ms: after which the brokers abort it
    :param records: in it, for people
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    timeout_ms: int
    records: int


COMMITTABLES = DataclassSerializer(KafkaTransaction)
