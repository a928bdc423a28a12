"""Many records of streams at once, and the way of each to its cluster topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from asyncsink.arrow.routes import grouped
from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic
from asyncsink_dynamic_kafka.record import KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
from asyncsink_kafka.records import Records

Rows = NDArray[np.int64]
RoutedRows = list[tuple[ClusterTopic, Rows]]
"""The cluster topics that occur, each once, and the places of the records that go there, in order."""

Route = Callable[[KafkaStreamRecord], Sequence[ClusterTopic]]

NO_STREAM = -1
"""The index of a row that is in no stream: it is rejected before it is routed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StreamBlock:
    """A run of records as columns, and the stream of each.

    :param streams: the distinct stream ids
    :param stream_of: of each record the index of its stream; :data:`NO_STREAM` for one that is not routed
    :param records: their column topic is None
    """

    streams: tuple[str, ...]
    stream_of: NDArray[np.int32]
    records: Records

    @classmethod
    def of(cls, records: Sequence[KafkaStreamRecord], sequence: int | NDArray[np.int64] = 0) -> Self:
        """The columns of these records.

        :param sequence: the first one's, from which the others count on, or each one's
        :raises ValueError: a partition needs more than 32 bits, or a timestamp more than 64
        """
        places: dict[str, int] = {}
        stream_of = np.fromiter(
            (places.setdefault(each.stream_id, len(places)) for each in records), np.int32, len(records)
        )
        columns = Records.of(records, sequence)
        return cls(streams=tuple(places), stream_of=stream_of, records=columns)

    def __len__(self) -> int:
        return len(self.records)

    def rows_by_stream(self) -> list[tuple[str, Rows]]:
        """Each stream that occurs, with the places of its records, in order."""
        if len(self.streams) == 1 and len(self) and self.stream_of.min() == 0:
            return [(self.streams[0], np.arange(len(self), dtype=np.int64))]
        # The stream that is none comes first, and is left out.
        shifted = (self.stream_of + 1).astype(np.min_scalar_type(len(self.streams) + 1))
        return [(self.streams[place - 1], rows) for place, rows in grouped(shifted, len(self.streams) + 1) if place]

    def record(self, index: int) -> KafkaStreamRecord:
        """One of them, as a program would write it.

        :raises ValueError: it has no stream
        """
        place = int(self.stream_of[index])
        if place == NO_STREAM:
            raise ValueError("the record names no stream")
        return KafkaStreamRecord.of(self.streams[place], self.records.record(index))

    def slice(self, start: int, stop: int) -> StreamBlock:
        """The records from `start` up to `stop`; they share memory with these."""
        records = self.records.slice(start, stop)
        return StreamBlock(streams=self.streams, stream_of=self.stream_of[start:stop], records=records)

    def take(self, rows: Rows) -> StreamBlock:
        """The records at these places, in this order; copied."""
        return StreamBlock(streams=self.streams, stream_of=self.stream_of[rows], records=self.records.take(rows))


def route_rows(router: ReconcilableStreamRouter, block: StreamBlock) -> RoutedRows:
    """Where the records of a block go: by the router's ``route_block`` where it has one, else one after the other.

    :raises LookupError: a stream has no cluster topic
    :raises ConfigurationError: a router of the user's own failed, returned what is no cluster topic, or left a record
        out
    """
    route_block: Callable[[StreamBlock], RoutedRows] | None = getattr(router, "route_block", None)
    found = _one_by_one(router, block, router.route_all) if route_block is None else route_block(block)
    _check_complete(router, block, found)
    return found


def _check_complete(router: ReconcilableStreamRouter, block: StreamBlock, found: RoutedRows) -> None:
    """Refuse a router that chooses nothing for a record: it would count as stored, and be nowhere."""
    left_out = block.stream_of != NO_STREAM
    for _, rows in found:
        left_out[rows] = False
    if left_out.any():
        stream_id = block.streams[int(block.stream_of[left_out.argmax()])]
        raise ConfigurationError(
            f"router {_name(router)!r} chose no cluster topic for a record of stream {stream_id!r}; choose at least "
            "one for every record, and filter out before what is not to be written"
        )


def route_once(router: ReconcilableStreamRouter, block: StreamBlock) -> RoutedRows:
    """Where one copy of each record goes, by the router's ``route``.

    :raises LookupError: a stream has no cluster topic
    :raises ConfigurationError: a router of the user's own failed, or returned what is no cluster topic
    """
    return _one_by_one(router, block, lambda record: (router.route(record),))


def _one_by_one(router: ReconcilableStreamRouter, block: StreamBlock, route: Route) -> RoutedRows:
    found: dict[ClusterTopic, list[int]] = {}
    for row in np.flatnonzero(block.stream_of != NO_STREAM).tolist():
        record = block.record(row)
        for target in _routed(router, record, route):
            found.setdefault(target, []).append(row)
    return [(target, np.array(rows, np.int64)) for target, rows in found.items()]


def _routed(router: ReconcilableStreamRouter, record: KafkaStreamRecord, route: Route) -> Sequence[ClusterTopic]:
    name = _name(router)
    try:
        targets = [*route(record)]
    except LookupError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"router {name!r} failed for stream {record.stream_id!r}: {type(error).__name__}: {error}; mend its "
            "method route"
        ) from error
    for target in targets:
        if not isinstance(target, ClusterTopic):
            raise ConfigurationError(
                f"router {name!r} returned a {type(target).__name__} for stream {record.stream_id!r}; return one of "
                "the ClusterTopics that reconcile was given"
            )
    return targets


def _name(router: ReconcilableStreamRouter) -> str:
    return f"{type(router).__module__}:{type(router).__qualname__}"
