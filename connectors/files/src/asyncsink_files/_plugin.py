"""What the registry reads; it imports nothing else of this distribution."""

from __future__ import annotations

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo(
        name="files",
        sink="asyncsink_files.sink:FilesSink",
        options="asyncsink_files.options:FilesOptions",
        api_version=1,
        guarantees=("exactly-once", "at-least-once"),
    )
