"""Every setting of Java's producer in Kafka 3.9 and 4.1, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink.options import folded
from asyncsink_kafka.options.foreign_settings import FOREIGN
from asyncsink_kafka.options.security_settings import SECURITY
from asyncsink_kafka.options.settings import (
    Setting,
    acknowledgements,
    batch_size,
    becomes,
    idle_time,
    ignored_keys,
    level,
    lingering,
    milliseconds,
    partitioner,
    refused,
    size,
    without_effect,
)

_BYTES_AS_THEY_ARE: Final = "key and value are sent as they are, strings in UTF-8; make them with Spark, as by to_json"
_OWN_METRICS: Final = "the writer has metrics of its own"
_JMX: Final = "org.apache.kafka.common.metrics.JmxReporter"
_RECONNECTING: Final = "a lost connection is made again within retry.backoff.ms and delivery.timeout.ms"
_SYSTEM: Final = "the operating system sizes the buffers of connections"

_PRODUCER: Final[tuple[Setting, ...]] = (
    becomes("bootstrap.servers", "bootstrapServers"),
    becomes("client.id", "clientId"),
    becomes("acks", "acks", acknowledgements),
    becomes("enable.idempotence", "enableIdempotence"),
    becomes("compression.type", "compression"),
    becomes("compression.gzip.level", "compressionLevel", level, only_with=("compression", "gzip")),
    becomes("compression.lz4.level", "compressionLevel", only_with=("compression", "lz4")),
    becomes("compression.zstd.level", "compressionLevel", only_with=("compression", "zstd")),
    becomes("partitioner.class", "partitioner", partitioner),
    becomes("partitioner.ignore.keys", "partitioner", ignored_keys),
    becomes("batch.size", "batchSizeInBytes", batch_size),
    becomes("linger.ms", "maxTimeInBuffer", lingering),
    becomes("buffer.memory", "maxBufferedSizeInBytes", size),
    becomes("max.request.size", "maxRecordSizeInBytes", size),
    becomes("request.timeout.ms", "requestTimeout", milliseconds),
    becomes("delivery.timeout.ms", "retry.timeout", milliseconds),
    becomes("retry.backoff.ms", "retry.initialBackoff", milliseconds),
    becomes("retry.backoff.max.ms", "retry.maxBackoff", milliseconds),
    becomes("max.block.ms", "maxBlock", milliseconds),
    becomes("metadata.max.age.ms", "metadataMaxAge", milliseconds),
    becomes("connections.max.idle.ms", "connectionsMaxIdle", idle_time),
    without_effect("retries", "a batch is repeated until delivery.timeout.ms is over, and idempotence stores it once"),
    without_effect(
        "max.in.flight.requests.per.connection", "one request is under way for each broker, which keeps the order"
    ),
    without_effect("partitioner.adaptive.partitioning.enable", "partitions without a leader are left out anyway"),
    without_effect("partitioner.availability.timeout.ms", "partitions without a leader are left out anyway"),
    without_effect("client.dns.lookup", "all addresses of a broker are tried"),
    without_effect("send.buffer.bytes", _SYSTEM),
    without_effect("receive.buffer.bytes", _SYSTEM),
    without_effect("reconnect.backoff.ms", _RECONNECTING),
    without_effect("reconnect.backoff.max.ms", _RECONNECTING),
    without_effect("socket.connection.setup.timeout.ms", "a connection is made within request.timeout.ms"),
    without_effect("socket.connection.setup.timeout.max.ms", "a connection is made within request.timeout.ms"),
    without_effect("metadata.max.idle.ms", "what is known of a topic is kept as long as the client"),
    without_effect("metadata.recovery.strategy", "a task that fails begins again with bootstrap.servers"),
    without_effect("metadata.recovery.rebootstrap.trigger.ms", "a task that fails begins with bootstrap.servers"),
    without_effect("auto.include.jmx.reporter", _OWN_METRICS),
    without_effect("enable.metrics.push", _OWN_METRICS),
    without_effect("metrics.num.samples", _OWN_METRICS),
    without_effect("metrics.recording.level", _OWN_METRICS),
    without_effect("metrics.sample.window.ms", _OWN_METRICS),
    refused("metric.reporters", f"classes of Java cannot be loaded, and {_OWN_METRICS}", _JMX),
    refused("interceptor.classes", "classes of Java cannot be loaded; change rows with Spark before they are written"),
    refused("key.serializer", _BYTES_AS_THEY_ARE),
    refused("value.serializer", _BYTES_AS_THEY_ARE),
    refused("transactional.id", "each task has ids of its own; set deliveryGuarantee=exactly-once"),
    refused("transaction.two.phase.commit.enable", "transactions need no such permission; leave it out", "false"),
    becomes(
        "transaction.timeout.ms", "transactionTimeout", milliseconds, only_with=("deliveryGuarantee", "exactly-once")
    ),
)

SETTINGS: Final[Mapping[str, Setting]] = {folded(each.name): each for each in (*_PRODUCER, *SECURITY, *FOREIGN)}
"""By folded name, without ``kafka.`` or ``properties.``."""

KNOWN: Final[tuple[str, ...]] = tuple(each.name for each in (*_PRODUCER, *SECURITY))
"""What may be suggested for a name that is not known."""
