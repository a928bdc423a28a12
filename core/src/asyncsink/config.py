"""What a writer may be told: sizes, times and what to do about failures."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import inf, isnan
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

from asyncsink.errors import ConfigurationError
from asyncsink.limits.description import RateLimit

if TYPE_CHECKING:
    from asyncsink.dead_letters import DeadLetterStore

OnRejected = Literal["fail", "dead_letter", "drop"]
Ordering = Literal["none", "key"]
Batching = Literal["eager", "deterministic"]

KiB = 1024
MiB = 1024 * KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long and how often failures are answered with another try.

    Failures of the *destination* (no answer, throttling) are bounded by `timeout_s`, failures of an *entry* (an answer
    about it) by `max_attempts`. Waits are full jitter: uniform between 0 and ``initial_backoff_s * 2**n``, at most
    `max_backoff_s`. A service's own Retry-After is honoured up to `retry_after_cap_s`.
    """

    max_attempts: int = 10
    timeout_s: float = 900.0
    initial_backoff_s: float = 0.1
    max_backoff_s: float = 30.0
    retry_after_cap_s: float = 300.0

    def __post_init__(self) -> None:
        _check_number("retry.max_attempts", self.max_attempts, whole=True)
        _check_number("retry.timeout_s", self.timeout_s)
        _check_number("retry.initial_backoff_s", self.initial_backoff_s, zero=True)
        _check_number("retry.max_backoff_s", self.max_backoff_s, zero=True)
        _check_number("retry.retry_after_cap_s", self.retry_after_cap_s, zero=True)
        if self.max_backoff_s < self.initial_backoff_s:
            raise ConfigurationError(
                f"retry.max_backoff_s = {self.max_backoff_s} is smaller than retry.initial_backoff_s = "
                f"{self.initial_backoff_s}; raise the former or lower the latter"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncSinkWriterConfig:
    """The limits of one writer (FLIP-171, FLIP-451); a sink's ``defaults`` hold those of its service.

    :param max_batch_size: entries a request
    :param max_in_flight_requests: requests that may be under way at once
    :param max_buffered_requests: entries that may wait to be sent, beside those in flight
    :param max_batch_size_in_bytes: bytes a request
    :param max_buffered_size_in_bytes: bytes of all entries that are not acknowledged, in flight included
    :param max_time_in_buffer_s: seconds after which an incomplete batch goes anyway
    :param max_record_size_in_bytes: bytes an entry
    :param request_timeout_s: seconds after which an answer is no longer waited for
    :param fail_on_timeout: whether the writer fails then; it sends the request again otherwise
    :param rate_limit: how the load adapts to what the service bears; by default all concurrency, less after failures
    :param retry: what follows a failure
    :param on_rejected: what follows an element that can never be delivered: the writer fails, keeps it in
        `dead_letters`, or drops it and counts it
    :param max_rejected: the share of the elements beyond which the writer fails whatever `on_rejected` says; judged
        at each flush, of at least 100 elements
    :param ordering: ``"key"`` keeps the entries of a key in order, with many requests in flight; the sink must say
        what the key is. A key then has at most one request in flight, and a request of a sink that does not store
        requests whole holds at most one entry of each key: with few keys that is slow
    :param batching: ``"deterministic"`` cuts requests where count and bytes say, whatever the time, the load and the
        destination do, so that the same elements written again under the same query, batch and partition make the
        same requests with the same ids; see ``docs/explanation/exactly-once.md``. `max_time_in_buffer_s` counts for
        nothing then: what is no whole batch waits for ``flush(True)``
    :param stall_timeout_s: seconds without an acknowledgement, though entries wait, after which the writer fails with
        its counters; None for never
    :param dead_letters: where dead letters go, such as ``DeadLetterFiles("/data/dead")``
    :raises ConfigurationError: names the field, its value and the rule it breaks
    """

    max_batch_size: int = 500
    max_in_flight_requests: int = 50
    max_buffered_requests: int = 10_000
    max_batch_size_in_bytes: int = 5 * MiB
    max_buffered_size_in_bytes: int = 64 * MiB
    max_time_in_buffer_s: float = 5.0
    max_record_size_in_bytes: int = 1 * MiB
    request_timeout_s: float = 60.0
    fail_on_timeout: bool = False
    rate_limit: RateLimit = field(default_factory=RateLimit.aimd)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    on_rejected: OnRejected = "fail"
    max_rejected: float = 0.1
    ordering: Ordering = "none"
    batching: Batching = "eager"
    stall_timeout_s: float | None = 1800.0
    dead_letters: DeadLetterStore | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name.endswith("_s"):
                if each.name != "stall_timeout_s" or value is not None:
                    _check_number(each.name, value)
            elif each.name.startswith("max_") and each.name != "max_rejected":
                _check_number(each.name, value, whole=True)
        if not isinstance(self.rate_limit, RateLimit):
            raise ConfigurationError(f"rate_limit = {self.rate_limit!r} is no RateLimit; use RateLimit.aimd()")
        if not isinstance(self.retry, RetryPolicy):
            raise ConfigurationError(f"retry = {self.retry!r} is no RetryPolicy; use RetryPolicy(...)")
        if not isinstance(self.fail_on_timeout, bool):
            raise ConfigurationError(f"fail_on_timeout = {self.fail_on_timeout!r} must be True or False")
        self._check_order("max_buffered_requests", "max_batch_size", strict=True)
        self._check_order("max_batch_size_in_bytes", "max_record_size_in_bytes")
        self._check_order("max_buffered_size_in_bytes", "max_batch_size_in_bytes")
        self._check_stall()
        self._check_rejecting()
        _check_choice("ordering", self.ordering, get_args(Ordering))
        _check_choice("batching", self.batching, get_args(Batching))
        if self.batching == "deterministic" and self.ordering == "key":
            raise ConfigurationError(
                "batching = 'deterministic' and ordering = 'key' exclude each other: which entry of a key waits for "
                "another is decided by what the destination does; leave one of them out"
            )

    def _check_stall(self) -> None:
        stall_s = inf if self.stall_timeout_s is None else self.stall_timeout_s
        for name, value in (("request_timeout_s", self.request_timeout_s), ("retry.timeout_s", self.retry.timeout_s)):
            if stall_s <= value and stall_s < inf:
                raise ConfigurationError(
                    f"stall_timeout_s = {self.stall_timeout_s} must be larger than {name} = {value}; "
                    "raise the former or lower the latter, or set stall_timeout_s to None"
                )

    def _check_rejecting(self) -> None:
        _check_choice("on_rejected", self.on_rejected, get_args(OnRejected))
        share = self.max_rejected
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ConfigurationError(f"max_rejected = {share!r} must be a share between 0 and 1")
        store: Any = self.dead_letters
        # By its method, as importing the protocol costs more than it is worth; pathlib's paths have one like it.
        if store is not None and (isinstance(store, PathLike) or not callable(getattr(store, "open", None))):
            raise ConfigurationError(
                f"dead_letters is of type {type(store).__name__}, which is no DeadLetterStore; "
                "give DeadLetterFiles(path)"
            )
        if self.on_rejected == "dead_letter" and self.dead_letters is None:
            raise ConfigurationError(
                "on_rejected = 'dead_letter' needs to know where dead letters go; "
                "set dead_letters, such as DeadLetterFiles(path)"
            )

    def _check_order(self, larger: str, smaller: str, strict: bool = False) -> None:
        high, low = getattr(self, larger), getattr(self, smaller)
        if high < low or (strict and high == low):
            rule = "larger than" if strict else "at least as large as"
            raise ConfigurationError(
                f"{larger} = {high} must be {rule} {smaller} = {low}; raise the former or lower the latter"
            )


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        allowed = ", ".join(map(repr, choices))
        raise ConfigurationError(f"{name} = {value!r} is not known; it must be one of {allowed}")


def _check_number(name: str, value: Any, *, whole: bool = False, zero: bool = False) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        expected = "a whole number" if whole else "a number of seconds"
        raise ConfigurationError(f"{name} = {value!r} is of type {type(value).__name__}; it must be {expected}")
    if value < 0 or (value == 0 and not zero) or (isinstance(value, float) and isnan(value)):
        raise ConfigurationError(f"{name} = {value!r} must be {'0 or more' if zero else 'larger than 0'}")
