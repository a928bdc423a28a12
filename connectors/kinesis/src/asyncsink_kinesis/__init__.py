"""Rows to Amazon Kinesis Data Streams: ``format("asyncsink.kinesis")`` in Spark, :class:`KinesisSink` elsewhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_kinesis.entry import KinesisEntry
    from asyncsink_kinesis.entry_serializer import KinesisEntrySerializer
    from asyncsink_kinesis.options import KinesisOptions
    from asyncsink_kinesis.sink import KinesisSink

    __version__: str

__all__ = ["KinesisEntry", "KinesisEntrySerializer", "KinesisOptions", "KinesisSink"]

_MODULES = {
    "KinesisEntry": "entry",
    "KinesisEntrySerializer": "entry_serializer",
    "KinesisOptions": "options",
    "KinesisSink": "sink",
}


def __getattr__(name: str) -> Any:
    # Finding the connector imports this package first (PEP 562), and must not pay for more than that.
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_kinesis.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-kinesis")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_kinesis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
