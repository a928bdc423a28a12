"""Queries that write to a topic each, and what one who reads what is committed finds there."""

from __future__ import annotations

from collections.abc import Callable, Set
from pathlib import Path
from time import monotonic, sleep

import anyio

from asyncsink.ledger import open_store
from asyncsink.transactions.log import TransactionLog
from asyncsink_kafka import KafkaSink
from asyncsink_kafka.transactions.connecting import coordinators_of
from asyncsink_testing.crash_points import queries
from asyncsink_testing.crash_points.queries import BATCHES, ROWS
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.reading import TopicReader

PARTITIONS = 3
VALUES = sorted(str(number).encode() for number in range(BATCHES * ROWS))


class Query(queries.Query):
    """A query to a topic of its name, with its ledger on a disk."""

    def __init__(self, folder: Path, broker: KafkaBroker) -> None:
        self._broker = broker
        broker.create_topic(folder.name, PARTITIONS)
        own = {
            "sink": "stopping-kafka",
            "kafka.bootstrap.servers": broker.bootstrap,
            "topic": folder.name,
            "deliveryGuarantee": "exactly-once",
        }
        super().__init__(folder, f"held:{folder.parent}", ["value"], own)

    @property
    def location(self) -> str:
        """Where the log of its transactions lies."""
        return str(self.folder / "ledger" / "asyncsink" / "stopping-kafka")

    def committed(self, least: int = len(VALUES)) -> list[bytes]:
        """What one who reads what is committed finds, sorted; so many are waited for, which may come a moment later."""
        reader = TopicReader(self._broker.bootstrap, self.name)
        try:
            return sorted(value or b"" for value in reader.values(least))
        finally:
            reader.close()

    def open(self) -> list[str]:
        """The ids of its transactions that are open."""
        return anyio.run(self._open)

    def wait_until_none_is_open(self, within_s: float = 120.0) -> None:
        """Return when the brokers have ended all that was decided, or has timed out."""
        deadline_s = monotonic() + within_s
        while left := self.open():
            assert monotonic() < deadline_s, f"after {within_s:g} s {left} are open"
            sleep(0.1)

    def check(self, attempts: Set[int]) -> None:
        """See that each row is committed once and nothing is open, and which attempts were committed."""
        assert self.committed() == VALUES
        self.wait_until_none_is_open(10.0)
        done = {int(each.name.removeprefix("done-")) for each in Path(self.location, "transactions").glob("done-*")}
        assert done == attempts, f"attempts {done} were committed of query {self.name}, not {attempts}"

    async def _open(self) -> list[str]:
        sink = KafkaSink(bootstrap_servers=self._broker.bootstrap, topic=self.name, delivery_guarantee="exactly-once")
        sink_id = TransactionLog(open_store(self.location)).sink_id()
        async with coordinators_of(sink.options, sink.config) as coordinators:
            return await coordinators.open_with(f"{sink.options.transaction_prefix}-{sink_id}-")


MakeQuery = Callable[[], Query]

Ended = queries.Ended[Query]
