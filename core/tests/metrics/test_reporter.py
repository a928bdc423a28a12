from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from asyncsink import ConfigurationError
from asyncsink.metrics import LoggingReporter, MetricReporter, Metrics, load_reporter


class Needy:
    def __init__(self, address: str) -> None: ...

    def report(self, snapshot: Mapping[str, Any]) -> None: ...


def metrics(*reporters: MetricReporter | str) -> Metrics:
    made = Metrics(reporters)
    group = made.group.add_group("sink", "kinesis")
    group.counter("numRecordsOut").inc(48_000)
    group.gauge("currentSendTime", lambda: 12.345678)
    group.gauge("rateLimit", lambda: None)
    for value in (0.01, 0.02, 0.03, 0.04):
        group.histogram("requestTimeSeconds").update(value)
    made.group.add_group("other").histogram("empty")
    made.group.gauge("version", lambda: "1.0")
    return made


def test_the_logging_reporter_writes_a_line_for_each_group(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "asyncsink.metrics"):
        metrics(LoggingReporter()).report()
    times = "requestTimeSeconds=(count=4 p50=0.02 p99=0.04 max=0.04 mean=0.025)"
    assert caplog.messages == [
        "other: empty=(count=0 p50=- p99=- max=- mean=-)",
        f"sink.kinesis: currentSendTime=12.35 numRecordsOut=48000 rateLimit=- {times}",
        "metrics: version=1.0",
    ]
    assert {(record.name, record.levelno) for record in caplog.records} == {("asyncsink.metrics", logging.INFO)}


def test_the_logging_reporter_is_silent_where_info_is_off(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "asyncsink.metrics"):
        metrics(LoggingReporter()).report()
    assert caplog.messages == []


def test_a_reporter_is_named_by_its_import_path() -> None:
    (reporter,) = Metrics(["asyncsink.metrics:LoggingReporter"]).reporters
    assert isinstance(reporter, LoggingReporter)
    assert load_reporter(reporter) is reporter


@pytest.mark.parametrize(
    ("reporter", "message"),
    [
        ("LoggingReporter", "is no import path"),
        ("asyncsink.metrics:Nothing", "has no 'Nothing'"),
        ("asyncsink.metrics:Counter", "is no metrics reporter"),
        ("asyncsink.metrics:UNREGISTERED", "is no metrics reporter"),
        (f"{__name__}:Needy", "cannot be made without arguments"),
        (LoggingReporter, "is no metrics reporter"),
        (None, "is no metrics reporter"),
    ],
)
def test_what_is_no_reporter_is_refused(reporter: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Metrics([reporter])
