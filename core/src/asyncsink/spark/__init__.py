"""What Spark uses to write to a sink: by name, ``format("asyncsink.http")``, or one that a program has made.

Spark imports every shim, and with it this package, in its planner process: PySpark aside, nothing heavy is loaded here.
"""

from asyncsink.spark.datasource import AsyncSinkDataSource, ConnectorDataSource
from asyncsink.spark.foreach import foreach_batch
from asyncsink.spark.formats import register
from asyncsink.spark.listener import ProgressListener

__all__ = ["AsyncSinkDataSource", "ConnectorDataSource", "ProgressListener", "foreach_batch", "register"]
