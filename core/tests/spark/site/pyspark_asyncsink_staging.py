"""The shim of the staging connector, as connectors ship it."""

from __future__ import annotations

FAILURE: Exception | None = None

try:
    from asyncsink.spark import ConnectorDataSource

    class DefaultSource(ConnectorDataSource):
        connector = "staging"

except Exception as error:  # An error here would hide every Python data source of the session, not only this one.
    FAILURE = error
