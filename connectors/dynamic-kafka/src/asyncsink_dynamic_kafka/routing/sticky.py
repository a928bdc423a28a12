"""The same cluster topic for all records of a key, as long as it is there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from random import Random
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.routing.blocks import Rows
from asyncsink_dynamic_kafka.routing.built_in import BuiltInRouter, Slots
from asyncsink_dynamic_kafka.routing.round_robin import Turns
from asyncsink_kafka.partitioning import murmur2_many
from asyncsink_kafka.records import Records

Scores = NDArray[np.uint64]

# SplitMix64, by which the hash of a key says nothing of the partition that the same hash chooses later.
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


class StickyReconcilableStreamRouter(BuiltInRouter):
    """Sends each key to one cluster topic of its stream, the same in every process; records without a key go round.

    Every cluster topic has a score for a key, and the highest has it (rendezvous hashing). So where one is removed its
    keys alone move, evenly to the others; where one is added only those move that it gets. An empty key is a key.
    """

    def __init__(self, random: Random | None = None) -> None:
        super().__init__()
        self._turns = Turns(random)

    def slots(self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows) -> Slots:
        if records.key is None:
            return self._turns.take(stream_id, len(rows), len(targets))
        keys = records.key if len(rows) == len(records) else records.key.take(pa.array(rows))
        chosen = _highest(keys, targets)
        if keys.null_count:
            keyless = np.flatnonzero(keys.is_null().to_numpy(zero_copy_only=False))
            chosen[keyless] = self._turns.take(stream_id, len(keyless), len(targets))
        return chosen


def _highest(keys: pa.Array, targets: Sequence[ClusterTopic]) -> Slots:
    """Of each key the place of the target with the highest score."""
    hashes = murmur2_many(keys).astype(np.uint64)
    chosen = np.zeros(len(keys), np.int64)
    best = _scores(hashes, targets[0])
    for slot, target in enumerate(targets[1:], 1):
        scores = _scores(hashes, target)
        better = scores > best
        chosen[better] = slot
        best = np.maximum(best, scores)
    return chosen


def _scores(hashes: Scores, target: ClusterTopic) -> Scores:
    mixed = hashes ^ np.uint64(_seed(target.kafka_cluster_identifier.name, target.topic))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


@lru_cache(maxsize=4096)
def _seed(cluster: str, topic: str) -> int:
    """By the name of the cluster and not by its brokers, whose addresses may change."""
    return int.from_bytes(blake2b(f"{cluster}\0{topic}".encode(), digest_size=8).digest(), "big")
