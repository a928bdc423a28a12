"""Every record to every cluster topic of its stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import RoutedRows, Rows, StreamBlock
from asyncsink_dynamic_kafka.routing.built_in import BuiltInRouter, Slots, merged
from asyncsink_kafka.records import Records


class MirrorStreamRouter(BuiltInRouter):
    """Writes a copy of each record to all cluster topics of its stream, such as before a migration is cut over.

    A cluster that is inactive has no copy of what is written meanwhile, unless ``onInactiveCluster`` is ``wait``.
    """

    def slots(self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows) -> Slots:
        """That of the first copy."""
        return np.zeros(len(rows), np.int64)

    def route_all(self, record: KafkaStreamRecord) -> Sequence[ClusterTopic]:
        return self.targets(record.stream_id)

    def route_block(self, block: StreamBlock) -> RoutedRows:
        return merged(
            [(target, rows) for stream_id, rows in block.rows_by_stream() for target in self.targets(stream_id)]
        )
