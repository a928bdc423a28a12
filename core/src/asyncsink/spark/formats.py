"""Making formats known to a session by hand, where Spark's own search does not find them, and asking a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from asyncsink.spark.datasource import AsyncSinkDataSource, ConnectorDataSource

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

T = TypeVar("T")


def register(spark: SparkSession) -> tuple[str, ...]:
    """Make ``format("asyncsink")`` and the format of every installed connector known; returns their names.

    Call it where Spark says that a format is not found: in each thread that did not make the session, since Spark looks
    for Python's data sources in the session that is active in the thread, and once on platforms whose driver does not
    search the Python path for modules named ``pyspark_*``. Calling it again does no harm. The connectors must be
    importable by the Python of the driver and of the executors all the same.

    Connectors that ``ASYNCSINK_DISABLED`` names are left out, and so are those that a program has registered by
    :func:`asyncsink.plugins.register`: Spark's planner is another process.
    """
    from asyncsink.plugins import available

    activate(spark)
    installed = [each.name for each in available() if each.package is not None and not each.disabled]
    sources: list[type[ConnectorDataSource]] = [AsyncSinkDataSource]
    sources.extend(type("ConnectorSource", (ConnectorDataSource,), {"connector": name}) for name in installed)
    for source in sources:
        _register(spark, source)
    return tuple(source.name() for source in sources)


def activate(spark: SparkSession) -> None:
    """Make it the active session of this thread: without one Spark finds no data source of Python in it."""
    # The one call of the public interface that does so in every release; `spark.sql` puts back what was before.
    spark.createDataFrame([], "active int")


def of_context(spark: SparkSession, ask: Callable[[SparkContext], T]) -> T | None:
    """What the context of a session answers; None with Spark Connect, which shows none."""
    from pyspark.errors import PySparkException

    try:
        return ask(spark.sparkContext)
    except (PySparkException, AttributeError):
        return None


def _register(spark: SparkSession, source: type[ConnectorDataSource]) -> None:
    from pyspark.errors import AnalysisException

    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if condition_of(error) != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        # Spark has found it by itself, and it is the same.


def condition_of(error: Any) -> str | None:
    """The name that Spark gives an error."""
    condition: str | None = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return condition
