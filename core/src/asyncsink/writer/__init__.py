"""The writer of an AsyncSink: buffering, batching, sending, retrying."""

from asyncsink.writer.statistics import WriterStatistics
from asyncsink.writer.writer import AsyncSinkWriter

__all__ = ["AsyncSinkWriter", "WriterStatistics"]
