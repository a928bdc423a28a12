"""What the routers of this package have in common: cluster topics in order, records one at a time or many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from asyncsink.arrow.routes import grouped
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import RoutedRows, Rows, StreamBlock
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter, StreamMetadataMap, no_cluster_topic
from asyncsink_kafka.records import Records

Slots = NDArray[np.int64]


class BuiltInRouter(ReconcilableStreamRouter):
    """Chooses by place among the cluster topics of a stream, which are in their sort order."""

    def __init__(self) -> None:
        self._targets: dict[str, tuple[ClusterTopic, ...]] = {}

    @abstractmethod
    def slots(self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows) -> Slots:
        """Of each of these rows of one stream the place of its cluster topic among `targets`, which are two or more."""

    def reconcile(self, stream_metadata_map: StreamMetadataMap) -> None:
        self._targets = {stream_id: tuple(sorted(found)) for stream_id, found in stream_metadata_map.items() if found}

    def targets(self, stream_id: str) -> tuple[ClusterTopic, ...]:
        """The cluster topics of a stream in their order.

        :raises LookupError: there is none
        """
        try:
            return self._targets[stream_id]
        except KeyError:
            raise no_cluster_topic(stream_id) from None

    def route(self, record: KafkaStreamRecord) -> ClusterTopic:
        targets = self.targets(record.stream_id)
        records = Records.of([record.kafka_record()])
        ((target, _),) = self._shared_out(record.stream_id, targets, records, np.zeros(1, np.int64))
        return target

    def route_block(self, block: StreamBlock) -> RoutedRows:
        """Where the records of a block go, a few array operations for each stream.

        :raises LookupError: a stream has no cluster topic; nothing is chosen for the others then
        """
        streams = [(stream_id, self.targets(stream_id), rows) for stream_id, rows in block.rows_by_stream()]
        parts: list[tuple[ClusterTopic, Rows]] = []
        for stream_id, targets, rows in streams:
            parts += self._shared_out(stream_id, targets, block.records, rows)
        return merged(parts)

    def _shared_out(
        self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows
    ) -> list[tuple[ClusterTopic, Rows]]:
        if len(targets) == 1:
            return [(targets[0], rows)]  # without a look at them: to hash all keys takes a tenth of a writer's time
        slots = self.slots(stream_id, targets, records, rows).astype(np.min_scalar_type(len(targets)))
        return [(targets[slot], rows[places]) for slot, places in grouped(slots, len(targets))]


def merged(parts: Iterable[tuple[ClusterTopic, Rows]]) -> RoutedRows:
    """Each cluster topic once, with all its rows in order: several streams may have one in common."""
    found: dict[ClusterTopic, list[Rows]] = {}
    for target, rows in parts:
        found.setdefault(target, []).append(rows)
    return [
        (target, many[0] if len(many) == 1 else np.sort(np.concatenate(many), kind="stable"))
        for target, many in found.items()
    ]
