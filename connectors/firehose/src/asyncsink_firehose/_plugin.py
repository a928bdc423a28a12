"""What the registry reads; it imports nothing else of this distribution."""

from __future__ import annotations

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        name="firehose",
        sink="asyncsink_firehose.sink:FirehoseSink",
        options="asyncsink_firehose.options:FirehoseOptions",
        api_version=1,
    )
