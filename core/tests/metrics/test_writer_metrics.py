from __future__ import annotations

import gc
import re
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import asyncsink.metrics
from asyncsink.metrics import HistogramStatistics, Metrics, WriterMetrics
from asyncsink.metrics.writer import COUNTERS, GAUGES, MOST_MARKS


@dataclass
class Counts:
    accepted: int = 0
    restored: int = 0
    acknowledged: int = 0
    dead_lettered: int = 0
    dropped: int = 0
    rejected: int = 0
    unacknowledged: int = 0
    buffered_entries: int = 0
    in_flight_entries: int = 0
    in_flight_requests: int = 0
    size_in_bytes: int = 0
    requests: int = 0
    retried_entries: int = 0
    throttled_entries: int = 0
    failed_requests: int = 0
    max_batch_size: int | None = None
    last_send_time_s: float | None = None


class Writer:
    """What has counts, and metrics of them."""

    def __init__(self, metrics: Metrics, max_batch_size: int = 10) -> None:
        self.counts = Counts()
        self.metrics = WriterMetrics(metrics.group, self.read, max_batch_size)

    def read(self) -> Counts:
        return self.counts


def _same(counts: Counts) -> Counts:
    return counts


def table() -> dict[str, list[str]]:
    """Name to type, unit and Flink's name, as the package's docstring has them."""
    assert asyncsink.metrics.__doc__ is not None
    _, _, body, _ = re.split(r"^=+  .*$\n", asyncsink.metrics.__doc__, flags=re.MULTILINE)
    rows = [re.split(r"\s{2,}", line.strip()) for line in body.splitlines()]
    return {name: [kind, unit, flinks] for name, kind, unit, _, flinks in rows}


def test_the_table_in_the_docstring_has_every_metric_and_no_other() -> None:
    metrics = Metrics()
    writer = Writer(metrics)
    writer.metrics.ended(0.1)
    snapshot = metrics.snapshot()
    assert sorted(table()) == list(snapshot)
    kinds = {name: row[0] for name, row in table().items()}
    histograms = {name for name, value in snapshot.items() if isinstance(value, HistogramStatistics)}
    assert {name for name, kind in kinds.items() if kind == "histogram"} == histograms
    assert {name for name, kind in kinds.items() if kind == "gauge"} == set(GAUGES)
    assert {name for name, kind in kinds.items() if kind == "counter"} >= set(COUNTERS)


def test_flinks_names_are_flinks() -> None:
    flinks = {row[2] for row in table().values()} - {"-"}
    # FLIP-33, and SinkWriterMetricGroup and OperatorIOMetricGroup of Flink 1.20.
    assert flinks == {
        "numRecordsIn",
        "numRecordsOut",
        "numRecordsSend",
        "numBytesOut",
        "numBytesSend",
        "numRecordsOutErrors",
        "numRecordsSendErrors",
        "currentSendTime",
    }
    assert all(row[2] in ("-", name) for name, row in table().items())


def test_counts_are_read_when_somebody_asks() -> None:
    metrics = Metrics()
    writer = Writer(metrics)
    writer.counts = Counts(100, 20, 60, 5, 3, 10, 50, 40, 12, 4, 5200, 17, 9, 6, 2, 50, 0.0125)
    snapshot = metrics.snapshot()
    assert {name: snapshot[name] for name in (*COUNTERS, *GAUGES)} == {
        "numRecordsIn": 100,
        "numRecordsRestored": 20,
        "numRecordsAcknowledged": 60,
        "numRecordsDeadLettered": 5,
        "numRecordsDropped": 3,
        "numRecordsRejected": 10,
        "numRecordsOutErrors": 19,
        "numRecordsSendErrors": 19,
        "numRecordsRetried": 9,
        "numRecordsThrottled": 6,
        "numRequests": 17,
        "numRequestsFailed": 2,
        "currentSendTime": 12.5,
        "numRecordsUnacknowledged": 50,
        "numRecordsBuffered": 40,
        "numRecordsInFlight": 12,
        "numRequestsInFlight": 4,
        "numBytesUnacknowledged": 5200,
        "rateLimit": 50,
    }


def test_all_counts_of_a_snapshot_are_of_one_moment() -> None:
    metrics = Metrics()
    pictures = [Counts(accepted=number, unacknowledged=number) for number in range(10)]

    def read() -> Counts:
        return pictures.pop(0)

    WriterMetrics(metrics.group, read, 10)
    for number in range(3):
        snapshot = metrics.snapshot()
        assert snapshot["numRecordsIn"] == snapshot["numRecordsUnacknowledged"] == number


def test_writers_in_groups_of_their_own_are_told_apart() -> None:
    metrics = Metrics()
    for number in (1, 2):
        counts = Counts(accepted=number)
        WriterMetrics(metrics.group.add_group("writer", str(number)), partial(_same, counts), 10)
    snapshot = metrics.snapshot()
    assert [snapshot[f"writer.{number}.numRecordsIn"] for number in (1, 2)] == [1, 2]


def test_the_send_time_is_none_before_the_first_request_has_ended() -> None:
    metrics = Metrics()
    Writer(metrics)
    assert metrics.snapshot()["currentSendTime"] is None


def test_requests_are_counted_and_measured_when_they_start_and_end() -> None:
    metrics = Metrics()
    measured = Writer(metrics)
    writer = measured.metrics
    writer.accepted(0, 1.0)
    writer.accepted(15, 2.0)
    writer.started(10, 1000, 0, 3.0)
    writer.started(5, 500, 10, 3.5)
    writer.started(5, 400, 15, 4.0)
    writer.started(10, 1000, 0, 5.0)  # the first once more
    writer.ended(0.25)
    measured.counts.requests, measured.counts.in_flight_requests = 4, 3
    snapshot = metrics.snapshot()
    assert snapshot["numRecordsOut"] == snapshot["numRecordsSend"] == 30
    assert snapshot["numBytesOut"] == snapshot["numBytesSend"] == 2900
    assert snapshot["batchFillRatio"] == HistogramStatistics(4, (0.5, 0.5, 1.0, 1.0))
    assert snapshot["queueTimeSeconds"] == HistogramStatistics(4, (2.0, 2.0, 2.5, 4.0))
    assert snapshot["requestTimeSeconds"] == HistogramStatistics(1, (0.25,))


def test_what_was_accepted_before_all_that_is_remembered_has_no_queue_time() -> None:
    metrics = Metrics()
    writer = Writer(metrics).metrics
    writer.started(10, 10, 0, 1.0)
    writer.accepted(100, 1.0)
    writer.started(10, 10, 99, 2.0)
    assert metrics.snapshot()["queueTimeSeconds"].values == ()


def test_blocks_within_a_millisecond_count_as_accepted_together() -> None:
    metrics = Metrics()
    writer = Writer(metrics).metrics
    writer.accepted(0, 1.0)
    writer.accepted(10, 1.0005)
    writer.accepted(20, 1.002)
    writer.started(10, 10, 10, 2.0)
    writer.started(10, 10, 20, 2.0)
    assert metrics.snapshot()["queueTimeSeconds"].values == pytest.approx((0.998, 1.0))


def test_what_is_remembered_is_bounded_and_still_right_to_a_hundredth() -> None:
    metrics = Metrics()
    writer = Writer(metrics).metrics
    blocks = 20 * MOST_MARKS
    for block in range(blocks):
        writer.accepted(block * 10, block * 0.01)
        assert len(writer._times) == len(writer._sequences) <= MOST_MARKS
    span_s = blocks * 0.01
    for age_s in (0.0, 1.0, 100.0, 500.0):
        at = round((span_s - age_s) / 0.01) - 1
        writer.started(10, 10, at * 10, span_s)
        measured: Any = metrics.snapshot()["queueTimeSeconds"].max
        assert age_s <= measured <= age_s * 1.01 + 0.021


def test_a_closed_writer_keeps_its_last_values_and_is_let_go_of() -> None:
    metrics = Metrics()
    writer = Writer(metrics)
    writer.metrics.accepted(0, 0.0)
    writer.metrics.started(4, 40, 0, 1.0)
    writer.counts = Counts(accepted=4, acknowledged=4, last_send_time_s=0.5)
    writer.metrics.close()
    gone = weakref.ref(writer)
    del writer
    gc.collect()
    assert gone() is None
    snapshot = metrics.snapshot()
    assert (snapshot["numRecordsIn"], snapshot["numRecordsOut"], snapshot["currentSendTime"]) == (4, 4, 500.0)


def test_a_successor_in_the_same_group_takes_the_place_and_begins_anew() -> None:
    metrics = Metrics()
    first = Writer(metrics)
    first.metrics.started(10, 100, 0, 1.0)
    first.counts.accepted = 10
    first.metrics.close()
    second = Writer(metrics)
    second.counts.accepted, second.counts.requests = 3, 1
    second.metrics.started(5, 50, 0, 1.0)
    snapshot = metrics.snapshot()
    assert (snapshot["numRecordsIn"], snapshot["numRecordsOut"]) == (3, 5)
    assert snapshot["batchFillRatio"] == HistogramStatistics(1, (0.5,))


def test_the_queue_time_is_that_of_the_right_block_whatever_the_order_of_sending() -> None:
    metrics = Metrics()
    writer = Writer(metrics).metrics
    for block in range(10):
        writer.accepted(block * 100, float(block))
    expected = []
    for number, first in enumerate((950, 10, 20, 910, 0, 100, 199, 200, 550, 990)):
        writer.accepted(1000 + number, 10.0 + number)
        writer.started(10, 10, first, 100.0)
        expected.append(100.0 - first // 100)
    writer.started(10, 10, 1009, 100.0)
    assert metrics.snapshot()["queueTimeSeconds"].values == tuple(sorted([*expected, 81.0]))
