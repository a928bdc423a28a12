"""The clusters that a writer writes to, and what becomes of what they were given."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.writer import WriterStatistics
from asyncsink_dynamic_kafka.routing.blocks import StreamBlock
from asyncsink_dynamic_kafka.writer.cluster_writer import ClusterWriter

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.transactions import DynamicKafkaTransaction


@dataclass(slots=True)
class Settled:
    """Copies of elements that clusters have stored or given up, those included that are gone.

    :ivar sent: rows that requests have carried, each as often as it was sent
    :ivar sent_bytes: of these
    """

    acknowledged: int = 0
    dead_lettered: int = 0
    dropped: int = 0
    requests: int = 0
    retried_entries: int = 0
    throttled_entries: int = 0
    failed_requests: int = 0
    sent: int = 0
    sent_bytes: int = 0

    def add(self, writer: ClusterWriter) -> None:
        counts: WriterStatistics = writer.statistics
        for each in fields(self)[:-2]:
            setattr(self, each.name, getattr(self, each.name) + getattr(counts, each.name))
        sent, sent_bytes = writer.sent
        self.sent += sent
        self.sent_bytes += sent_bytes


@dataclass(slots=True)
class Clusters:
    """Their writers, and rows that have none.

    :ivar extra: copies of elements beyond the first
    :ivar homeless: rows of streams that have no cluster topic now
    :ivar open: by name, the writers of clusters that rows are routed to
    :ivar leaving: those of clusters that were removed, or are connected to anew
    :ivar prepared: transactions of clusters that are gone
    """

    config: AsyncSinkWriterConfig
    extra: int = 0
    homeless: list[StreamBlock] = field(default_factory=list)
    open: dict[str, ClusterWriter] = field(default_factory=dict)
    leaving: list[ClusterWriter] = field(default_factory=list)
    prepared: list[DynamicKafkaTransaction] = field(default_factory=list)
    _gone: Settled = field(default_factory=Settled)

    def all(self) -> Iterator[ClusterWriter]:
        yield from self.open.values()
        yield from self.leaving

    @property
    def held(self) -> int:
        """Copies of elements that are neither stored nor given up."""
        return sum(each.held for each in self.all()) + sum(map(len, self.homeless))

    @property
    def size_in_bytes(self) -> int:
        """Of all that is held."""
        return sum(each.records.nbytes for each in self.homeless) + sum(each.size_in_bytes for each in self.all())

    def settled(self) -> Settled:
        """What has become of all copies so far."""
        found = copy(self._gone)
        for each in self.all():
            found.add(each)
        return found

    def close(self, writer: ClusterWriter) -> None:
        """A writer is over, and is none of these any more; it still counts."""
        self._gone.add(writer)

    @property
    def has_returned(self) -> bool:
        """Whether a writer is over, or rows have come back from one."""
        return any(each.is_over or each.returned for each in self.all())

    def share(self) -> None:
        """The limits are those of the whole writer: each cluster has the same part, and room for a batch at least."""
        config, count = self.config, max(len(self.open), 1)
        rows = max(config.max_buffered_requests // count, config.max_batch_size + 1)
        size_in_bytes = max(config.max_buffered_size_in_bytes // count, config.max_batch_size_in_bytes)
        for each in self.open.values():
            each.bound(rows, size_in_bytes)
