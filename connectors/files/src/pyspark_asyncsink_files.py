"""Makes ``format("asyncsink.files")`` known to Spark, which imports every top-level module named ``pyspark_*``."""

from __future__ import annotations

FAILURE: Exception | None = None
"""Why there is no data source of this name, if there is none; ``python -m asyncsink doctor`` shows it."""

try:
    from asyncsink.spark import ConnectorDataSource

    class DefaultSource(ConnectorDataSource):
        """``format("asyncsink.files")``."""

        connector = "files"

except Exception as error:  # An error here would hide every Python data source of the session, not only this one.
    FAILURE = error
