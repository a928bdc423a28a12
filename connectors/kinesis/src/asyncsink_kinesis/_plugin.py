"""What the registry reads; it imports nothing else of this distribution."""

from __future__ import annotations

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        name="kinesis",
        sink="asyncsink_kinesis.sink:KinesisSink",
        options="asyncsink_kinesis.options:KinesisOptions",
        api_version=1,
    )
