"""The base of streaming writers that get Arrow batches, for every PySpark that can feed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import datasource

if TYPE_CHECKING or hasattr(datasource, "DataSourceStreamArrowWriter"):
    from pyspark.sql.datasource import DataSourceStreamArrowWriter as StreamArrowWriter
else:

    class StreamArrowWriter(datasource.DataSourceStreamWriter, datasource.DataSourceArrowWriter):
        """What PySpark 4.0 has no class for.

        Its workers hand Arrow batches to every writer that is a ``DataSourceArrowWriter``, that of a stream too. Rows
        would not do: on their way into Python's types the two instants of an hour that the clock repeats become one,
        and strings that are no UTF-8, years after 9999 and maps whose keys are arrays fail the task.
        """


__all__ = ["StreamArrowWriter"]
