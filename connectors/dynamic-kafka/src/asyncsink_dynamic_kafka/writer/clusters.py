"""The clusters that a writer writes to: they come, change and go as the metadata says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError, FatalRequestError
from asyncsink.writer import WriterStatistics
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock, route_rows
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
from asyncsink_dynamic_kafka.writer.cluster_writer import ClusterWriter, Routed
from asyncsink_dynamic_kafka.writer.streams import of_streams

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction

StreamMap = Mapping[str, frozenset[ClusterTopic]]


@dataclass(slots=True)
class Settled:
    """Copies of elements that clusters have stored or given up, those included that are gone."""

    acknowledged: int = 0
    dead_lettered: int = 0
    dropped: int = 0
    requests: int = 0
    retried_entries: int = 0
    throttled_entries: int = 0
    failed_requests: int = 0

    def add(self, counts: WriterStatistics) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(counts, each.name))


@dataclass(slots=True)
class Clusters:
    """Routes rows to the writers of clusters, and makes and ends these.

    :param make: makes the writer of a cluster, which may be paused
    :param make_sink: makes the sink of a cluster
    :param on_inactive: what becomes of the rows of an inactive cluster: spill, wait or fail
    :param removed_timeout_s: for how long a cluster that was removed may take to store what it was given
    :ivar extra: copies of elements beyond the first
    :ivar homeless: rows of streams that have no cluster topic now
    """

    group: TaskGroup
    router: ReconcilableStreamRouter
    config: AsyncSinkWriterConfig
    make: Callable[[Cluster, bool], ClusterWriter]
    make_sink: Callable[[Cluster], Any]
    on_inactive: str
    removed_timeout_s: float
    extra: int = 0
    homeless: list[StreamBlock] = field(default_factory=list)
    open: dict[str, ClusterWriter] = field(default_factory=dict)
    leaving: list[ClusterWriter] = field(default_factory=list)
    prepared: list[DynamicKafkaTransaction] = field(default_factory=list)
    gone: Settled = field(default_factory=Settled)
    _streams: StreamMap = field(default_factory=dict)

    # ---- rows ------------------------------------------------------------------------------------------------

    def put(self, block: StreamBlock) -> set[ClusterWriter]:
        """Route rows, and hand them to their clusters' writers, which are returned."""
        routable = of_streams(block, self._streams)
        if len(routable) < len(block):
            self.homeless.append(of_streams(block, {*block.streams}.difference(self._streams)))
        touched: set[ClusterWriter] = set()
        if not len(routable):
            return touched
        copies = 0
        for target, rows in route_rows(self.router, routable):
            writer = self._writer_of(target)
            part = routable if len(rows) == len(routable) else routable.take(rows)
            writer.put(Routed(target, part))
            copies += len(rows)
            touched.add(writer)
        self.extra += copies - len(routable)
        return touched

    def _writer_of(self, target: ClusterTopic) -> ClusterWriter:
        found = self.open.get(target.kafka_cluster_identifier.name)
        if found is None:
            raise ConfigurationError(
                f"router {type(self.router).__qualname__!r} has chosen {target}, which is none of the cluster topics "
                "that reconcile was given last; let it choose one of those"
            )
        return found

    def put_back(self, routed: Routed, before: StreamMap) -> None:
        """Route rows anew that no cluster has stored, and that were routed by the metadata `before`.

        Of a record that was written to several clusters those that remain have their copies. Where none remains, one
        copy goes for all; which it is cannot be told of rows that a cluster has given back, and each of them goes.
        """
        if not self.extra:
            self.put(routed.block)
            return
        for stream_id, rows in routed.block.rows_by_stream():
            had, has = before.get(stream_id, frozenset()), self._streams.get(stream_id, frozenset())
            if had & has or (had and routed.target not in (None, min(had))):
                self.extra -= len(rows)
            else:
                self.put(routed.block.take(rows))

    @property
    def held(self) -> int:
        """Copies of elements that are neither stored nor given up."""
        return sum(each.held for each in self.all()) + sum(map(len, self.homeless))

    @property
    def size_in_bytes(self) -> int:
        """Of all that is held."""
        waiting = sum(each.records.nbytes for each in self.homeless)
        return waiting + sum(each.pending_bytes + each.statistics.size_in_bytes for each in self.all())

    def all(self) -> Iterator[ClusterWriter]:
        yield from self.open.values()
        yield from self.leaving

    def settled(self) -> Settled:
        """What has become of all copies so far."""
        found = copy(self.gone)
        for each in self.all():
            found.add(each.statistics)
        return found

    # ---- reconciling -----------------------------------------------------------------------------------------

    def reconcile(self, metadata: StreamMetadata) -> None:
        """Write by this metadata from now on.

        :raises FatalRequestError: a cluster is inactive, and ``onInactiveCluster`` is ``fail``
        """
        self._refuse_inactive(metadata)
        before = self._streams
        wanted = {
            name: cluster
            for name, cluster in metadata.clusters.items()
            if cluster.is_writable or self.on_inactive == "wait"
        }
        self._close_others(wanted)
        for name, cluster in wanted.items():
            self._open(name, cluster)
        self._streams = self._routes(metadata, wanted)
        self.router.reconcile(self._streams)
        self._share()
        self._route_anew(before)

    def _refuse_inactive(self, metadata: StreamMetadata) -> None:
        if self.on_inactive != "fail":
            return
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

    def _close_others(self, wanted: Mapping[str, Cluster]) -> None:
        for name, writer in [*self.open.items()]:
            cluster = wanted.get(name)
            if cluster is not None and not self._must_reconnect(writer, cluster):
                continue
            del self.open[name]
            self.leaving.append(writer)
            writer.leave(self.removed_timeout_s)

    def _must_reconnect(self, writer: ClusterWriter, cluster: Cluster) -> bool:
        if writer.sink is None or not cluster.is_writable:
            return False
        wanted = self.make_sink(cluster)
        return bool((wanted.options, wanted.config) != (writer.sink.options, writer.sink.config))

    def _open(self, name: str, cluster: Cluster) -> None:
        writer = self.open.get(name)
        if writer is None:
            writer = self.open[name] = self.make(cluster, not cluster.is_writable)
            self.group.start_soon(writer.run, name=f"asyncsink cluster {name}")
        else:
            writer.follow(cluster, is_paused=not cluster.is_writable)

    def _routes(self, metadata: StreamMetadata, wanted: Mapping[str, Cluster]) -> StreamMap:
        """By stream, where its rows may go; streams without such a place are left out."""
        routes = {
            stream_id: frozenset(each for each in topics if each.kafka_cluster_identifier.name in wanted)
            for stream_id, topics in metadata.streams.items()
        }
        return {stream_id: topics for stream_id, topics in routes.items() if topics}

    def _share(self) -> None:
        """The limits are those of the whole writer: each cluster has the same part, and room for a batch at least."""
        config, count = self.config, max(len(self.open), 1)
        rows = max(config.max_buffered_requests // count, config.max_batch_size + 1)
        size_in_bytes = max(config.max_buffered_size_in_bytes // count, config.max_batch_size_in_bytes)
        for each in self.open.values():
            each.bound(rows, size_in_bytes)

    def _route_anew(self, before: StreamMap) -> None:
        """Rows that are in no writer yet, and whose place is no longer one."""
        for writer in [*self.open.values()]:
            for routed in writer.take_pending(self._is_gone):
                self._move(writer, routed, before)
        homeless, self.homeless = self.homeless, []
        for block in homeless:
            self.put(block)
        self.collect(before)

    def _move(self, writer: ClusterWriter, routed: Routed, before: StreamMap) -> None:
        """Rows of streams that have left a topic; those of others stay."""
        staying = {each for each in routed.block.streams if routed.target in self._streams.get(each, frozenset())}
        stays = of_streams(routed.block, staying)
        if len(stays):
            writer.put(Routed(routed.target, stays))
        self.put_back(Routed(routed.target, of_streams(routed.block, {*routed.block.streams} - staying)), before)

    def _is_gone(self, routed: Routed) -> bool:
        return any(
            routed.target not in self._streams.get(stream_id, frozenset())
            for stream_id, _ in routed.block.rows_by_stream()
        )

    @property
    def has_returned(self) -> bool:
        """Whether there is something to collect."""
        return any(each.is_over or each.returned for each in self.all())

    def collect(self, before: StreamMap | None = None) -> None:
        """Take what the writers of removed clusters have left: rows, transactions and counts."""
        before = self._streams if before is None else before
        for writer in [*self.leaving]:
            returned, writer.returned = writer.returned, []
            for routed in returned:
                self.put_back(routed, before)
            if writer.is_over:
                self.leaving.remove(writer)
                self.gone.add(writer.statistics)
                self._keep_prepared(writer)
        for name, writer in [*self.open.items()]:
            if writer.is_over:  # it was withdrawn while it was inactive, and waits for better times
                self._renew(name, writer)

    def _renew(self, name: str, writer: ClusterWriter) -> None:
        self.gone.add(writer.statistics)
        self.open[name] = renewed = self.make(writer.cluster, writer.is_paused)
        self._share()
        self.group.start_soon(renewed.run, name=f"asyncsink cluster {name}")
        for routed in writer.returned:
            self.put(routed.block)

    def _keep_prepared(self, writer: ClusterWriter) -> None:
        from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction

        identifier = writer.cluster.identifier
        self.prepared += (DynamicKafkaTransaction(identifier, each) for each in writer.prepared)
