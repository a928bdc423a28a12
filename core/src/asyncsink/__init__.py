"""Any system behind an API as a sink, at the speed it allows, without losing a row.

A connector is one subclass of :class:`AsyncSink`. Programs use it by ``async with sink.open() as writer``; Spark by
``format("asyncsink.<name>")``, which is in :mod:`asyncsink.spark`. What stands in ``__all__`` is the public surface;
everything else may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncsink.accounting import Accounting
from asyncsink.async_sink import AsyncSink
from asyncsink.blocking import blocking
from asyncsink.blocking_writer import BlockingSinkWriter
from asyncsink.blocks import EntryBlock, ListBlock
from asyncsink.committer import Committer, GlobalCommitter, Sweeper
from asyncsink.config import AsyncSinkWriterConfig, KiB, MiB, RetryPolicy
from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import Column, InitContext, Schema, WriteContext, WriterInitContext
from asyncsink.converter import ElementConverter
from asyncsink.dead_letters import DeadLetter, DeadLetterFiles, DeadLetterQueue, DeadLetterStore, read_dead_letters
from asyncsink.errors import (
    AccountingError,
    AsyncSinkError,
    CommitError,
    CommitTimedOutError,
    ConfigurationError,
    ConnectorLoadError,
    ConnectorNotFoundError,
    ConversionError,
    DeadLetterError,
    DeliveryError,
    DestinationUnavailableError,
    FatalRequestError,
    LedgerError,
    LedgerUnavailableError,
    LostCommittablesError,
    OversizedEntryError,
    RejectedEntryError,
    RequestError,
    RequestRejectedError,
    RequestTimedOutError,
    SchemaError,
    StalledError,
    TooManyRejectedError,
    WouldBlock,
    WriterClosedError,
    WriterError,
    WriterFailedError,
)
from asyncsink.failures import ErrorTable, Failure, FailureKind
from asyncsink.limits import (
    AdaptiveConcurrencyStrategy,
    AIMDScalingStrategy,
    CongestionControlRateLimitingStrategy,
    NoOpScalingStrategy,
    NoRateLimitingStrategy,
    PacedRateLimitingStrategy,
    RateLimit,
    RateLimitingStrategy,
    RequestInfo,
    ResultInfo,
    ScalingStrategy,
    ThresholdScalingStrategy,
    TokenBucketRateLimitingStrategy,
)
from asyncsink.local_run import LocalRun, run_local
from asyncsink.metrics import MetricGroup, Metrics
from asyncsink.options import Alias, ConnectorOptions, OptionInfo, WriterOptions, option, parse_options
from asyncsink.processing_time import ProcessingTimers, ProcessingTimeService
from asyncsink.request import ListRequestEntries, RequestEntries, RequestResult
from asyncsink.serializer import (
    BufferedRequestStateSerializer,
    BytesSerializer,
    DataclassSerializer,
    SimpleVersionedSerializer,
)
from asyncsink.sink import Sink, SinkWriter
from asyncsink.state import BufferedRequestState
from asyncsink.transactions import Transaction
from asyncsink.writer import AsyncSinkWriter, WriterStatistics

if TYPE_CHECKING:
    __version__: str

__all__ = [
    "AIMDScalingStrategy",
    "Accounting",
    "AccountingError",
    "AdaptiveConcurrencyStrategy",
    "Alias",
    "AsyncSink",
    "AsyncSinkError",
    "AsyncSinkWriter",
    "AsyncSinkWriterConfig",
    "BlockingSinkWriter",
    "BufferedRequestState",
    "BufferedRequestStateSerializer",
    "BytesSerializer",
    "Column",
    "CommitError",
    "CommitTimedOutError",
    "Committer",
    "ConfigurationError",
    "ConfiguredSink",
    "CongestionControlRateLimitingStrategy",
    "ConnectorLoadError",
    "ConnectorNotFoundError",
    "ConnectorOptions",
    "ConversionError",
    "DataclassSerializer",
    "DeadLetter",
    "DeadLetterError",
    "DeadLetterFiles",
    "DeadLetterQueue",
    "DeadLetterStore",
    "DeliveryError",
    "DestinationUnavailableError",
    "ElementConverter",
    "EntryBlock",
    "ErrorTable",
    "Failure",
    "FailureKind",
    "FatalRequestError",
    "GlobalCommitter",
    "InitContext",
    "KiB",
    "LedgerError",
    "LedgerUnavailableError",
    "ListBlock",
    "ListRequestEntries",
    "LocalRun",
    "LostCommittablesError",
    "MetricGroup",
    "Metrics",
    "MiB",
    "NoOpScalingStrategy",
    "NoRateLimitingStrategy",
    "OptionInfo",
    "OversizedEntryError",
    "PacedRateLimitingStrategy",
    "ProcessingTimeService",
    "ProcessingTimers",
    "RateLimit",
    "RateLimitingStrategy",
    "RejectedEntryError",
    "RequestEntries",
    "RequestError",
    "RequestInfo",
    "RequestRejectedError",
    "RequestResult",
    "RequestTimedOutError",
    "ResultInfo",
    "RetryPolicy",
    "ScalingStrategy",
    "Schema",
    "SchemaError",
    "SimpleVersionedSerializer",
    "Sink",
    "SinkWriter",
    "StalledError",
    "Sweeper",
    "ThresholdScalingStrategy",
    "TokenBucketRateLimitingStrategy",
    "TooManyRejectedError",
    "Transaction",
    "WouldBlock",
    "WriteContext",
    "WriterClosedError",
    "WriterError",
    "WriterFailedError",
    "WriterInitContext",
    "WriterOptions",
    "WriterStatistics",
    "blocking",
    "option",
    "parse_options",
    "read_dead_letters",
    "run_local",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-core")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink' has no attribute {name!r}")
