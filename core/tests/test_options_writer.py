from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from asyncsink.async_sink import AsyncSink
from asyncsink.config import AsyncSinkWriterConfig, MiB, RetryPolicy
from asyncsink.errors import ConfigurationError
from asyncsink.limits import RateLimit
from asyncsink.options import WriterOptions
from asyncsink_testing.fake_sink import FakeOptions, FakeSink

DEFAULTS = AsyncSinkWriterConfig()
REMEDY = "raise the former or lower the latter"


def config(options: dict[str, str], defaults: AsyncSinkWriterConfig = DEFAULTS) -> AsyncSinkWriterConfig:
    return WriterOptions.from_options(options).config(defaults)


def test_without_options_the_sinks_defaults_hold() -> None:
    defaults = AsyncSinkWriterConfig(max_batch_size=7, retry=RetryPolicy(max_attempts=3), rate_limit=RateLimit.flink())
    assert config({}, defaults) == defaults


def test_every_field_of_the_configuration_has_an_option() -> None:
    covered = {each.name for each in fields(WriterOptions)}
    wanted = {each.name for each in fields(AsyncSinkWriterConfig)} - {"retry"}
    assert covered == wanted | {f"retry_{each.name}" for each in fields(RetryPolicy)}


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
        ("onRejected", "fail", "on_rejected", "fail"),
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
    named = {each.name for each in fields(AsyncSinkWriterConfig)} - {"retry"}
    named |= {f"retry.{each.name}" for each in fields(RetryPolicy)}
    words = {"rate_limit": "aimd", "on_rejected": "fail"}
    for name in named:
        given = WriterOptions.from_options({name: words.get(name, "3")})
        assert getattr(given, name.replace(".", "_")) in ("aimd", "fail", 3)


def test_naming_the_sinks_own_kind_of_rate_limit_keeps_its_parameters() -> None:
    kinesis = AsyncSinkWriterConfig(rate_limit=RateLimit.flink(factor=0.99))
    assert config({"rateLimit": "flink"}, kinesis).rate_limit == RateLimit.flink(factor=0.99)
    assert config({"rateLimit": "aimd"}, kinesis).rate_limit == RateLimit.aimd()


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


@pytest.mark.parametrize(
    "key", ["deadLetters", "ordering", "rateLimit.recordsPerSecond", "maxRejected", "stallTimeout"]
)
def test_what_is_not_there_is_not_accepted(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{key}' is not known"):
        WriterOptions.from_options({key: "1"})


@pytest.mark.parametrize(("key", "text"), [("onRejected", "drop"), ("rateLimit", "adaptive")])
def test_values_that_are_not_there_are_not_accepted(key: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{key}' = '{text}' must be "):
        WriterOptions.from_options({key: text})


class ToySink(FakeSink):
    """As any other sink: options and configuration are all there is to it."""

    def __init__(self, options: FakeOptions | None = None, **values: Any) -> None:
        AsyncSink.__init__(self, options, **values)


def test_a_limit_that_is_given_among_a_sinks_options_is_told_its_place() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ToySink(name="x", max_batch_size=3)
    assert str(caught.value) == (
        "option 'max_batch_size' is a limit of the writer, not of ToySink; give it as "
        "config=dataclasses.replace(ToySink.defaults, max_batch_size=...)"
    )


def test_a_sink_is_built_from_its_own_options_and_those_of_every_writer() -> None:
    sink = ToySink.from_options({"name": "x", "maxBatchSize": "3", "checkpointLocation": "/c"})
    assert sink.options.name == "x"
    assert sink.config == AsyncSinkWriterConfig(max_batch_size=3)
