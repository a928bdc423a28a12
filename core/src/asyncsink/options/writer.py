"""The options that every connector has: those of its writer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.options.described import checked_kind, rate_limit, rejecting, stall_timeout_s
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
        "request.rate_limit_duration_secs": "rates are per second or per minute; use rateLimit.requestsPerSecond or "
        "rateLimit.requestsPerMinute",
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
    fail_on_timeout: bool | None = option(
        None, doc="Whether the task fails when requestTimeout is over, in place of sending the request again."
    )
    stall_timeout_s: float | None = option(
        None,
        unit="s",
        doc="Time without any row acknowledged, though some wait, after which the task fails with its counters; "
        "larger than requestTimeout and retry.timeout, inf for never.",
    )
    rate_limit: str | None = option(
        None,
        doc="How the load adapts to what the service bears: aimd, the default, starts with all concurrency, paced "
        "finds a rate, flink starts with a single batch, adaptive follows the round trip, fixed keeps the rates below, "
        "none does not limit; or a RateLimitingStrategy of your own as package.module:Class.",
    )
    rate_limit_requests_per_second: float | None = option(
        None,
        name="rateLimit.requestsPerSecond",
        doc="The most requests in any second. With any of the rates rateLimit may be left out: it is fixed.",
        aliases=["request.rate_limit_num"],
    )
    rate_limit_requests_per_minute: float | None = option(
        None, name="rateLimit.requestsPerMinute", doc="The most requests in any minute."
    )
    rate_limit_records_per_second: float | None = option(
        None, name="rateLimit.recordsPerSecond", doc="The most entries in any second."
    )
    rate_limit_bytes_per_second: int | None = option(
        None,
        name="rateLimit.bytesPerSecond",
        unit="bytes",
        doc="The most bytes in any second, as the service counts them.",
    )
    rate_limit_burst: float | None = option(
        None,
        name="rateLimit.burst",
        doc="What may go at once after a pause, of the first rate that is given in the order of this table, and the "
        "same share of the others; by default what may go in a second.",
    )
    rate_limit_writers: int | None = option(
        None,
        name="rateLimit.writers",
        doc="Number of writers, such as Spark's tasks at work at once, that share the fixed rates, each with its part; "
        "without it the rate is shared by as many tasks as were at work at once in the last batch; until that is "
        "known by Spark's default parallelism where a program has made the sink, and by none elsewhere.",
    )
    on_rejected: Literal["fail", "dead_letter", "drop"] | None = option(
        None,
        doc="What follows a row that can never be delivered: fail, the task fails; dead_letter, it goes to "
        "deadLetter.path; drop, it is counted and forgotten.",
    )
    max_rejected: float | None = option(
        None,
        doc="Share of a task's rows, from 0 to 1, beyond which it fails whatever onRejected says; judged of at least "
        "100 rows.",
    )
    dead_letter_path: str | None = option(
        None,
        name="deadLetter.path",
        doc="Folder, or URL that fsspec knows, for the rows that can never be delivered. With it onRejected may be "
        "left out: it is dead_letter.",
    )
    dead_letter_format: Literal["jsonl", "parquet"] | None = option(
        None, name="deadLetter.format", doc="Format of the files of dead letters; jsonl by default."
    )
    ordering: Literal["none", "key"] | None = option(
        None,
        doc="key keeps the rows of a key in order, with many requests under way; needs a connector that knows the key.",
    )

    batching: Literal["eager", "deterministic"] | None = option(
        None,
        doc="eager sends what is due as soon as it may go; deterministic cuts requests where maxBatchSize and "
        "maxBatchSizeInBytes say and nowhere else, so that a repeated task sends the same requests with the same ids. "
        "maxTimeInBuffer counts for nothing then.",
    )

    def __post_init__(self) -> None:
        if self.rate_limit is not None:
            object.__setattr__(self, "rate_limit", checked_kind(self.rate_limit))

    def config(self, defaults: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
        """The `defaults` of a sink with what the user has set.

        :raises ConfigurationError: the values break a rule; speaks of options, not of fields
        """
        given = {each.field: getattr(self, each.field) for each in option_fields(type(self))}
        given = {name: value for name, value in given.items() if value is not None}
        retry = {name.removeprefix("retry_"): given.pop(name) for name in tuple(given) if name.startswith("retry_")}
        limit = {name.removeprefix("rate_limit_"): given.pop(name) for name in tuple(given) if name in _LIMITS}
        kind = given.pop("rate_limit", None)
        if kind is not None or limit:
            given["rate_limit"] = rate_limit(kind, limit, defaults.rate_limit)
        rejected = {name: given.pop(name) for name in tuple(given) if name in _REJECTING}
        given |= rejecting(rejected, defaults)
        if "stall_timeout_s" in given:
            given["stall_timeout_s"] = stall_timeout_s(given["stall_timeout_s"])
        try:
            return replace(defaults, retry=replace(defaults.retry, **retry), **given)
        except ConfigurationError as error:
            raise ConfigurationError(_in_terms_of_options(str(error))) from None


_LIMITS = frozenset(each.field for each in option_fields(WriterOptions) if each.field.startswith("rate_limit_"))
_REJECTING = frozenset({"on_rejected", "dead_letter_path", "dead_letter_format"})


def _in_terms_of_options(message: str) -> str:
    """A message of the configuration with each field's name turned into its option's."""
    names: dict[str, Any] = {
        re.sub("^retry_", "retry.", each.field): each.name for each in option_fields(WriterOptions)
    }
    names["None"] = "inf"
    return re.sub(r"[a-z_]+(?:\.[a-z_]+)?|\bNone\b", lambda word: names.get(word[0], word[0]), message)
