"""The sink: where its writer, its converter, its router and its discovery of metadata come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Never

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import InitContext, Schema, WriterInitContext
from asyncsink.errors import ConfigurationError
from asyncsink.metrics import UNREGISTERED, MetricGroup
from asyncsink.metrics.kept import Together
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_dynamic_kafka.given import checked, digest, given_twice, joined, object_or_text
from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.options import DynamicKafkaOptions
from asyncsink_dynamic_kafka.record import KafkaStreamRecord, StreamRecordBytes
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
from asyncsink_dynamic_kafka.serializer import KafkaStreamRecordSerializer
from asyncsink_dynamic_kafka.state import WRITER_STATES, DynamicKafkaWriterState
from asyncsink_dynamic_kafka.transactions import DYNAMIC_COMMITTABLES, DynamicKafkaTransaction
from asyncsink_kafka.sink import KafkaSink, check_commits, check_limits

if TYPE_CHECKING:
    from asyncsink.blocking_writer import BlockingSinkWriter
    from asyncsink_dynamic_kafka.builder import DynamicKafkaSinkBuilder
    from asyncsink_dynamic_kafka.committer import DynamicKafkaCommitter
    from asyncsink_dynamic_kafka.converter import StreamConverter
    from asyncsink_dynamic_kafka.metadata.discovery import MetadataDiscovery
    from asyncsink_dynamic_kafka.metadata.snapshot import Cluster
    from asyncsink_dynamic_kafka.writer import DynamicKafkaWriter
    from asyncsink_dynamic_kafka.writer.cluster_sink import ClusterSink

PROGRESS_METRICS: Final[Mapping[str, Together]] = MappingProxyType(
    {
        "cluster.*.numRecordsAcknowledged": "sum",
        "cluster.*.numBytesOut": "sum",
        "cluster.*.numRecordsOutErrors": "sum",
        "cluster.*.numRequestsFailed": "sum",
        "metadataAgeSeconds": "max",
        "numActiveClusters": "max",
        "numMetadataFailures": "max",
    }
)


class DynamicKafkaSink(ConfiguredSink[Any, DynamicKafkaTransaction, DynamicKafkaWriterState, Never]):
    """Rows to streams whose topics and clusters change (FLIP-515).

    ::

        DynamicKafkaSink(stream_ids=["orders"], metadata_service="file", metadata_service_path="/shared/streams.yaml")

    Elements are :class:`KafkaStreamRecord`, mappings with the columns of rows, values as bytes or strings where
    there is one stream, or whatever a :class:`KafkaStreamRecordSerializer` takes. Delivery is at least once; with
    ``exactly-once`` a row's copy is shown once in its cluster.

    The limits are those of :class:`~asyncsink_kafka.KafkaSink`, of all clusters together.

    :param metadata_service: a name or an import path, or a service itself
    :param router: a name or an import path, or a router itself
    :param kafka_stream_record_serializer: in place of the sink's own converter
    :param stream_ids: the streams that may be written to, separated by commas or as a collection
    :raises ConfigurationError: an option breaks its rule
    """

    options_type: ClassVar[type[DynamicKafkaOptions]] = DynamicKafkaOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = KafkaSink.defaults
    not_offered: ClassVar[Mapping[str, str]] = KafkaSink.not_offered
    committable_serializer: SimpleVersionedSerializer[DynamicKafkaTransaction] | None = DYNAMIC_COMMITTABLES
    writer_state_serializer: SimpleVersionedSerializer[DynamicKafkaWriterState] | None = WRITER_STATES
    union_states: ClassVar[bool] = True
    progress_metrics: ClassVar[Mapping[str, Together]] = PROGRESS_METRICS
    entry_serializer: ClassVar[StreamRecordBytes] = StreamRecordBytes()

    options: DynamicKafkaOptions

    def __init__(
        self,
        options: DynamicKafkaOptions | None = None,
        *,
        config: AsyncSinkWriterConfig | None = None,
        metadata_service: KafkaMetadataService | str | None = None,
        router: ReconcilableStreamRouter | str | None = None,
        kafka_stream_record_serializer: KafkaStreamRecordSerializer[Any] | None = None,
        stream_ids: Collection[str] | None = None,
        **values: Any,
    ) -> None:
        self._serializer: KafkaStreamRecordSerializer[Any] | None = checked(
            "kafka_stream_record_serializer", kafka_stream_record_serializer, KafkaStreamRecordSerializer
        )
        self._service: KafkaMetadataService | None = object_or_text(
            "metadata_service", metadata_service, KafkaMetadataService, values
        )
        self._router: ReconcilableStreamRouter | None = object_or_text(
            "router", router, ReconcilableStreamRouter, values
        )
        if stream_ids is not None:
            values["stream_ids"] = joined(stream_ids)
        super().__init__(options, config=config, **values)
        self._check_given()

    @staticmethod
    def builder() -> DynamicKafkaSinkBuilder:
        """A builder with the methods of FLIP-515."""
        from asyncsink_dynamic_kafka.builder import DynamicKafkaSinkBuilder

        return DynamicKafkaSinkBuilder()

    @property
    def fingerprint(self) -> str:
        """Of class, options and the objects that a program has given."""
        given = [each for each in (self._service, self._router, self._serializer) if each is not None]
        return "/".join([super().fingerprint, *map(digest, given)])

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        check_limits(self.options, config)
        if config.ordering == "key" and self._router is None and self.options.router in ("round-robin", "weighted"):
            raise ConfigurationError(
                f"option 'ordering' = 'key' needs all records of a key in one cluster topic, and 'router' = "
                f"{self.options.router!r} ignores keys; set router=sticky, or leave ordering out"
            )

    def converter(self, schema: Schema | None) -> StreamConverter:
        from asyncsink_dynamic_kafka.converter import DynamicKafkaConverter, SerializingConverter

        if self._serializer is not None:
            return SerializingConverter(deepcopy(self._serializer))
        return DynamicKafkaConverter(schema, self.options)

    def sizes(self, entries: Sequence[KafkaStreamRecord]) -> Sequence[int]:
        """The bytes of each as the only record of a batch, which Java's max.request.size counts."""
        from asyncsink_dynamic_kafka.routing.blocks import StreamBlock
        from asyncsink_kafka.encoding import sizes_of

        found: list[int] = sizes_of(StreamBlock.of(entries).records).tolist()
        return found

    def make_router(self) -> ReconcilableStreamRouter:
        """A router for one writer.

        :raises ConfigurationError: one of the user's own cannot be loaded or made
        """
        if self._router is not None:
            return deepcopy(self._router)
        from asyncsink_dynamic_kafka.routing.making import make_router

        return make_router(self.options.router, self.options.weights)

    def cluster_sink(self, cluster: Cluster, config: AsyncSinkWriterConfig | None = None) -> ClusterSink:
        """The sink of one of the clusters; its writer is a part of this sink's.

        :param config: the whole writer's; by default this sink's
        :raises MetadataError: the cluster's properties break a rule
        """
        from asyncsink_dynamic_kafka.writer.cluster_sink import cluster_sink

        return cluster_sink(self.options, config or self.config, cluster)

    def discovering(self) -> AbstractAsyncContextManager[MetadataDiscovery]:
        """The discovery of metadata, with a service of its own; kept per worker process under Spark.

        :raises ConfigurationError: a service of the user's own cannot be loaded or made
        """
        from asyncsink_dynamic_kafka.metadata.discovery import discovering
        from asyncsink_dynamic_kafka.metadata.making import make_metadata_service

        options = self.options
        service = make_metadata_service(options, self.config) if self._service is None else deepcopy(self._service)
        return discovering(
            service,
            options.subscriber,
            interval_s=options.stream_metadata_discovery_interval_s,
            failure_threshold=options.stream_metadata_discovery_failure_threshold,
            timeout_s=options.metadata_service_timeout_s,
            check=self.cluster_sink,
        )

    def create_committer(self) -> DynamicKafkaCommitter | None:
        if not self.options.is_transactional:
            return None
        from asyncsink_dynamic_kafka.committer import DynamicKafkaCommitter

        return DynamicKafkaCommitter(self)

    def create_writer(self, context: InitContext, states: Sequence[DynamicKafkaWriterState] = ()) -> DynamicKafkaWriter:
        from asyncsink_dynamic_kafka.writer import DynamicKafkaWriter

        return DynamicKafkaWriter(self, context, self.config, states)

    def open(
        self,
        config: AsyncSinkWriterConfig | None = None,
        metric_group: MetricGroup = UNREGISTERED,
        states: Sequence[DynamicKafkaWriterState] = (),
    ) -> DynamicKafkaWriter:
        """A writer for programs without Spark: ``async with sink.open() as writer: await writer.write(element)``.

        :param metric_group: where the writer tells of itself, such as ``Metrics().group.add_group("orders")``
        :param states: what an earlier writer's ``snapshot_state`` returned
        :raises ConfigurationError: the sink delivers exactly once, and nobody would commit
        """
        check_commits(self.options)
        from asyncsink_dynamic_kafka.writer import DynamicKafkaWriter

        return DynamicKafkaWriter(self, WriterInitContext(metric_group=metric_group), config or self.config, states)

    def open_blocking(
        self, config: AsyncSinkWriterConfig | None = None, metric_group: MetricGroup = UNREGISTERED
    ) -> BlockingSinkWriter[Any, KafkaStreamRecord]:
        """A writer for programs without an event loop: ``with sink.open_blocking() as writer: writer.write(element)``.

        It runs on a loop in a thread of its own; the parameters are those of :meth:`open`.
        """
        from asyncsink.blocking_writer import BlockingSinkWriter

        return BlockingSinkWriter(self.open(config, metric_group))

    def _check_given(self) -> None:
        if (self.options.metadata_service is None) == (self._service is None):
            if self._service is not None:
                raise given_twice("metadataService", self.options.metadata_service)
            raise ConfigurationError(
                "option 'metadataService' is missing: somebody has to know the clusters and topics of streams; set it "
                "to single-cluster, file, http, or the import path of a KafkaMetadataService"
            )
        if self._router is not None and self.options.router != DynamicKafkaOptions.router:
            raise given_twice("router", self.options.router)
