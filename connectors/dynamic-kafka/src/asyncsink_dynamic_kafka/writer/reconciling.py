"""Clusters come, change and go as the metadata says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyio.abc import TaskGroup

from asyncsink.errors import FatalRequestError
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata
from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction
from asyncsink_dynamic_kafka.writer.cluster_writer import ClusterWriter
from asyncsink_dynamic_kafka.writer.clusters import Clusters
from asyncsink_dynamic_kafka.writer.placing import Placing
from asyncsink_dynamic_kafka.writer.routes import Departure

MakeWriter = Callable[[Cluster, bool, int], ClusterWriter]
"""Makes the writer of a cluster, which may be paused, at the metadata of some number."""


class Reconciling:
    """Makes and ends the writers of clusters, and moves rows.

    :param group: the tasks of the writers
    :param make_sink: makes the sink of a cluster
    :param on_inactive: what becomes of the rows of an inactive cluster: spill, wait or fail
    :param removed_timeout_s: for how long a cluster that was removed may take to store what it was given
    """

    def __init__(
        self,
        group: TaskGroup,
        clusters: Clusters,
        placing: Placing,
        make: MakeWriter,
        make_sink: Callable[[Cluster], Any],
        *,
        on_inactive: str,
        removed_timeout_s: float,
    ) -> None:
        self._group, self._clusters, self._placing = group, clusters, placing
        self._make, self._make_sink = make, make_sink
        self._on_inactive, self._removed_timeout_s = on_inactive, removed_timeout_s

    def reconcile(self, metadata: StreamMetadata) -> None:
        """Write by this metadata from now on.

        :raises FatalRequestError: a cluster is inactive, and ``onInactiveCluster`` is ``fail``
        """
        if self._on_inactive == "fail":
            _refuse_inactive(metadata)
        waits = self._on_inactive == "wait"
        wanted = {name: each for name, each in metadata.clusters.items() if each.is_writable or waits}
        before = self._placing.routes
        departure = Departure(before, before.next(metadata, wanted))
        for each in self._clusters.leaving:
            each.departures.append(departure)
        self._close_others(wanted, departure)
        for name, cluster in wanted.items():
            self._open(name, cluster, departure.after.number)
        self._placing.follow(departure.after)
        self._clusters.share()
        self._placing.route_anew(departure)
        self.collect()

    def _close_others(self, wanted: Mapping[str, Cluster], departure: Departure) -> None:
        for name, writer in [*self._clusters.open.items()]:
            cluster = wanted.get(name)
            if cluster is not None and not self._must_reconnect(writer, cluster):
                continue
            del self._clusters.open[name]
            self._clusters.leaving.append(writer)
            writer.leave(self._removed_timeout_s, departure)

    def _must_reconnect(self, writer: ClusterWriter, cluster: Cluster) -> bool:
        if writer.cluster.identifier != cluster.identifier:
            return True
        if writer.sink is None or not cluster.is_writable:
            return False
        wanted = self._make_sink(cluster)
        return bool((wanted.options, wanted.config) != (writer.sink.options, writer.sink.config))

    def _open(self, name: str, cluster: Cluster, number: int) -> None:
        writer = self._clusters.open.get(name)
        if writer is None:
            self._start(cluster, is_paused=not cluster.is_writable, number=number)
        else:
            writer.follow(cluster, is_paused=not cluster.is_writable)

    def _start(self, cluster: Cluster, *, is_paused: bool, number: int) -> None:
        writer = self._clusters.open[cluster.name] = self._make(cluster, is_paused, number)
        self._group.start_soon(writer.run, name=f"asyncsink cluster {cluster.name}")

    # ---- what is left --------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Take what the writers of removed clusters have left: rows, transactions and counts."""
        routes = self._placing.routes
        for writer in [*self._clusters.leaving]:
            self._take_returned(writer, writer.departures)
            if writer.is_over:
                self._clusters.leaving.remove(writer)
                self._clusters.close(writer)
                identifier = writer.cluster.identifier
                self._clusters.prepared += (DynamicKafkaTransaction(identifier, each) for each in writer.prepared)
        for writer in [*self._clusters.open.values()]:
            if writer.is_over:  # it was withdrawn while it was inactive, and waits for better times
                writer.return_pending()  # it may have been given rows since
                self._clusters.close(writer)
                self._start(writer.cluster, is_paused=writer.is_paused, number=routes.number)
                self._clusters.share()
                self._take_returned(writer, [Departure(routes, routes)])

    def _take_returned(self, writer: ClusterWriter, departures: Sequence[Departure]) -> None:
        returned, writer.returned = writer.returned, []
        for routed in returned:
            self._placing.put_back(routed, departures)


def _refuse_inactive(metadata: StreamMetadata) -> None:
    for cluster in metadata.clusters.values():
        if not cluster.is_writable:
            why = (
                "needs properties of its own, which only the metadata service can tell, and that does not answer"
                if cluster.needs_properties
                else "is inactive"
            )
            raise FatalRequestError(
                f"cluster {cluster.name!r} {why}, and 'onInactiveCluster' = 'fail'; start again when it is active, "
                "or set onInactiveCluster=spill or wait"
            )
