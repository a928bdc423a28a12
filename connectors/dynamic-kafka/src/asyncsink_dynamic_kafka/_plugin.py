"""What the registry reads; it imports nothing else of this distribution."""

from __future__ import annotations

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        name="dynamic_kafka",
        sink="asyncsink_dynamic_kafka.sink:DynamicKafkaSink",
        options="asyncsink_dynamic_kafka.options:DynamicKafkaOptions",
        api_version=1,
        guarantees=("at-least-once", "exactly-once"),
    )
