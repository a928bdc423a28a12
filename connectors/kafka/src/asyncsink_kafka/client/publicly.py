"""The way over aiokafka's public methods alone: slower, and for versions whose private parts we do not know."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiokafka
import anyio
from aiokafka.protocol.produce import ProduceRequest

from asyncsink.errors import RequestError
from asyncsink_kafka.client.codes import CLIENT_FAILED
from asyncsink_kafka.client.watching import Partition

if TYPE_CHECKING:
    from asyncsink_kafka.encoding import ReadyBatch

_STOP_S: Final = 1.0
_AIOKAFKA: Final = str(Path(aiokafka.__file__).parent)


class PublicHandover:
    """Decodes a batch and builds it again with ``create_batch`` and ``append``.

    aiokafka counts the sequence numbers. It counts those of a batch that was refused too, so that the producer has to
    be renewed after each of them where it is idempotent.
    """

    compresses = True

    def __init__(self, idempotent: bool) -> None:
        self._idempotent = idempotent

    def builder(self, producer: Any, partition: Partition, batch: ReadyBatch) -> Any:
        builder = producer.create_batch()
        records = batch.records(*partition)
        for index in range(len(records)):
            record = records.record(index)
            if not builder.append(
                timestamp=record.timestamp, key=record.key, value=record.value, headers=list(record.headers)
            ):
                raise RequestError(
                    CLIENT_FAILED,
                    f"aiokafka took {index} of the {batch.count} records of a batch of {batch.size_in_bytes} bytes.",
                )
        builder.close()
        return builder

    def prepared(self, request: ProduceRequest) -> ProduceRequest:
        return request

    def stored(self, partition: Partition, records: int) -> None:
        """aiokafka has counted them already."""

    def given_up(self, partition: Partition, *, new_epoch: bool) -> bool:
        return self._idempotent

    def renewed(self) -> None:
        """Nothing is kept of the old one."""

    async def abort(self, producer: Any, requests: Iterable[asyncio.Task[Any]]) -> None:
        others = asyncio.all_tasks()
        for task in {*requests, *(each for each in others if _is_sender_of(each, producer.client))}:
            task.cancel()
        # With its sender gone it waits for nothing more than for its connections to close.
        with anyio.move_on_after(_STOP_S):
            await producer.stop()
        with anyio.move_on_after(_STOP_S):
            await producer.client.close()
        left = [each for each in asyncio.all_tasks() - others if _is_of_aiokafka(each)]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_STOP_S)


def _is_sender_of(task: asyncio.Task[Any], client: Any) -> bool:
    """Whether it runs a method of an object of aiokafka's producer that has this very client."""
    frame = getattr(task.get_coro(), "cr_frame", None)
    return frame is not None and getattr(frame.f_locals.get("self"), "client", None) is client and _is_of_aiokafka(task)


def _is_of_aiokafka(task: asyncio.Task[Any]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(f"{_AIOKAFKA}/producer/")
