"""What the registry reads; it imports nothing else of this distribution."""

from __future__ import annotations

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        name="kafka",
        sink="asyncsink_kafka.sink:KafkaSink",
        options="asyncsink_kafka.options:KafkaOptions",
        api_version=1,
        guarantees=("at-least-once", "exactly-once", "none"),
    )
