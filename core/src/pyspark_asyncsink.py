"""Spark's shim for ``format("asyncsink")``: Spark finds it by its name and imports it in its planner processes."""

from __future__ import annotations

import_error: Exception | None = None

try:
    from asyncsink.spark import AsyncSinkDataSource

    class DefaultSource(AsyncSinkDataSource):
        """``format("asyncsink").option("sink", "<connector>")``."""
except Exception as error:  # Spark imports every shim: one that raised would hide all other data sources
    import_error = error
