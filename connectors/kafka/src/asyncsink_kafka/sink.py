"""The sink: where its writer, its converter and its client come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Never

from asyncsink.config import AsyncSinkWriterConfig, MiB, RetryPolicy
from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import InitContext, Schema, WriterInitContext
from asyncsink.errors import ConfigurationError
from asyncsink.limits.description import RateLimit
from asyncsink.metrics import UNREGISTERED, MetricGroup
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.record import KafkaRecord, KafkaRecordSerializer
from asyncsink_kafka.transactions.committable import COMMITTABLES, KafkaTransaction

if TYPE_CHECKING:
    from asyncsink.blocking_writer import BlockingSinkWriter
    from asyncsink_kafka.client import KafkaClient
    from asyncsink_kafka.converter import KafkaConverter
    from asyncsink_kafka.transactions.committer import KafkaCommitter
    from asyncsink_kafka.writer import KafkaWriter


class KafkaSink(ConfiguredSink[Any, KafkaTransaction, Never, Never]):
    """Rows to Apache Kafka: ``KafkaSink(bootstrap_servers="broker:9092", topic="orders")``.

    Elements are :class:`KafkaRecord`, values as bytes or strings, or rows as mappings with the columns of Spark's own
    Kafka sink. Delivery is at least once and in order within a partition; with idempotence, the default, a repeated
    request stores nothing twice as long as the writer lives.

    In Kafka's terms the limits of the writer are ``request_timeout_s`` request.timeout.ms, ``retry.timeout_s``
    delivery.timeout.ms, ``max_time_in_buffer_s`` linger.ms, ``max_buffered_size_in_bytes`` buffer.memory and
    ``max_record_size_in_bytes`` max.request.size. ``max_in_flight_requests`` and ``retry.max_attempts`` have no effect:
    each broker has one request under way, and what it cannot take now is repeated until ``retry.timeout_s``.

    :raises ConfigurationError: an option breaks its rule
    """

    options_type: ClassVar[type[KafkaOptions]] = KafkaOptions
    # The producer's own defaults (Kafka 4.1).
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(
        max_batch_size=100_000,
        max_buffered_requests=1_000_000,
        max_batch_size_in_bytes=1 * MiB,
        max_buffered_size_in_bytes=32 * MiB,
        max_record_size_in_bytes=1 * MiB,
        max_time_in_buffer_s=0.005,
        request_timeout_s=30.0,
        rate_limit=RateLimit.none(),
        retry=RetryPolicy(timeout_s=120.0, initial_backoff_s=0.1, max_backoff_s=1.0),
    )
    not_offered: ClassVar[Mapping[str, str]] = {
        "maxInFlightRequests": "each broker has one request under way",
        "retry.maxAttempts": "what a broker cannot take now is repeated until retry.timeout",
        "batching": "aiokafka makes the batches; deliveryGuarantee=exactly-once leaves one copy of each row",
        "failOnTimeout": "aiokafka repeats a request that has timed out, until retry.timeout",
    }
    committable_serializer: SimpleVersionedSerializer[KafkaTransaction] | None = COMMITTABLES
    entry_serializer: ClassVar[KafkaRecordSerializer] = KafkaRecordSerializer()

    options: KafkaOptions

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        check_limits(self.options, config)

    def batch_size(self, config: AsyncSinkWriterConfig) -> int:
        """Bytes of a record batch that holds several records, of a writer with `config`."""
        return min(self.options.batch_size_in_bytes, config.max_batch_size_in_bytes)

    @property
    def client_key(self) -> str:
        """Of the options, and of those limits of the writer that the client is made with."""
        config = self.config
        made_with = [config.request_timeout_s, config.retry.timeout_s, config.retry.initial_backoff_s]
        return f"{super().client_key}/{sha256(json.dumps(made_with).encode()).hexdigest()[:12]}"

    def connect(self, context: InitContext, config: AsyncSinkWriterConfig) -> AbstractAsyncContextManager[KafkaClient]:
        """The client, entered and left by one task; kept per worker process by :attr:`client_key` under Spark."""
        if context.transaction is not None:
            from asyncsink_kafka.transactions.connecting import connect_transactionally

            return connect_transactionally(self.options, config, context, self.client_key)
        from asyncsink_kafka.client import connect

        return connect(self.options, config)

    def converter(self, schema: Schema | None) -> KafkaConverter:
        from asyncsink_kafka.converter import KafkaConverter

        return KafkaConverter(schema, self.options)

    def sizes(self, entries: Sequence[KafkaRecord]) -> Sequence[int]:
        """The bytes of each as the only record of a batch, which Java's max.request.size counts."""
        from asyncsink_kafka.encoding import sizes_of
        from asyncsink_kafka.records import Records

        found: list[int] = sizes_of(Records.of(entries)).tolist()
        return found

    def create_committer(self) -> KafkaCommitter | None:
        if not self.options.is_transactional:
            return None
        from asyncsink_kafka.transactions.committer import KafkaCommitter

        return KafkaCommitter(self.options, self.config)

    def create_writer(self, context: InitContext, states: Sequence[Never] = ()) -> KafkaWriter:
        from asyncsink_kafka.writer import KafkaWriter

        return KafkaWriter(self, context, self.config)

    def open(
        self, config: AsyncSinkWriterConfig | None = None, metric_group: MetricGroup = UNREGISTERED
    ) -> KafkaWriter:
        """A writer for programs without Spark: ``async with sink.open() as writer: await writer.write(element)``.

        :param metric_group: where the writer tells of itself, such as ``Metrics().group.add_group("orders")``
        :raises ConfigurationError: the sink delivers exactly once, and nobody would commit
        """
        check_commits(self.options)
        from asyncsink_kafka.writer import KafkaWriter

        return KafkaWriter(self, WriterInitContext(metric_group=metric_group), config or self.config)

    def open_blocking(
        self, config: AsyncSinkWriterConfig | None = None, metric_group: MetricGroup = UNREGISTERED
    ) -> BlockingSinkWriter[Any, KafkaRecord]:
        """A writer for programs without an event loop: ``with sink.open_blocking() as writer: writer.write(element)``.

        It runs on a loop in a thread of its own; the parameters are those of :meth:`open`.
        """
        from asyncsink.blocking_writer import BlockingSinkWriter

        return BlockingSinkWriter(self.open(config, metric_group))


def check_commits(options: KafkaOptions) -> None:
    """Check that rows of a program that opens a writer by itself become visible.

    :raises ConfigurationError: the sink delivers exactly once, and nobody would commit
    """
    if options.is_transactional:
        raise ConfigurationError(
            "option 'deliveryGuarantee' = 'exactly-once' needs somebody who commits, and a program that opens a writer "
            "by itself has nobody; write by asyncsink.run_local, or set deliveryGuarantee=at-least-once"
        )


def check_limits(options: KafkaOptions, config: AsyncSinkWriterConfig) -> None:
    """Check the writer's limits against the options, and against what Kafka's producer can do.

    :raises ConfigurationError: they do not fit
    """
    if config.ordering == "key" and options.partitioner in ("sticky", "round-robin"):
        raise ConfigurationError(
            f"option 'ordering' = 'key' needs all records of a key in one partition, and 'partitioner' = "
            f"{options.partitioner!r} ignores keys; set partitioner=murmur2, or leave ordering out"
        )
    if config.fail_on_timeout:
        raise ConfigurationError(
            "option 'failOnTimeout' = true cannot be kept: aiokafka repeats a request that has timed out; set "
            "retry.timeout (delivery.timeout.ms) to the time after which the task is to fail"
        )
