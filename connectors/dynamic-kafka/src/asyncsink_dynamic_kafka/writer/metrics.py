"""What the whole writer tells of itself; below it, each cluster's writer does in a group of its own."""

from __future__ import annotations

from collections.abc import Callable

from asyncsink.metrics import MetricGroup
from asyncsink.metrics.metric import ObservedCounter
from asyncsink.metrics.writer import COUNTERS, GAUGES
from asyncsink.writer import WriterStatistics
from asyncsink_dynamic_kafka.metadata.discovery import MetadataDiscovery
from asyncsink_dynamic_kafka.writer.clusters import Clusters


def register(
    group: MetricGroup,
    read: Callable[[], WriterStatistics],
    clusters: Clusters,
    discovery: MetadataDiscovery,
) -> None:
    """Register the counts over all clusters, how many of these are written to, and how old the metadata is."""
    if not group.is_registered:
        return
    for name, of in COUNTERS.items():
        group.counter(name, ObservedCounter(lambda of=of: of(read())))  # type: ignore[misc]
    for name, show in GAUGES.items():
        group.gauge(name, lambda show=show: show(read()))  # type: ignore[misc]
    for name in ("numRecordsOut", "numRecordsSend"):
        group.counter(name, ObservedCounter(lambda: clusters.settled().sent))
    for name in ("numBytesOut", "numBytesSend"):
        group.counter(name, ObservedCounter(lambda: clusters.settled().sent_bytes))
    group.gauge("numActiveClusters", lambda: sum(not each.is_paused for each in [*clusters.open.values()]))
    group.gauge("metadataAgeSeconds", lambda: discovery.age_s)
    group.gauge("numMetadataFailures", lambda: discovery.failures)
