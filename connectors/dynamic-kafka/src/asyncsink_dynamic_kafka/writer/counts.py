"""What became of elements, of which a router may write several copies."""

from __future__ import annotations

from asyncsink.accounting import Accounting
from asyncsink.writer import WriterStatistics
from asyncsink_dynamic_kafka.writer.clusters import Clusters
from asyncsink_dynamic_kafka.writer.tail import Tail
from asyncsink_kafka.writer.books import Books


class Counts:
    """Counts elements over all clusters.

    Where each has one copy, an element has the fate of that copy. Where some have several it counts as acknowledged
    once every copy is stored, which is found at a flush, and as given up once, however many clusters refuse it.

    :param books: count what was accepted, and what was given up before it was routed
    """

    def __init__(self, books: Books, clusters: Clusters, tail: Tail) -> None:
        self._books, self._clusters, self._tail = books, clusters, tail
        self._given_up: set[int] = set()
        self._repeated = 0
        self._acknowledged = 0

    def give_up(self, sequence: int) -> None:
        """A copy of this element can never be delivered."""
        if not self._clusters.extra:
            return  # it was the only copy
        if sequence in self._given_up:
            self._repeated += 1
        self._given_up.add(sequence)

    def elements(self) -> Accounting:
        """The counts of this moment."""
        own, settled, counted = self._books.accounting, self._clusters.settled(), Accounting()
        counted.accepted = own.accepted
        # Which of the two it is was configured, so that the other is 0.
        is_dropped = bool(settled.dropped)
        counted.dropped = own.dropped + settled.dropped - (self._repeated if is_dropped else 0)
        counted.dead_lettered = own.dead_lettered + settled.dead_lettered - (0 if is_dropped else self._repeated)
        counted.dead_lettered = max(counted.dead_lettered, 0)
        counted.acknowledged = self._acknowledged if self._clusters.extra else settled.acknowledged
        return counted

    def check(self) -> Accounting:
        """Compare with what is really held; to be called at each flush.

        :raises AccountingError: an element or a copy is missing, or is there twice
        """
        own, settled, copies = self._books.accounting, self._clusters.settled(), Accounting()
        copies.accepted = own.accepted + self._clusters.extra
        copies.acknowledged = settled.acknowledged
        copies.dead_lettered = own.dead_lettered + settled.dead_lettered
        copies.dropped = own.dropped + settled.dropped
        held = self._clusters.held + len(self._tail) + self._books.condemned
        copies.check(held)
        counted = self.elements()
        if self._clusters.extra and not held:
            self._acknowledged = counted.acknowledged = counted.total - counted.rejected
        if not held:
            self._given_up.clear()
            for each in self._clusters.all():
                each.origins.forget()
        return counted

    def statistics(self) -> WriterStatistics:
        """The counts of this moment, and those of requests over all clusters."""
        counted, settled = self.elements(), self._clusters.settled()
        below = [each.statistics for each in self._clusters.all()]
        times = [each.last_send_time_s for each in below if each.last_send_time_s is not None]
        limits = [each.max_batch_size for each in below if each.max_batch_size is not None]
        pending = sum(each.pending_rows for each in self._clusters.all())
        pending += sum(map(len, self._clusters.homeless)) + len(self._tail)
        return WriterStatistics(
            accepted=counted.accepted,
            acknowledged=counted.acknowledged,
            dead_lettered=counted.dead_lettered,
            dropped=counted.dropped,
            rejected=counted.rejected + self._books.condemned,
            buffered_entries=pending + self._books.condemned + sum(each.buffered_entries for each in below),
            in_flight_entries=sum(each.in_flight_entries for each in below),
            in_flight_requests=sum(each.in_flight_requests for each in below),
            size_in_bytes=self._clusters.size_in_bytes + self._tail.size_in_bytes,
            requests=settled.requests,
            retried_entries=settled.retried_entries,
            throttled_entries=settled.throttled_entries,
            failed_requests=settled.failed_requests,
            max_batch_size=min(limits, default=None),
            last_send_time_s=max(times, default=None),
        )
