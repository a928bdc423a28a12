"""The peer: the least that a sink in Python can do under PySpark, which is to take what comes and forget it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)


class IdleBatchWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return drain(iterator)


class IdleStreamWriter(DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return drain(iterator)


class DefaultSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "idle"

    def writer(self, schema: Any, overwrite: bool) -> IdleBatchWriter:
        return IdleBatchWriter()

    def streamWriter(self, schema: Any, overwrite: bool) -> IdleStreamWriter:  # noqa: N802
        return IdleStreamWriter()


def drain(batches: Iterator[Any]) -> WriterCommitMessage:
    for _ in batches:
        pass
    return WriterCommitMessage()
