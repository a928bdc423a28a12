"""The reference connector for a service with partitions: each keeps the order of what it is sent, batch by batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from reference import CAPABILITIES, Entry, ReferenceSink

from asyncsink import DataclassSerializer, ElementConverter, Schema, WriteContext
from asyncsink_testing import InProcessDestination
from asyncsink_testing.conformance.destination import SeenRequest

PARTITIONS = 3

# A wait that one partition is told is none of the others'.
PARTITIONED = replace(
    CAPABILITIES, ordering="partition", partial_failure=False, atomic_requests=True, retry_after=False
)


@dataclass(frozen=True, slots=True)
class PartitionedEntry(Entry):
    """An entry and where it goes."""

    partition: int


class PartitioningConverter(ElementConverter[Mapping[str, Any], Entry]):
    """A row as it is, to the partition that the number in its key chooses.

    :param order: the partitions of the keys, in turn
    """

    def __init__(self, order: Sequence[int]) -> None:
        self._order = order

    def apply(self, element: Mapping[str, Any], context: WriteContext) -> PartitionedEntry:
        number = element["key"].rpartition("-")[2]
        partition = self._order[int(number) % len(self._order)] if number.isdecimal() else 0
        return PartitionedEntry(json.dumps(element).encode(), element["key"], partition)


class PartitionedSink(ReferenceSink):
    """Sends each partition its own requests, one after the other."""

    atomic_requests: ClassVar[bool] = True
    entry_serializer: ClassVar[Any] = DataclassSerializer(PartitionedEntry)
    order: ClassVar[Sequence[int]] = range(PARTITIONS)
    own: ClassVar[Mapping[str, Any]] = {"ordering": "key"}
    """What it sets of its writer's configuration."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Self:
        sink = super().from_options(options)
        return cls(sink.options, config=replace(sink.config, **cls.own))

    def converter(self, schema: Schema | None) -> ElementConverter[Mapping[str, Any], Entry]:
        return PartitioningConverter(self.order)

    def key_of(self, entry: Entry) -> Hashable | None:
        return entry.partition if isinstance(entry, PartitionedEntry) else None

    def route_of(self, entry: Entry) -> Hashable | None:
        return self.key_of(entry)

    def scope_of(self, route: Hashable | None) -> Hashable | None:
        return None


class PartitionedDestination(InProcessDestination):
    """Shows the batch of each partition in a request."""

    partitions: ClassVar[int] = PARTITIONS

    @property
    def requests(self) -> Sequence[SeenRequest]:
        sizes = [tuple(Counter(each.partition for each in of.entries).values()) for of in self.model.requests]
        return [replace(each, batch_sizes=of) for each, of in zip(super().requests, sizes, strict=True)]


class OneServer(PartitionedDestination):
    """All partitions are led by one server, which takes one request of a connector at a time."""

    servers: ClassVar[int] = 1


class OnePartition(OneServer):
    """It has but one."""

    partitions: ClassVar[int] = 1


def opener(kind: type[PartitionedDestination]) -> Callable[[], AbstractAsyncContextManager[PartitionedDestination]]:
    """What opens destinations of this kind, for the checks."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[PartitionedDestination]:
        with kind.opened(lambda entry: entry.payload, partial=False) as destination:
            assert isinstance(destination, kind)
            yield destination

    return opened
