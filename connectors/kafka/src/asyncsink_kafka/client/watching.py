"""Sees every produce request and its answer, on the way between aiokafka's sender and its client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.protocol.produce import ProduceRequest, ProduceRequest_v7

from asyncsink_kafka.client import codes

Partition = tuple[str, int]

_ABORTED: Final = "ABORTED"
_WITH_MESSAGES: Final = 8
"""The version of the answer from which on it holds messages (KIP-467)."""


class Observer(Protocol):
    """Is told of every produce request; each ``started`` is followed by one ``ended``, in no order between requests."""

    def started(self, records: int, size_in_bytes: int) -> None:
        """A request is handed to a connection; `size_in_bytes` is that of its record batches."""

    def ended(self, seconds: float, failed_code: str | None, throttle_s: float) -> None:
        """It was answered or failed. `failed_code` names the first failure in it; `throttle_s` is the broker's wish."""


@dataclass(slots=True, eq=False)
class UnderWay:
    """A batch that aiokafka has, and what has been said of it so far."""

    records: int
    code: str | None = None
    message: str = ""
    may_be_stored: bool = False

    def failed(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        if code not in codes.NOT_STORED and code != codes.NEVER_SENT:
            self.may_be_stored = True


class ProduceWatch:
    """Stands before ``producer.client.send``, which is public; whatever is not a produce request passes untouched.

    :param prepared: what is to be sent in the place of a request, with the same meaning
    :ivar under_way: the batch of each partition that aiokafka has now; kept by the :class:`KafkaClient`
    :ivar requests: the tasks of aiokafka that are at a produce request, or on their way back from one
    :ivar last_error: what the last failed request said, with the broker's address
    """

    def __init__(self, prepared: Callable[[ProduceRequest], ProduceRequest] = lambda request: request) -> None:
        self.observer: Observer | None = None
        self._prepared = prepared
        self.under_way: dict[Partition, UnderWay] = {}
        self.requests: set[asyncio.Task[Any]] = set()
        self.last_error: str | None = None
        self._closed = False

    def attach(self, client: Any) -> None:
        """Watch an ``AIOKafkaClient`` from now on."""
        self._closed = False
        send = client.send

        async def watched(node_id: Any, request: Any, **options: Any) -> Any:
            if not isinstance(request, ProduceRequest):
                return await send(node_id, request, **options)
            ready = self._prepared(request)
            return await self._produce(client, node_id, request, lambda: send(node_id, ready, **options))

        client.send = watched

    def close(self) -> None:
        """Let no further produce request through, until another client is attached: tasks end as if cancelled."""
        self._closed = True

    async def _produce(
        self, client: Any, node_id: Any, request: ProduceRequest, send: Callable[[], Awaitable[Any]]
    ) -> Any:
        if self._closed:
            raise asyncio.CancelledError
        self._remember_task()
        batches = {
            (topic, partition): len(data)
            for topic, partitions in request.build(ProduceRequest_v7).topics
            for partition, data in partitions
        }
        observer = self.observer
        if observer is not None:
            observer.started(self._records(batches), sum(batches.values()))
        began_s, failed, throttle_s = time.monotonic(), None, 0.0
        try:
            answer = await send()
            failed, throttle_s = self._read(client, node_id, answer), _throttle_s(answer)
        except Exception as error:
            failed = self._lost(client, node_id, batches, error)
            if isinstance(error, KafkaError):
                raise
            # Any other error would end aiokafka's sender; without acks a lost connection is one.
            raise (KafkaConnectionError if isinstance(error, OSError) else KafkaError)(repr(error)) from error
        except BaseException:
            failed = _ABORTED
            raise
        finally:
            if observer is not None:
                observer.ended(time.monotonic() - began_s, failed, throttle_s)
        return answer

    def _remember_task(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        if task not in self.requests:
            self.requests.add(task)
            task.add_done_callback(self.requests.discard)

    def _records(self, batches: dict[Partition, int]) -> int:
        return sum(self.under_way[each].records for each in batches if each in self.under_way)

    def _read(self, client: Any, node_id: Any, answer: Any) -> str | None:
        """Note what the answer says of each batch; the name of the first failure. Without acks there is no answer."""
        first = None
        for topic, partitions in [] if answer is None else answer.topics:
            for partition, number, *rest in partitions:
                if number in (codes.NONE, codes.DUPLICATE_SEQUENCE_NUMBER):
                    continue
                code = codes.name_of(number)
                said = (rest[-1] if answer.API_VERSION >= _WITH_MESSAGES else None) or ""
                self._note((topic, partition), code, f"{_place(client, node_id, (topic, partition))}: {said or code}")
                first = first or code
        return first

    def _lost(self, client: Any, node_id: Any, batches: dict[Partition, int], error: Exception) -> str:
        code = codes.name_of_exception(error)
        for each in batches:
            said = error if isinstance(error, KafkaError) else repr(error)
            self._note(each, code, f"{_place(client, node_id, each)}: {said}")
        return code

    def _note(self, partition: Partition, code: str, message: str) -> None:
        self.last_error = f"{code}: {message}"
        if (batch := self.under_way.get(partition)) is not None:
            batch.failed(code, message)


def _place(client: Any, node_id: Any, partition: Partition) -> str:
    broker = client.cluster.broker_metadata(node_id)
    address = f" at {broker.host}:{broker.port}" if broker else ""
    return f"topic {partition[0]!r}, partition {partition[1]}, broker {node_id}{address}"


def _throttle_s(answer: Any) -> float:
    return float(getattr(answer, "throttle_time_ms", 0) or 0) / 1000
