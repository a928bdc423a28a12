"""Makes Spark know ``format("asyncsink.dynamic_kafka")``: it imports every top-level module named ``pyspark_*``."""

from __future__ import annotations

FAILURE: Exception | None = None
"""Why there is no data source of this name, if there is none; ``python -m asyncsink doctor`` shows it."""

try:
    from asyncsink.spark import ConnectorDataSource

    class DefaultSource(ConnectorDataSource):
        """``format("asyncsink.dynamic_kafka")``."""

        connector = "dynamic_kafka"

except Exception as error:  # An error here would hide every Python data source of the session, not only this one.
    FAILURE = error
