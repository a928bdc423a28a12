"""The doors from Spark to a sink by name: a format for each connector, and one format for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource

from asyncsink.errors import ConfigurationError, ConnectorNotFoundError
from asyncsink.options.names import folded

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
    from pyspark.sql.types import StructType

    from asyncsink.spark.planning import Plan


class ConnectorDataSource(DataSource):
    """The base of every shim's ``DefaultSource``: a data source that writes to one connector.

    A connector's distribution ships a top-level module ``pyspark_asyncsink_<name>``, which Spark finds by its name::

        try:
            from asyncsink.spark import ConnectorDataSource

            class DefaultSource(ConnectorDataSource):
                connector = "toy"

        except Exception as error:  # An error here would hide every Python data source of the session.
            FAILURE = error
    """

    connector: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return f"asyncsink.{cls.connector}"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """The writer of a batch job, planned on the driver's side."""
        plan = self._plan(schema, overwrite=overwrite, streaming=False)
        from asyncsink.spark.batch import BatchWriter

        return BatchWriter(plan)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        """The writer of one micro-batch; Spark asks for it afresh each time, and once more on the driver to commit."""
        plan = self._plan(schema, overwrite=overwrite, streaming=True)
        from asyncsink.spark.stream import StreamWriter

        return StreamWriter(plan)

    def _plan(self, schema: StructType, *, overwrite: bool, streaming: bool) -> Plan:
        _check_pyspark()
        from asyncsink.spark.sentences import ours

        with ours(f"planning the write to {self.name()!r}"):
            return self._planned(schema, overwrite=overwrite, streaming=streaming)

    def _planned(self, schema: StructType, *, overwrite: bool, streaming: bool) -> Plan:
        """What a door of another kind does in its own way."""
        from asyncsink.spark.planning import plan

        return plan(self._connector(), self.options, schema, overwrite=overwrite, streaming=streaming)

    def _connector(self) -> str:
        asked = option_of(self, "sink")
        if asked is not None and folded(asked) != folded(self.connector):
            raise ConfigurationError(
                f"option 'sink' = {asked!r} contradicts format {self.name()!r}; leave the option out, or use "
                f"format('asyncsink') with it"
            )
        return self.connector


class AsyncSinkDataSource(ConnectorDataSource):
    """``format("asyncsink").option("sink", "http")``: any connector, with an error that says what is installed."""

    @classmethod
    def name(cls) -> str:
        return "asyncsink"

    def _connector(self) -> str:
        asked = option_of(self, "sink")
        if asked is None:
            from asyncsink.plugins import available

            installed = ", ".join(each.name for each in available()) or "none"
            raise ConnectorNotFoundError(
                "option 'sink' is missing: format('asyncsink') writes to the connector that it names "
                f"(installed: {installed})"
            )
        return asked


def option_of(source: DataSource, name: str) -> str | None:
    """The value of an option in any spelling of its name; None if it is not given."""
    return next((value for key, value in source.options.items() if folded(key) == folded(name)), None)


def _check_pyspark() -> None:
    """Refuse a PySpark whose writers get rows only; see :mod:`asyncsink.spark.arrow_writers`."""
    from pyspark.sql import datasource

    if not hasattr(datasource, "DataSourceArrowWriter"):
        from pyspark import __version__

        raise ConfigurationError(
            f"PySpark {__version__} is too old for asyncsink, which needs 4.0 or later; pip install 'pyspark>=4'"
        )
