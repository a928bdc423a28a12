from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig, MiB, RetryPolicy
from asyncsink.dead_letters import DeadLetterFiles
from asyncsink.errors import ConfigurationError
from asyncsink.limits import RateLimit
from asyncsink.options import WriterOptions
from asyncsink_testing.fake_sink import FakeOptions, FakeSink

DEFAULTS = AsyncSinkWriterConfig()
RATES = (
    "requests_per_second",
    "requests_per_minute",
    "records_per_second",
    "bytes_per_second",
    "burst",
    "writers",
)
REMEDY = "raise the former or lower the latter"


def config(options: dict[str, str], defaults: AsyncSinkWriterConfig = DEFAULTS) -> AsyncSinkWriterConfig:
    return WriterOptions.from_options(options).config(defaults)


def test_without_options_the_sinks_defaults_hold() -> None:
    defaults = AsyncSinkWriterConfig(max_batch_size=7, retry=RetryPolicy(max_attempts=3), rate_limit=RateLimit.flink())
    assert config({}, defaults) == defaults


def test_every_field_of_the_configuration_has_an_option() -> None:
    covered = {each.name for each in fields(WriterOptions)}
    wanted = {each.name for each in fields(AsyncSinkWriterConfig)} - {"retry", "dead_letters"}
    wanted |= {f"retry_{each.name}" for each in fields(RetryPolicy)} | {"dead_letter_path", "dead_letter_format"}
    assert covered == wanted | {f"rate_limit_{name}" for name in RATES}


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("maxBatchSize", "100", "max_batch_size", 100),
        ("sink.batch.max-size", "100", "max_batch_size", 100),
        ("maxInFlightRequests", "4", "max_in_flight_requests", 4),
        ("maxInFlight", "4", "max_in_flight_requests", 4),
        ("sink.requests.max-inflight", "4", "max_in_flight_requests", 4),
        ("maxBufferedRequests", "900", "max_buffered_requests", 900),
        ("sink.requests.max-buffered", "900", "max_buffered_requests", 900),
        ("maxBatchSizeInBytes", "2mb", "max_batch_size_in_bytes", 2 * MiB),
        ("sink.flush-buffer.size", "2097152", "max_batch_size_in_bytes", 2 * MiB),
        ("maxBufferedSizeInBytes", "8mb", "max_buffered_size_in_bytes", 8 * MiB),
        ("maxTimeInBuffer", "2", "max_time_in_buffer_s", 2.0),
        ("maxTimeInBuffer", "2500ms", "max_time_in_buffer_s", 2.5),
        ("maxTimeInBufferMS", "2500", "max_time_in_buffer_s", 2.5),
        ("sink.flush-buffer.timeout", "2500", "max_time_in_buffer_s", 2.5),
        ("maxRecordSizeInBytes", "64k", "max_record_size_in_bytes", 65536),
        ("requestTimeout", "1min", "request_timeout_s", 60.0),
        ("requestTimeoutMS", "30000", "request_timeout_s", 30.0),
        ("request_timeout_s", "30", "request_timeout_s", 30.0),
        ("max_time_in_buffer_s", "2500ms", "max_time_in_buffer_s", 2.5),
        ("max_batch_size_in_bytes", "2mb", "max_batch_size_in_bytes", 2 * MiB),
        ("retry.timeout_s", "5min", "retry", RetryPolicy(timeout_s=300.0)),
        ("retry_timeout_s", "5min", "retry", RetryPolicy(timeout_s=300.0)),
        ("rateLimit", "flink", "rate_limit", RateLimit.flink()),
        ("rateLimit", "AIMD", "rate_limit", RateLimit.aimd()),
        ("rateLimit", "adaptive", "rate_limit", RateLimit.adaptive()),
        ("rateLimit", "None", "rate_limit", RateLimit.none()),
        ("rateLimit", "my.limits:Mine", "rate_limit", RateLimit.custom("my.limits:Mine")),
        ("rateLimit.requestsPerSecond", "2.5", "rate_limit", RateLimit.fixed(requests=2.5)),
        ("request.rate_limit_num", "7", "rate_limit", RateLimit.fixed(requests=7.0)),
        ("rateLimit.requestsPerMinute", "500", "rate_limit", RateLimit.fixed(requests=500.0, per_s=60.0)),
        ("rateLimit.recordsPerSecond", "1000", "rate_limit", RateLimit.fixed(records=1000.0)),
        ("rateLimit.bytesPerSecond", "1mb", "rate_limit", RateLimit.fixed(size_in_bytes=MiB)),
        ("batching", "deterministic", "batching", "deterministic"),
        ("batching", "eager", "batching", "eager"),
        ("onRejected", "fail", "on_rejected", "fail"),
        ("onRejected", "drop", "on_rejected", "drop"),
        ("maxRejected", "0.5", "max_rejected", 0.5),
        ("ordering", "KEY", "ordering", "key"),
        ("stallTimeout", "1h", "stall_timeout_s", 3600.0),
        ("stall_timeout_s", "3600", "stall_timeout_s", 3600.0),
        ("stallTimeout", "inf", "stall_timeout_s", None),
        ("failOnTimeout", "true", "fail_on_timeout", True),
        ("retry.maxAttempts", "3", "retry", RetryPolicy(max_attempts=3)),
        ("retry.max-attempts", "3", "retry", RetryPolicy(max_attempts=3)),
        ("retry.timeout", "5min", "retry", RetryPolicy(timeout_s=300.0)),
        ("retry.initialBackoff", "0", "retry", RetryPolicy(initial_backoff_s=0.0)),
        ("retry.maxBackoff", "1min", "retry", RetryPolicy(max_backoff_s=60.0)),
        ("retry.retryAfterCap", "10", "retry", RetryPolicy(retry_after_cap_s=10.0)),
    ],
)
def test_an_option_sets_its_field(key: str, text: str, field: str, value: object) -> None:
    changed = config({key: text})
    assert getattr(changed, field) == value
    others = [each.name for each in fields(changed) if each.name != field]
    assert all(getattr(changed, name) == getattr(DEFAULTS, name) for name in others)


def test_every_name_of_a_configurations_error_can_be_given_as_an_option() -> None:
    named = {each.name for each in fields(AsyncSinkWriterConfig)} - {"retry", "dead_letters"}
    named |= {f"retry.{each.name}" for each in fields(RetryPolicy)}
    words = {
        "rate_limit": "aimd",
        "on_rejected": "fail",
        "ordering": "key",
        "fail_on_timeout": "true",
        "batching": "eager",
    }
    for name in named:
        given = WriterOptions.from_options({name: words.get(name, "3")})
        assert getattr(given, name.replace(".", "_")) in ("aimd", "fail", "key", "eager", True, 3)


def test_naming_the_sinks_own_kind_of_rate_limit_keeps_its_parameters() -> None:
    kinesis = AsyncSinkWriterConfig(rate_limit=RateLimit.flink(factor=0.99))
    assert config({"rateLimit": "flink"}, kinesis).rate_limit == RateLimit.flink(factor=0.99)
    assert config({"rateLimit": "aimd"}, kinesis).rate_limit == RateLimit.aimd()
    mine = AsyncSinkWriterConfig(rate_limit=RateLimit.custom("my.limits:Mine", gain=2))
    assert config({"rateLimit": "my.limits:Mine"}, mine).rate_limit == RateLimit.custom("my.limits:Mine", gain=2)
    assert config({"rateLimit": "my.limits:Other"}, mine).rate_limit == RateLimit.custom("my.limits:Other")


def test_several_rates_hold_together() -> None:
    options = {"rateLimit.requestsPerSecond": "5", "rateLimit.bytesPerSecond": "1mb", "rateLimit.burst": "2"}
    expected = RateLimit.fixed(requests=5.0, size_in_bytes=MiB, burst=2.0)
    assert config(options).rate_limit == config({**options, "rateLimit": "fixed"}).rate_limit == expected


def test_a_sinks_own_rate_is_divided_among_writers_and_replaced_by_the_users() -> None:
    own = AsyncSinkWriterConfig(rate_limit=RateLimit.fixed(requests=100))
    assert config({"rateLimit.writers": "4"}, own).rate_limit == RateLimit.fixed(requests=100, writers=4)
    assert config({"rateLimit": "fixed"}, own).rate_limit == RateLimit.fixed(requests=100)
    assert config({"rateLimit.recordsPerSecond": "9"}, own).rate_limit == RateLimit.fixed(records=9.0)


def test_the_path_of_dead_letters_says_that_they_are_wanted() -> None:
    for options in ({"deadLetter.path": "/dead"}, {"deadLetter.path": "/dead", "onRejected": "dead-letter"}):
        made = config(options)
        assert (made.on_rejected, made.dead_letters) == ("dead_letter", DeadLetterFiles("/dead"))
    parquet = config({"dead_letter_path": "/dead", "deadLetter.format": "Parquet"})
    assert parquet.dead_letters == DeadLetterFiles("/dead", format="parquet")


def test_a_sink_that_has_a_place_for_dead_letters_needs_no_path() -> None:
    own = AsyncSinkWriterConfig(dead_letters=DeadLetterFiles("/own"))
    made = config({"onRejected": "deadLetter"}, own)
    assert (made.on_rejected, made.dead_letters) == ("dead_letter", DeadLetterFiles("/own"))
    moved = config({"deadLetter.path": "/dead"}, own)
    assert (moved.on_rejected, moved.dead_letters) == ("dead_letter", DeadLetterFiles("/dead"))


FIXED = "rateLimit.requestsPerSecond, rateLimit.requestsPerMinute, rateLimit.recordsPerSecond, rateLimit.bytesPerSecond"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"maxBatchSize": "0"}, "maxBatchSize = 0 must be larger than 0"),
        ({"requestTimeout": "0"}, "requestTimeout = 0.0 must be larger than 0"),
        (
            {"maxBatchSize": "20000"},
            f"maxBufferedRequests = 10000 must be larger than maxBatchSize = 20000; {REMEDY}",
        ),
        (
            {"sink.flush-buffer.size": "10"},
            f"maxBatchSizeInBytes = 10 must be at least as large as maxRecordSizeInBytes = 1048576; {REMEDY}",
        ),
        (
            {"retry.initialBackoff": "60"},
            f"retry.maxBackoff = 30.0 is smaller than retry.initialBackoff = 60.0; {REMEDY}",
        ),
        ({"retry.maxAttempts": "0"}, "retry.maxAttempts = 0 must be larger than 0"),
        (
            {"rateLimit": "flink", "rateLimit.recordsPerSecond": "5"},
            (
                "option 'rateLimit.recordsPerSecond' is of a fixed rate, but the rate limit is 'flink'; leave it out, "
                f"or give rateLimit=fixed and one of {FIXED}"
            ),
        ),
        (
            {"rateLimit.writers": "5"},
            (
                "option 'rateLimit.writers' is of a fixed rate, but the rate limit is 'aimd'; leave it out, or "
                f"give rateLimit=fixed and one of {FIXED}"
            ),
        ),
        ({"rateLimit": "fixed"}, f"option 'rateLimit' = 'fixed' needs a rate; give one of {FIXED}"),
        (
            {"rateLimit.requestsPerMinute": "90", "rateLimit.recordsPerSecond": "5"},
            (
                "options 'rateLimit.requestsPerMinute' and rateLimit.recordsPerSecond count in windows of different "
                "length; give all of them per second: rateLimit.requestsPerSecond = 1.5"
            ),
        ),
        (
            {"rateLimit.requestsPerMinute": "0"},
            "option 'rateLimit.requestsPerMinute' = 0.0 must be larger than 0 and finite",
        ),
        ({"rateLimit.bytesPerSecond": "0"}, "option 'rateLimit.bytesPerSecond' = 0 must be larger than 0 and finite"),
        (
            {"rateLimit.requestsPerMinute": "90", "rateLimit.burst": "91"},
            "option 'rateLimit.burst' = 91.0 must be larger than 0 and at most 90, all that may go in one window",
        ),
        (
            {"rateLimit.requestsPerMinute": "90", "rateLimit.writers": "0"},
            "option 'rateLimit.writers' = 0 must be a whole number of at least 1 writer",
        ),
        (
            {"rateLimit": "9to5:Limit"},
            "option 'rateLimit' = '9to5:Limit' is no import path; write it as 'package.module:Class'",
        ),
        ({"maxRejected": "1.5"}, "maxRejected = 1.5 must be a share between 0 and 1"),
        (
            {"stallTimeout": "60"},
            (
                "stallTimeout = 60.0 must be larger than requestTimeout = 60.0; raise the former or lower the latter, "
                "or set stallTimeout to inf"
            ),
        ),
        (
            {"onRejected": "dead_letter"},
            "option 'onRejected' = 'dead_letter' needs to know where dead letters go; give 'deadLetter.path' too",
        ),
        (
            {"deadLetter.format": "jsonl"},
            "option 'deadLetter.format' = 'jsonl' needs the option 'deadLetter.path' too",
        ),
        (
            {"deadLetter.path": "/dead", "onRejected": "drop"},
            (
                "option 'deadLetter.path' is given, but 'onRejected' = 'drop'; leave the former out or make the latter "
                "'dead_letter'"
            ),
        ),
    ],
)
def test_a_broken_rule_is_told_in_the_names_of_options(options: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config(options)
    assert str(caught.value) == expected


@pytest.mark.parametrize("key", ["sink.fail-on-error", "failOnError"])
def test_flinks_fail_on_error_is_refused_with_what_to_use(key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{key}' is not supported: .* retry.maxAttempts and retry.timeout"):
        WriterOptions.from_options({key: "true"})


def test_vectors_window_is_refused_with_what_to_use() -> None:
    with pytest.raises(ConfigurationError, match="is not supported: rates are per second or per minute; use rateLimit"):
        WriterOptions.from_options({"request.rate_limit_duration_secs": "5"})


def test_a_path_of_dead_letters_that_is_none_is_told_by_its_option() -> None:
    with pytest.raises(ConfigurationError, match=r"option 'deadLetter\.path': "):
        config({"deadLetter.path": " "})


@pytest.mark.parametrize("key", ["deadLetters", "rateLimit.total", "batches"])
def test_what_is_not_there_is_not_accepted(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{key}' is not known"):
        WriterOptions.from_options({key: "1"})


@pytest.mark.parametrize(
    ("key", "text"),
    [("onRejected", "ignore"), ("ordering", "total"), ("deadLetter.format", "csv"), ("rateLimit", "token bucket")],
)
def test_values_that_are_not_there_are_not_accepted(key: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{key}' = '{text}' must be "):
        WriterOptions.from_options({key: text})


def test_a_slip_in_the_kind_of_a_rate_limit_is_told_the_nearest_one() -> None:
    with pytest.raises(ConfigurationError, match=r"must be .* or 'package\.module:Class'; did you mean 'adaptive'"):
        WriterOptions.of(rate_limit="adaptiv")


class ToySink(FakeSink):
    """As any other sink: options and configuration are all there is to it."""

    def __init__(self, options: FakeOptions | None = None, **values: Any) -> None:
        AsyncSink.__init__(self, options, **values)


def test_a_limit_that_is_given_among_a_sinks_options_is_told_its_place() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ToySink(name="x", max_batch_size=3)
    assert str(caught.value) == (
        "option 'max_batch_size' is a limit of the writer, not of ToySink; give it as "
        "config=dataclasses.replace(ToySink(...).config, max_batch_size=...)"
    )


def test_a_sink_is_built_from_its_own_options_and_those_of_every_writer() -> None:
    sink = ToySink.from_options({"name": "x", "maxBatchSize": "3", "checkpointLocation": "/c"})
    assert sink.options.name == "x"
    assert sink.config == AsyncSinkWriterConfig(max_batch_size=3)
