from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from asyncsink.config import AsyncSinkWriterConfig, KiB, MiB, RetryPolicy
from asyncsink.errors import ConfigurationError
from asyncsink.limits import RateLimit

SIZES = [each.name for each in fields(AsyncSinkWriterConfig) if each.name.startswith("max_") and each.type == "int"]
TIMES = ["max_time_in_buffer_s", "request_timeout_s"]
REMEDY = "raise the former or lower the latter"


def message(**values: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        AsyncSinkWriterConfig(**values)
    return str(caught.value)


def retry_message(**values: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        RetryPolicy(**values)
    return str(caught.value)


def test_the_defaults_are_upstreams_with_a_shorter_timeout() -> None:
    config = AsyncSinkWriterConfig()
    assert (config.max_batch_size, config.max_in_flight_requests, config.max_buffered_requests) == (500, 50, 10_000)
    assert (config.max_batch_size_in_bytes, config.max_buffered_size_in_bytes) == (5 * MiB, 64 * MiB)
    assert (config.max_time_in_buffer_s, config.max_record_size_in_bytes) == (5.0, 1024 * KiB)
    assert (config.request_timeout_s, config.rate_limit, config.on_rejected) == (60.0, RateLimit.aimd(), "fail")
    assert config.retry == RetryPolicy(
        max_attempts=10, timeout_s=900.0, initial_backoff_s=0.1, max_backoff_s=30.0, retry_after_cap_s=300.0
    )


def test_all_sizes_are_covered_below() -> None:
    assert len(SIZES) == 6


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [0, -1])
def test_a_size_must_be_larger_than_0(name: str, value: int) -> None:
    assert message(**{name: value}) == f"{name} = {value} must be larger than 0"


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize(
    ("value", "kind"), [("5", "str"), (5.0, "float"), (True, "bool"), (None, "NoneType"), (nan, "float")]
)
def test_a_size_must_be_a_whole_number(name: str, value: object, kind: str) -> None:
    assert message(**{name: value}) == f"{name} = {value!r} is of type {kind}; it must be a whole number"


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("value", [0, 0.0, -0.5, -inf, nan])
def test_a_time_must_be_larger_than_0(name: str, value: float) -> None:
    assert message(**{name: value}) == f"{name} = {value!r} must be larger than 0"


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize(("value", "kind"), [("5s", "str"), (True, "bool"), (None, "NoneType")])
def test_a_time_must_be_a_number(name: str, value: object, kind: str) -> None:
    assert message(**{name: value}) == f"{name} = {value!r} is of type {kind}; it must be a number of seconds"


@pytest.mark.parametrize("name", TIMES)
def test_infinity_and_whole_numbers_are_legal_times(name: str) -> None:
    for value in (inf, 3):
        times: dict[str, Any] = {name: value, "stall_timeout_s": None}
        assert getattr(AsyncSinkWriterConfig(**times), name) == value


def test_a_size_beyond_every_float_is_legal() -> None:
    assert AsyncSinkWriterConfig(max_buffered_requests=10**400).max_buffered_requests == 10**400


@pytest.mark.parametrize("most", [10, 9])
def test_the_buffer_must_hold_more_than_a_batch(most: int) -> None:
    expected = f"max_buffered_requests = {most} must be larger than max_batch_size = 10; {REMEDY}"
    assert message(max_batch_size=10, max_buffered_requests=most) == expected
    assert AsyncSinkWriterConfig(max_batch_size=10, max_buffered_requests=11).max_buffered_requests == 11


def test_a_batch_must_hold_the_largest_record() -> None:
    expected = f"max_batch_size_in_bytes = 99 must be at least as large as max_record_size_in_bytes = 100; {REMEDY}"
    assert message(max_batch_size_in_bytes=99, max_record_size_in_bytes=100) == expected
    assert AsyncSinkWriterConfig(max_batch_size_in_bytes=100, max_record_size_in_bytes=100)


def test_the_buffer_must_hold_a_batch_of_bytes() -> None:
    sizes: dict[str, Any] = {"max_record_size_in_bytes": 10, "max_batch_size_in_bytes": 100}
    expected = f"max_buffered_size_in_bytes = 99 must be at least as large as max_batch_size_in_bytes = 100; {REMEDY}"
    assert message(max_buffered_size_in_bytes=99, **sizes) == expected
    assert AsyncSinkWriterConfig(max_buffered_size_in_bytes=100, **sizes)


def test_what_follows_a_rejected_entry_is_one_of_three() -> None:
    allowed = "it must be one of 'fail', 'dead_letter', 'drop'"
    assert message(on_rejected="ignore") == f"on_rejected = 'ignore' is not known; {allowed}"
    assert AsyncSinkWriterConfig(on_rejected="drop").on_rejected == "drop"


def test_dead_letters_need_a_place() -> None:
    assert message(on_rejected="dead_letter") == (
        "on_rejected = 'dead_letter' needs to know where dead letters go; set dead_letters, such as "
        "DeadLetterFiles(path)"
    )


@pytest.mark.parametrize("place", ["/data/dead", Path("/data/dead"), {}])
def test_a_place_for_dead_letters_is_a_store_and_no_path(place: Any) -> None:
    told = f"dead_letters is of type {type(place).__name__}, which is no DeadLetterStore; give DeadLetterFiles(path)"
    assert message(on_rejected="dead_letter", dead_letters=place) == told
    assert message(dead_letters=place) == told, "also where none are wanted yet"


def test_the_order_is_none_or_that_of_keys() -> None:
    assert message(ordering="total") == "ordering = 'total' is not known; it must be one of 'none', 'key'"


def test_batching_is_eager_or_deterministic_and_the_latter_without_an_order_of_keys() -> None:
    assert AsyncSinkWriterConfig().batching == "eager"
    assert AsyncSinkWriterConfig(batching="deterministic").batching == "deterministic"
    expected = "batching = 'lazy' is not known; it must be one of 'eager', 'deterministic'"
    assert message(batching="lazy") == expected
    told = message(batching="deterministic", ordering="key")
    assert told.startswith("batching = 'deterministic' and ordering = 'key' exclude each other")


@pytest.mark.parametrize("share", [-0.1, 1.5, True, "0.1", nan])
def test_the_share_of_rejected_entries_lies_between_0_and_1(share: Any) -> None:
    assert message(max_rejected=share) == f"max_rejected = {share!r} must be a share between 0 and 1"
    assert AsyncSinkWriterConfig(max_rejected=1).max_rejected == 1


@pytest.mark.parametrize("changes", [{"request_timeout_s": 60.0}, {"retry": RetryPolicy(timeout_s=60.0)}])
def test_a_stall_lasts_longer_than_a_request_and_than_the_destinations_time(changes: dict[str, Any]) -> None:
    name = "request_timeout_s" if "request_timeout_s" in changes else "retry.timeout_s"
    changes = {"request_timeout_s": 1.0, "retry": RetryPolicy(timeout_s=1.0)} | changes
    assert message(stall_timeout_s=60.0, **changes) == (
        f"stall_timeout_s = 60.0 must be larger than {name} = 60.0; raise the former or lower the latter, or set "
        "stall_timeout_s to None"
    )
    for stall_s in (60.1, inf, None):
        values: dict[str, Any] = {"stall_timeout_s": stall_s, **changes}
        assert AsyncSinkWriterConfig(**values).stall_timeout_s == stall_s


def test_failing_on_a_timeout_is_yes_or_no() -> None:
    assert message(fail_on_timeout="yes") == "fail_on_timeout = 'yes' must be True or False"


def test_rate_limit_and_retry_must_be_descriptions() -> None:
    assert message(rate_limit="aimd") == "rate_limit = 'aimd' is no RateLimit; use RateLimit.aimd()"
    assert message(retry=3) == "retry = 3 is no RetryPolicy; use RetryPolicy(...)"


def test_replace_checks_again() -> None:
    with pytest.raises(ConfigurationError, match="max_batch_size = 0 must be larger than 0"):
        replace(AsyncSinkWriterConfig(), max_batch_size=0)


def test_the_configuration_is_frozen_and_survives_pickling() -> None:
    config = AsyncSinkWriterConfig(max_batch_size=7, retry=RetryPolicy(max_attempts=2))
    with pytest.raises(FrozenInstanceError):
        config.max_batch_size = 8  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize("name", ["initial_backoff_s", "max_backoff_s", "retry_after_cap_s"])
def test_backoffs_must_not_be_negative(name: str) -> None:
    assert retry_message(**{name: -1.0}) == f"retry.{name} = -1.0 must be 0 or more"
    assert retry_message(**{name: nan}) == f"retry.{name} = nan must be 0 or more"


def test_no_backoff_at_all_is_legal() -> None:
    assert RetryPolicy(initial_backoff_s=0, max_backoff_s=0, retry_after_cap_s=0).max_backoff_s == 0


def test_attempts_and_timeout_must_be_larger_than_0() -> None:
    assert retry_message(max_attempts=0) == "retry.max_attempts = 0 must be larger than 0"
    assert retry_message(max_attempts=1.5).endswith("is of type float; it must be a whole number")
    assert retry_message(timeout_s=0) == "retry.timeout_s = 0 must be larger than 0"
    assert RetryPolicy(timeout_s=inf).timeout_s == inf


def test_the_largest_backoff_must_not_be_smaller_than_the_first() -> None:
    expected = f"retry.max_backoff_s = 1.0 is smaller than retry.initial_backoff_s = 2.0; {REMEDY}"
    assert retry_message(initial_backoff_s=2.0, max_backoff_s=1.0) == expected
