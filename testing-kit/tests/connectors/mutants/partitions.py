"""Mutants for a service with partitions, that mix up their order, or send too much to one of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from partitioned import PARTITIONED, OnePartition, OneServer, PartitionedDestination, PartitionedSink, opener
from reference import MAX_BATCH, Entry

from mutants import mutant
from mutants.ordering import ReversesRequests


@mutant(["single-file-order", "key-order", "key-order-under-faults"], PARTITIONED, opener(PartitionedDestination))
class ReversesBatches(ReversesRequests, PartitionedSink):
    """It takes the entries of a partition's batch from the end of a list."""


@mutant(["batch-size-option"], PARTITIONED, opener(OneServer))
class BoundsRequestsNotBatches(PartitionedSink):
    """It sends partitions together, and leaves to one of them the room that the others do not take."""

    order: ClassVar[Sequence[int]] = (0, 0, 0, 0, 1, 2)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        sink = super().from_options(options)
        size = min(2 * sink.config.max_batch_size, MAX_BATCH)
        return cls(sink.options, config=replace(sink.config, max_batch_size=size))

    def route_of(self, entry: Entry) -> Hashable | None:
        return None


@mutant(["in-flight-limit"], PARTITIONED, opener(OneServer))
class SendsAServerTwo(PartitionedSink):
    """It has a request of each partition under way, though one server has them all."""

    own: ClassVar[Mapping[str, Any]] = {"ordering": "key", "max_in_flight_requests": 3}


@mutant(["capabilities-told"], PARTITIONED, opener(OnePartition))
class ShowsOnePartition(PartitionedSink):
    """Its author claims the order of partitions, and lets the checks look at one alone."""

    order: ClassVar[Sequence[int]] = (0,)
