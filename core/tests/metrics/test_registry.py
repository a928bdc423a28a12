from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from asyncsink import ConfigurationError, WriterInitContext
from asyncsink.metrics import (
    UNREGISTERED,
    Counter,
    Gauge,
    Histogram,
    HistogramStatistics,
    MetricGroup,
    Metrics,
    ObservedCounter,
)
from asyncsink_testing.virtual_time import run_in_virtual_time


class Recorder:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, Any]] = []

    def report(self, snapshot: Mapping[str, Any]) -> None:
        self.told.append(snapshot)


class Broken:
    def report(self, snapshot: Mapping[str, Any]) -> None:
        raise OSError("the collector is away")


# ---- groups ------------------------------------------------------------------------------------------------------


def test_a_snapshot_names_every_metric_by_its_scope_in_order() -> None:
    metrics = Metrics()
    kinesis = metrics.group.add_group("sink", "kinesis")
    kinesis.counter("sent").inc(3)
    kinesis.add_group("shards").gauge("open", lambda: 4)
    metrics.group.histogram("waits").update(0.5)
    snapshot = metrics.snapshot()
    assert list(snapshot) == ["sink.kinesis.sent", "sink.kinesis.shards.open", "waits"]
    assert dict(snapshot) == {
        "sink.kinesis.sent": 3,
        "sink.kinesis.shards.open": 4,
        "waits": HistogramStatistics(1, (0.5,)),
    }


def test_a_group_knows_its_scope_and_the_variables_of_all_above_it() -> None:
    group = Metrics().group.add_group("query", "q7").add_group("writers").add_group("writer", "3")
    assert group.scope == ("query", "q7", "writers", "writer", "3")
    assert dict(group.variables) == {"query": "q7", "writer": "3"}


def test_groups_of_the_same_scope_are_as_one() -> None:
    metrics = Metrics()
    metrics.group.add_group("a").counter("n").inc()
    metrics.group.add_group("a").counter("n").inc()
    assert dict(metrics.snapshot()) == {"a.n": 2}


def test_a_counter_or_histogram_that_is_asked_for_again_is_the_same_one() -> None:
    group = Metrics().group
    assert group.counter("sent") is group.counter("sent")
    assert group.histogram("waits") is group.histogram("waits")


def test_whatever_else_is_registered_under_a_name_takes_its_place() -> None:
    metrics = Metrics()
    group = metrics.group
    group.gauge("a", lambda: "first")
    group.gauge("a", lambda: "second")
    group.counter("b").inc(5)
    group.counter("b", ObservedCounter(lambda: 7))
    group.gauge("c", lambda: 1)
    group.counter("c").inc(2)
    assert dict(metrics.snapshot()) == {"a": "second", "b": 7, "c": 2}


def test_a_histogram_of_ones_own_may_have_another_size() -> None:
    metrics = Metrics()
    own = metrics.group.histogram("waits", Histogram(size=2))
    for value in (1.0, 2.0, 3.0):
        own.update(value)
    assert metrics.snapshot()["waits"] == HistogramStatistics(3, (2.0, 3.0))


def test_closing_a_group_takes_back_what_is_registered_there_and_below() -> None:
    metrics = Metrics()
    for name in ("a", "ab"):
        metrics.group.add_group(name).counter("n")
        metrics.group.add_group(name).add_group("below").counter("n")
    metrics.group.add_group("a").close()
    assert list(metrics.snapshot()) == ["ab.below.n", "ab.n"]


# ---- no group ----------------------------------------------------------------------------------------------------


def test_without_a_registry_a_context_has_the_group_that_keeps_nothing() -> None:
    group = WriterInitContext().metric_group
    assert group is UNREGISTERED
    assert not group.is_registered
    assert Metrics().group.is_registered
    assert group.add_group("a", "b") is group
    group.counter("n").inc(5)
    group.histogram("waits").update(1.0)
    assert (group.counter("n").count, group.histogram("waits").count, group.scope) == (0, 0, ())
    assert group.gauge("g", lambda: 3).value == 3
    own = Counter()
    assert group.counter("n", own) is own
    assert group.histogram("waits", histogram := Histogram()) is histogram
    group.close()


def test_a_context_can_be_pickled_and_keeps_the_one_group_that_keeps_nothing() -> None:
    context = WriterInitContext(query_id="q", batch_id=3)
    copy = pickle.loads(pickle.dumps(context))
    assert copy == context
    assert copy.metric_group is UNREGISTERED


def test_two_contexts_that_differ_in_their_metrics_only_are_equal() -> None:
    assert WriterInitContext(metric_group=Metrics().group) == WriterInitContext()


def test_a_registry_cannot_be_pickled_and_says_why() -> None:
    with pytest.raises(TypeError, match="Metrics belong to one process"):
        pickle.dumps(Metrics())


# ---- snapshots ---------------------------------------------------------------------------------------------------


def test_a_snapshot_is_frozen() -> None:
    metrics = Metrics()
    counter = metrics.group.counter("n")
    snapshot: Any = metrics.snapshot()
    counter.inc()
    assert snapshot["n"] == 0
    with pytest.raises(TypeError):
        snapshot["n"] = 5


def test_a_gauge_that_raises_is_none_and_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    metrics.group.add_group("a").gauge("broken", lambda: 1 / 0)
    metrics.group.counter("n")
    for _ in range(3):
        assert dict(metrics.snapshot()) == {"a.broken": None, "n": 0}
    assert caplog.messages == ["metric a.broken cannot be read and is None: ZeroDivisionError: division by zero"]


def test_snapshots_may_be_taken_while_other_threads_register() -> None:
    metrics = Metrics()

    def register(name: str) -> None:
        for number in range(300):
            group = metrics.group.add_group(name, str(number))
            group.counter("n").inc()
            group.gauge("g", lambda: 1)
            if number % 3 == 0:
                group.close()

    threads = [threading.Thread(target=register, args=[name]) for name in "abc"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert set(metrics.snapshot().values()) <= {0, 1}
    for thread in threads:
        thread.join()
    assert len(metrics.snapshot()) == 3 * 200 * 2


# ---- reports -----------------------------------------------------------------------------------------------------


def test_every_reporter_is_told_and_one_that_raises_keeps_nothing_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder()
    metrics = Metrics(reporters=[Broken(), recorder])
    metrics.group.counter("n").inc()
    metrics.report()
    assert [dict(each) for each in recorder.told] == [{"n": 1}]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "failed; the others go on" in record.message


def test_a_running_registry_reports_each_period_and_once_more_when_it_is_cancelled() -> None:
    recorder = Recorder()

    async def main() -> None:
        metrics = Metrics(reporters=[recorder])
        counter = metrics.group.counter("n")
        async with anyio.create_task_group() as group:
            group.start_soon(metrics.run, 10.0)
            await anyio.sleep(9.0)
            counter.inc()
            await anyio.sleep(15.0)
            assert len(recorder.told) == 2
            counter.inc()
            group.cancel_scope.cancel()

    run_in_virtual_time(main)
    assert [each["n"] for each in recorder.told] == [1, 1, 2]


@pytest.mark.parametrize("period_s", [0.0, -1.0, float("nan")])
def test_a_period_that_is_not_positive_is_refused(period_s: float) -> None:
    with pytest.raises(ConfigurationError, match=r"period_s = .* must be a positive number of seconds"):
        anyio.run(Metrics().run, period_s)


def test_a_group_of_another_system_needs_five_methods() -> None:
    class Elsewhere(MetricGroup):
        scope = ("elsewhere",)

        def counter(self, name: str, counter: Counter | None = None) -> Counter:
            return counter or Counter()

        def gauge(self, name: str, read: Any) -> Gauge[Any]:
            return Gauge(read)

        def histogram(self, name: str, histogram: Histogram | None = None) -> Histogram:
            return histogram or Histogram()

        def add_group(self, key: str, value: str | None = None) -> MetricGroup:
            return self

    group = Elsewhere()
    assert group.is_registered
    assert dict(group.variables) == {}
    group.close()
