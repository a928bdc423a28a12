"""More records to some clusters than to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd
from random import Random

import numpy as np

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.routing.blocks import Rows
from asyncsink_dynamic_kafka.routing.built_in import BuiltInRouter, Slots
from asyncsink_dynamic_kafka.routing.round_robin import Turns
from asyncsink_dynamic_kafka.routing.weights import checked_weights
from asyncsink_kafka.records import Records


class WeightedReconcilableStreamRouter(BuiltInRouter):
    """Shares the records of each stream out to its clusters by their weights, and within a cluster to topics in turn.

    The turns of a cluster are spread over a round as evenly as can be (smooth weighted round robin): of weights 3 and 1
    it is a, a, b, a. While a cluster is inactive the others share its records by their own weights.

    :param weights: by the name of the cluster, from 1 to 1000; a cluster that is not named has 1
    :raises ConfigurationError: a weight is out of bounds
    """

    def __init__(self, weights: Mapping[str, int], random: Random | None = None) -> None:
        super().__init__()
        self._weights = checked_weights(dict(weights))
        self._turns = Turns(random)

    def slots(self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows) -> Slots:
        clusters: dict[str, list[int]] = {}
        for slot, target in enumerate(targets):
            clusters.setdefault(target.kafka_cluster_identifier.name, []).append(slot)
        turns = _round(tuple(self._weights.get(name, 1) for name in clusters))
        of_cluster = turns[self._turns.take(stream_id, len(rows), len(turns))]
        chosen = np.empty(len(rows), np.int64)
        for place, (name, slots) in enumerate(clusters.items()):
            turned = np.flatnonzero(of_cluster == place)
            if not len(turned):
                continue
            chosen[turned] = np.array(slots, np.int64)[self._turns.take((stream_id, name), len(turned), len(slots))]
        return chosen


@lru_cache(maxsize=64)
def _round(weights: tuple[int, ...]) -> Slots:
    """The place of the cluster whose turn it is, for a whole round."""
    shares = np.array(weights, np.int64) // gcd(*weights)
    total = int(shares.sum())
    credit = np.zeros(len(shares), np.int64)
    turns = np.empty(total, np.int64)
    for turn in range(total):
        credit += shares
        turns[turn] = chosen = int(credit.argmax())
        credit[chosen] -= total
    return turns
