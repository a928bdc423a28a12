"""What the registry reads; it imports nothing else of this distribution."""

from __future__ import annotations

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        name="http",
        sink="asyncsink_http.sink:HttpSink",
        options="asyncsink_http.options:HttpOptions",
        api_version=1,
    )
