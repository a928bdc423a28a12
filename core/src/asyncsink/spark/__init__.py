"""What Spark uses to write to a sink by name: ``format("asyncsink.http")``, or ``format("asyncsink")`` for all.

Spark imports every shim, and with it this package, in its planner process: PySpark aside, nothing heavy is loaded here.
"""

from asyncsink.spark.datasource import AsyncSinkDataSource, ConnectorDataSource

__all__ = ["AsyncSinkDataSource", "ConnectorDataSource"]
