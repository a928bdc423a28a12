"""Rows to Amazon Data Firehose: ``format("asyncsink.firehose")`` in Spark, :class:`FirehoseSink` in other programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_firehose.options import FirehoseOptions
    from asyncsink_firehose.sink import FirehoseSink

    __version__: str

__all__ = ["FirehoseOptions", "FirehoseSink"]

_MODULES = {"FirehoseOptions": "options", "FirehoseSink": "sink"}


def __getattr__(name: str) -> Any:
    # Finding the connector imports this package first (PEP 562), and must not pay for more than that.
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_firehose.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-firehose")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_firehose' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
