"""The options that every connector has: those of its writer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.limits.description import RateLimit
from asyncsink.options.fields import Alias, option, option_fields
from asyncsink.options.sections import ConnectorOptions


@dataclass(frozen=True, kw_only=True)
class WriterOptions(ConnectorOptions):
    """The fields of :class:`AsyncSinkWriterConfig` and :class:`RetryPolicy` as options; None is the connector's own."""

    refused: ClassVar[Mapping[str, str]] = {
        "sink.fail-on-error": "a failure is retried within retry.maxAttempts and retry.timeout, and then the task "
        "fails; lower these two to fail sooner",
        "failOnError": "a failure is retried within retry.maxAttempts and retry.timeout, and then the task fails; "
        "lower these two to fail sooner",
    }

    max_batch_size: int | None = option(None, doc="Entries a request.", aliases=["sink.batch.max-size"])
    max_in_flight_requests: int | None = option(
        None,
        doc="Requests that may be under way at once, for each task.",
        aliases=["maxInFlight", "sink.requests.max-inflight"],
    )
    max_buffered_requests: int | None = option(
        None,
        doc="Entries that may wait to be sent, beside those in flight; larger than maxBatchSize.",
        aliases=["sink.requests.max-buffered"],
    )
    max_batch_size_in_bytes: int | None = option(
        None,
        doc="Bytes a request, as the service counts them; at least maxRecordSizeInBytes.",
        unit="bytes",
        aliases=["sink.flush-buffer.size"],
    )
    max_buffered_size_in_bytes: int | None = option(
        None,
        doc="Bytes of all entries that are not acknowledged, in flight included; at least maxBatchSizeInBytes.",
        unit="bytes",
    )
    max_time_in_buffer_s: float | None = option(
        None,
        doc="Time after which an incomplete batch is sent anyway.",
        unit="s",
        aliases=[Alias("maxTimeInBufferMS", unit="ms"), Alias("sink.flush-buffer.timeout", unit="ms")],
    )
    max_record_size_in_bytes: int | None = option(None, doc="Bytes an entry; a larger one is rejected.", unit="bytes")
    request_timeout_s: float | None = option(
        None,
        doc="Time after which the answer to a request is no longer waited for and the request is sent again.",
        unit="s",
        aliases=[Alias("requestTimeoutMS", unit="ms")],
    )
    retry_max_attempts: int | None = option(
        None, name="retry.maxAttempts", doc="Tries of an entry that the destination answers with a failure of its own."
    )
    retry_timeout_s: float | None = option(
        None,
        name="retry.timeout",
        unit="s",
        doc="Time without any entry stored, after which the destination counts as unavailable and the task fails.",
    )
    retry_initial_backoff_s: float | None = option(
        None, name="retry.initialBackoff", unit="s", doc="Upper bound of the first wait; it doubles with each failure."
    )
    retry_max_backoff_s: float | None = option(
        None, name="retry.maxBackoff", unit="s", doc="Upper bound of every wait between two tries."
    )
    retry_retry_after_cap_s: float | None = option(
        None, name="retry.retryAfterCap", unit="s", doc="The longest Retry-After of a service that is honoured."
    )
    rate_limit: Literal["aimd", "flink"] | None = option(
        None,
        doc="How the requests under way adapt to what the service bears: aimd starts with all concurrency, "
        "flink with a single batch.",
    )
    on_rejected: Literal["fail"] | None = option(
        None, doc="What follows a row that can never be delivered: fail, the task fails."
    )

    def config(self, defaults: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
        """The `defaults` of a sink with what the user has set.

        :raises ConfigurationError: the values break a rule; speaks of options, not of fields
        """
        given = {each.field: getattr(self, each.field) for each in option_fields(type(self))}
        given = {name: value for name, value in given.items() if value is not None}
        retry = {name.removeprefix("retry_"): given.pop(name) for name in tuple(given) if name.startswith("retry_")}
        if given.get("rate_limit") is not None:
            given["rate_limit"] = _rate_limit(given["rate_limit"], defaults.rate_limit)
        try:
            return replace(defaults, retry=replace(defaults.retry, **retry), **given)
        except ConfigurationError as error:
            raise ConfigurationError(_in_terms_of_options(str(error))) from None


def _rate_limit(kind: str, default: RateLimit) -> RateLimit:
    if kind == default.kind:
        return default
    return RateLimit.flink() if kind == "flink" else RateLimit.aimd()


def _in_terms_of_options(message: str) -> str:
    """A message of the configuration with each field's name turned into its option's."""
    names: dict[str, Any] = {
        re.sub("^retry_", "retry.", each.field): each.name for each in option_fields(WriterOptions)
    }
    return re.sub(r"[a-z_]+(?:\.[a-z_]+)?", lambda word: names.get(word[0], word[0]), message)
