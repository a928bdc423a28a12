"""The builder of FLIP-515, for those who bring a program from Flink."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Self

from asyncsink.errors import ConfigurationError
from asyncsink.options import WriterOptions, folded, parse_options
from asyncsink.options.fields import option_fields
from asyncsink_dynamic_kafka.given import joined
from asyncsink_dynamic_kafka.options import DynamicKafkaOptions

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
    from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
    from asyncsink_dynamic_kafka.serializer import KafkaStreamRecordSerializer
    from asyncsink_dynamic_kafka.sink import DynamicKafkaSink


class DynamicKafkaSinkBuilder:
    """Collects what a :class:`DynamicKafkaSink` is made of; every method but :meth:`build` returns the builder.

    ::

        DynamicKafkaSink.builder()
            .set_subscribed_stream_ids({"orders"})
            .set_kafka_metadata_service(service)
            .set_kafka_stream_record_serializer(serializer)
            .set_property("linger.ms", "100")
            .build()
    """

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._objects: dict[str, Any] = {}

    def set_subscribed_stream_ids(self, stream_ids: Collection[str]) -> Self:
        """Write to these streams, and to no others."""
        return self._set("streamIds", joined(stream_ids))

    def set_stream_pattern(self, stream_pattern: str | re.Pattern[str]) -> Self:
        """Write to the streams whose whole id the regular expression matches, and to no others."""
        return self._set("streamPattern", stream_pattern if isinstance(stream_pattern, str) else stream_pattern.pattern)

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> Self:
        """Ask this one where the streams are; those that come with the connector may also be set as properties."""
        self._objects["metadata_service"] = kafka_metadata_service
        return self

    def set_kafka_stream_record_serializer(self, serializer: KafkaStreamRecordSerializer[Any]) -> Self:
        """Make the records of elements by it."""
        self._objects["kafka_stream_record_serializer"] = serializer
        return self

    def set_router(self, router: ReconcilableStreamRouter | str) -> Self:
        """Choose among the cluster topics of a stream by it."""
        if isinstance(router, str):
            return self._set("router", router)
        self._objects["router"] = router
        return self

    def set_delivery_guarantee(self, delivery_guarantee: str) -> Self:
        """``at-least-once`` or ``exactly-once``; Flink's AT_LEAST_ONCE and EXACTLY_ONCE are the same."""
        return self._set("deliveryGuarantee", delivery_guarantee)

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """What the transactional ids of the query begin with, in every cluster."""
        return self._set("transactionalIdPrefix", transactional_id_prefix)

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of Java's producer, such as ``linger.ms``, or any option of the sink by one of its names."""
        if not isinstance(value, str):
            raise ConfigurationError(
                f"property {key!r} is of type {type(value).__name__}; write it as a string, as Java's Properties "
                "have it"
            )
        return self._set(key if folded(key) in _options() else _of_producer(key), value)

    def set_properties(self, properties: Mapping[str, str]) -> Self:
        """Set several, each as :meth:`set_property` does."""
        for key, value in properties.items():
            self.set_property(key, value)
        return self

    def build(self) -> DynamicKafkaSink:
        """The sink.

        :raises ConfigurationError: something is missing, not known, or breaks its rule
        """
        from asyncsink_dynamic_kafka.sink import DynamicKafkaSink

        options, writer = parse_options(self._options, DynamicKafkaOptions, WriterOptions)
        return DynamicKafkaSink(options, config=writer.config(DynamicKafkaSink.defaults), **self._objects)

    def _set(self, key: str, value: str) -> Self:
        self._options[key] = value
        return self


def _options() -> set[str]:
    """The names of the sink's own options, folded."""
    sections = (DynamicKafkaOptions, WriterOptions)
    return {folded(name.name) for section in sections for each in option_fields(section) for name in each.spellings}


def _of_producer(key: str) -> str:
    """A bare name of Java's producer as the options take it; any other key as it is."""
    # The table of settings is no small one, and others never read it.
    from asyncsink_kafka.options.producer_settings import SETTINGS

    return f"kafka.{key}" if folded(key) in SETTINGS else key
