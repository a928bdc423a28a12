"""Rows to Apache Kafka: ``format("asyncsink.kafka")`` in Spark, :class:`KafkaSink` in any other program."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_kafka.options import KafkaOptions
    from asyncsink_kafka.record import KafkaRecord
    from asyncsink_kafka.sink import KafkaSink

    __version__: str

__all__ = ["KafkaOptions", "KafkaRecord", "KafkaSink"]

_MODULES = {"KafkaOptions": "options", "KafkaRecord": "record", "KafkaSink": "sink"}


def __getattr__(name: str) -> Any:
    # Finding the connector imports this package first (PEP 562), and must not pay for more than that.
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_kafka.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-kafka")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_kafka' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
