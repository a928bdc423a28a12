"""Which cluster's writer gets a row, at first and where it has come back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.routing.blocks import Rows, StreamBlock, route_once, route_rows
from asyncsink_dynamic_kafka.routing.mirror import MirrorStreamRouter
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
from asyncsink_dynamic_kafka.writer.cluster_writer import ClusterWriter
from asyncsink_dynamic_kafka.writer.clusters import Clusters
from asyncsink_dynamic_kafka.writer.routed import Routed
from asyncsink_dynamic_kafka.writer.routes import Departure, Routes
from asyncsink_dynamic_kafka.writer.streams import of_streams


class Placing:
    """Routes rows to the writers of clusters.

    :ivar routes: where rows may go now
    """

    def __init__(self, clusters: Clusters, router: ReconcilableStreamRouter) -> None:
        self._clusters, self._router = clusters, router
        self.routes = Routes()

    def follow(self, routes: Routes) -> None:
        """Route by this from now on."""
        self.routes = routes
        self._router.reconcile(routes.streams)

    def put(self, block: StreamBlock) -> set[ClusterWriter]:
        """Route rows, and hand them to their clusters' writers, which are returned.

        :raises ConfigurationError: the router has failed, or has chosen what it was not given
        """
        routable = self._routable(block)
        if not len(routable):
            return set()
        by_cluster: dict[str, list[tuple[ClusterTopic, Rows]]] = defaultdict(list)
        copies = 0
        for target, rows in route_rows(self._router, routable):
            by_cluster[target.kafka_cluster_identifier.name].append((target, rows))
            copies += len(rows)
        touched = {self._put(routable, targets) for targets in by_cluster.values()}
        self._clusters.extra += copies - len(routable)
        return touched

    def _routable(self, block: StreamBlock) -> StreamBlock:
        """The rows whose streams have a cluster topic; the others wait for one."""
        routable = of_streams(block, self.routes.since)
        if len(routable) < len(block):
            self._clusters.homeless.append(of_streams(block, {*block.streams}.difference(self.routes.since)))
        return routable

    def _put(self, block: StreamBlock, targets: list[tuple[ClusterTopic, Rows]]) -> ClusterWriter:
        (writer,) = {self._writer_of(target) for target, _ in targets}
        writer.put(Routed.of(block, targets, self.routes.number))
        return writer

    def _writer_of(self, target: ClusterTopic) -> ClusterWriter:
        found = self._clusters.open.get(target.kafka_cluster_identifier.name)
        if found is None or found.cluster.identifier != target.kafka_cluster_identifier:
            raise ConfigurationError(
                f"router {type(self._router).__qualname__!r} has chosen {target}, which is none of the cluster topics "
                "that reconcile was given last; let it choose one of those"
            )
        return found

    # ---- rows that come back -------------------------------------------------------------------------------------

    def put_back(self, routed: Routed, departures: Sequence[Departure]) -> None:
        """Place rows anew that a cluster has not stored.

        Those whose cluster topic is still, or again, their stream's go there, and others where the router says.

        :param departures: the steps since their cluster was removed, in one of which their cluster topic was lost:
            not in the first where a cluster was only connected to anew
        """
        for stream_id, target, part in routed.parts():
            now = self.routes.find(stream_id, target)
            if now is not None:
                self._writer_of(now).put(replace(part, cluster=now.kafka_cluster_identifier))
            elif not self._clusters.extra:
                self.put(part.block)
            elif not isinstance(self._router, MirrorStreamRouter):
                self._put_one(part.block)
            elif _loss(departures, stream_id, target).leaves_no_other(stream_id, target, part.routed_at):
                self.put(part.block)
            else:
                self._clusters.extra -= len(part)

    def _put_one(self, block: StreamBlock) -> None:
        """One new copy of each for one that is lost: of a router of the user's own nobody knows where others are."""
        routable = self._routable(block)
        for target, rows in route_once(self._router, routable):
            self._put(routable, [(target, rows)])

    def route_anew(self, departure: Departure) -> None:
        """Rows that are in no writer yet, and whose cluster topic is not their stream's any more."""
        for writer in [*self._clusters.open.values()]:
            for routed in writer.take_pending(self._is_gone):
                self.put_back(routed, [departure])
        homeless, self._clusters.homeless = self._clusters.homeless, []
        for block in homeless:
            self.put(block)

    def _is_gone(self, routed: Routed) -> bool:
        """Whether some of these rows have to move; by streams and topics that one of the rows may have."""
        targets = [ClusterTopic(routed.cluster, topic) for topic in routed.topics]
        if all(self.routes.has(stream_id, target) for stream_id in routed.block.streams for target in targets):
            return False
        return any(not self.routes.has(stream_id, target) for stream_id, target, _ in routed.parts())


def _loss(departures: Sequence[Departure], stream_id: str, target: ClusterTopic) -> Departure:
    """The step by which a cluster topic was lost: until then other copies may have counted on this one."""
    return next((each for each in departures if not each.after.has(stream_id, target)), departures[-1])
