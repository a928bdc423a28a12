"""The Kafka connector, whose processes wait at named points until they are killed.

A query has the name of its topic. ``write-1`` is in the writer of micro-batch 1, when a part of its rows is stored;
``prepared-1`` after it has prepared its transaction; ``ended-2`` is after a transaction of attempt 2 was committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

from asyncsink import InitContext, LostCommittablesError, WriteContext
from asyncsink.plugins import ConnectorInfo, hookimpl
from asyncsink_kafka import KafkaSink
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_kafka.transactions.committer import KafkaCommitter
from asyncsink_kafka.writer import KafkaWriter
from asyncsink_testing.crash_points.meeting import last_decided, meet, note


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        "stopping-kafka",
        "asyncsink_stopping_kafka:StoppingSink",
        "asyncsink_kafka.options:KafkaOptions",
        api_version=1,
    )


class StoppingSink(KafkaSink):
    def create_writer(self, context: InitContext, states: Sequence[Never] = ()) -> KafkaWriter:
        return StoppingWriter(self, context, self.config)

    def create_committer(self) -> KafkaCommitter:
        return StoppingCommitter(self.options, self.config)


class StoppingWriter(KafkaWriter):  # type: ignore[misc]  # final for users
    async def write_batch(self, batch: Any, context: WriteContext | None = None) -> None:
        await super().write_batch(batch, context)
        # Else nothing of the transaction may be there yet when the process is killed.
        await self.flush()
        meet(self._sink.options.topic or "", f"write-{self._init.batch_id}")

    async def prepare_commit(self, flush: bool) -> list[KafkaTransaction]:
        prepared = await super().prepare_commit(flush)
        meet(self._sink.options.topic or "", f"prepared-{self._init.batch_id}")
        return prepared


class StoppingCommitter(KafkaCommitter):
    @property
    def _query(self) -> str:
        return self._options.topic or ""

    async def commit(self, committables: Sequence[KafkaTransaction]) -> list[KafkaTransaction]:
        """Commit one after the other, so that there is a moment between two of them."""
        note(self._query, "commit")
        again: list[KafkaTransaction] = []
        losses: list[LostCommittablesError] = []
        for each in committables:
            try:
                again += await super().commit([each])
            except LostCommittablesError as error:
                losses.append(error)
            meet(self._query, f"ended-{last_decided(self._query)}")
        if losses:
            raise LostCommittablesError(
                str(losses[0]),
                [lost for error in losses for lost in error.lost],
                again,
                may_be_committed=any(error.may_be_committed for error in losses),
            )
        return again

    async def abort(self, committables: Sequence[KafkaTransaction]) -> None:
        note(self._query, "abort")
        await super().abort(committables)
