"""A writer in virtual time, with a scripted metadata service and clusters whose clients misbehave as they are told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from asyncsink import AsyncSinkWriterConfig, RequestError, RetryPolicy, WriterInitContext
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink_dynamic_kafka.metadata.discovery import discovering
from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.metadata.streams import ClusterMetadata, KafkaStream
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.sink import DynamicKafkaSink
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_dynamic_kafka.writer import DynamicKafkaWriter
from asyncsink_dynamic_kafka.writer.cluster_sink import ClusterSink, cluster_sink
from asyncsink_kafka import KafkaRecord, KafkaSink
from asyncsink_kafka.encoding import ReadyBatch
from asyncsink_kafka.transactions.committable import KafkaTransaction

PARTITIONS = 3
STREAM = "orders"


class Brokers:
    """What stands for one cluster: it stores batches by topic; `answer` and `connect` may raise or wait before."""

    def __init__(self) -> None:
        self.stored: dict[str, list[KafkaRecord]] = defaultdict(list)
        self.observer: Any = None
        self.last_error: str | None = None
        self.answer: Callable[[Sequence[KafkaRecord]], Any] = lambda records: None
        self.connect: Callable[[], Any] = lambda: None
        self.connected = self.left = self.aborted = self.prepared = 0

    async def partitions(self, topic: str, partition: int = 0) -> tuple[int, Sequence[int]]:
        return PARTITIONS, range(PARTITIONS)

    async def send(self, topic: str, partition: int, batch: ReadyBatch) -> None:
        decoded = batch.records(topic, partition)
        records = [decoded.record(at) for at in range(batch.count)]
        self.observer.started(batch.count, batch.size_in_bytes)
        try:
            await anyio.sleep(0.001)
            told = self.answer(records)
            if told is not None:
                await told
            self.stored[topic] += records
        finally:
            self.observer.ended(0.001, None, 0.0)

    async def prepare(self) -> KafkaTransaction | None:
        stored = sum(map(len, self.stored.values()))
        self.prepared, records = stored, stored - self.prepared
        return KafkaTransaction(f"id-{stored}", 1, 0, 0, 60_000, records) if records else None

    async def abort(self) -> None:
        self.aborted += 1

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Brokers]:
        told = self.connect()
        if told is not None:
            await told
        self.connected += 1
        try:
            yield self
        finally:
            self.left += 1

    @property
    def values(self) -> list[bytes]:
        """All that is stored, in no order."""
        return sorted(each.value or b"" for records in self.stored.values() for each in records)


class Service(KafkaMetadataService):
    """Answers what it is told to: by stream, the topics of each cluster."""

    def __init__(self, **streams: Mapping[str, Iterable[str]]) -> None:
        self.streams: dict[str, Mapping[str, Iterable[str]]] = dict(streams)
        self.servers: dict[str, str] = {}
        self.properties: dict[str, Mapping[str, str]] = {}
        self.inactive: set[str] = set()
        self.is_down = False
        self.calls = 0

    def _stream(self, stream_id: str) -> KafkaStream:
        found = {
            name: ClusterMetadata(
                frozenset(topics),
                {"bootstrap.servers": self.servers.get(name, f"{name.lower()}:9092"), **self.properties.get(name, {})},
            )
            for name, topics in self.streams[stream_id].items()
        }
        return KafkaStream(stream_id, found)

    async def get_all_streams(self) -> Collection[KafkaStream]:
        return (await self.describe_streams(list(self.streams))).values()

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        self.calls += 1
        if self.is_down:
            raise ConnectionRefusedError("the service is down")
        return {each: self._stream(each) for each in stream_ids if each in self.streams}

    async def is_cluster_active(self, cluster_id: str) -> bool:
        return cluster_id not in self.inactive

    async def aclose(self) -> None:
        pass


QUICK = replace(
    KafkaSink.defaults,
    retry=RetryPolicy(timeout_s=10.0, initial_backoff_s=0.01, max_backoff_s=0.1),
    stall_timeout_s=600.0,
)


class World(DynamicKafkaSink):
    """A sink whose service is scripted and whose clusters are :class:`Brokers`, by bootstrap servers."""

    def __init__(self, service: Service, config: AsyncSinkWriterConfig, **options: Any) -> None:
        if "stream_pattern" not in options:
            options = {"stream_ids": [*service.streams], **options}
        super().__init__(metadata_service=service, config=config, **options)
        self.service = service
        self.brokers: dict[str, Brokers] = defaultdict(Brokers)

    def __getitem__(self, cluster: str) -> Brokers:
        return self.brokers[self.service.servers.get(cluster, f"{cluster.lower()}:9092")]

    def discovering(self) -> Any:
        options = self.options
        return discovering(
            self.service,
            options.subscriber,
            interval_s=options.stream_metadata_discovery_interval_s,
            failure_threshold=options.stream_metadata_discovery_failure_threshold,
            clock=anyio.current_time,
        )

    def cluster_sink(self, cluster: Any, config: AsyncSinkWriterConfig | None = None) -> ClusterSink:
        made = cluster_sink(self.options, config or self.config, cluster)
        return Told(made, self.brokers[cluster.identifier.bootstrap_servers])

    def writer(self, *states: DynamicKafkaWriterState, **context: Any) -> DynamicKafkaWriter:
        return self.create_writer(WriterInitContext(query_id="q", batch_id=7, writer_id=3, **context), states)


class Told(ClusterSink):
    """A cluster's sink whose client is the given one."""

    def __init__(self, made: ClusterSink, brokers: Brokers) -> None:
        super().__init__(made.cluster_name, made.options, made.config)
        self._brokers = brokers

    def connect(self, context: Any, config: Any) -> Any:
        return self._brokers.client()


def world(service: Service, **changes: Any) -> World:
    """A sink to such clusters; `changes` are options of it or fields of the configuration."""
    limits = {name: changes.pop(name) for name in tuple(changes) if name in AsyncSinkWriterConfig.__dataclass_fields__}
    return World(service, replace(QUICK, **limits), **changes)


def lettered(store: DeadLetterMemory) -> dict[str, Any]:
    """The changes by which refused rows become dead letters."""
    return {"on_rejected": "dead_letter", "dead_letters": store, "max_rejected": 1.0}


def records(values: Iterable[int], stream_id: str = STREAM, **fields: Any) -> list[KafkaStreamRecord]:
    return [KafkaStreamRecord(stream_id, b"%06d" % value, b"key-%d" % (value % 7), **fields) for value in values]


def expected(values: Iterable[int]) -> list[bytes]:
    return [b"%06d" % value for value in values]


def union(*brokers: Brokers) -> list[bytes]:
    """All that these clusters have stored."""
    return sorted(value for each in brokers for value in each.values)


def twice(values: Sequence[bytes]) -> list[bytes]:
    """What is there more than once."""
    return sorted(value for value, times in Counter(values).items() if times > 1)


def refuse(code: str, when: Callable[[KafkaRecord], bool]) -> Callable[[Sequence[KafkaRecord]], None]:
    """Refuse a batch with such a record in it."""

    def answer(batch: Sequence[KafkaRecord]) -> None:
        if any(map(when, batch)):
            raise RequestError(code, "the broker says no")

    return answer
