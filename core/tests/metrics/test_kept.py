"""Which metrics of writers are kept of a batch, and how those of its tasks become one."""

from __future__ import annotations

from asyncsink.metrics import Metrics
from asyncsink.metrics.kept import Together, kept, together

WANTED: dict[str, Together] = {"cluster.*.numBytesOut": "sum", "age": "max"}


def test_what_a_pattern_names_is_kept_if_it_is_a_number() -> None:
    metrics = Metrics()
    metrics.group.add_group("cluster", "eu.west").counter("numBytesOut").inc(3)
    metrics.group.add_group("cluster", "eu.west").counter("numRequests").inc(1)
    metrics.group.gauge("age", lambda: None)
    metrics.group.histogram("numBytesOut").update(1.0)
    assert kept(metrics.snapshot(), WANTED) == {"cluster.eu.west.numBytesOut": 3}


def test_counters_of_tasks_are_added_and_of_gauges_the_largest_is_taken() -> None:
    tasks = [{"cluster.b.numBytesOut": 1, "age": 2.5}, {"cluster.a.numBytesOut": 5, "age": 0.5}, {}]
    tasks.append({"cluster.b.numBytesOut": 2})
    found = together(tasks, WANTED)
    assert [*found.items()] == [("age", 2.5), ("cluster.a.numBytesOut", 5), ("cluster.b.numBytesOut", 3)]
