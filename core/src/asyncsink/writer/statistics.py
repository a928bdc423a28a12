"""What a writer has done, as a frozen picture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterStatistics:
    """Counts of one writer at one moment; of elements unless the name says otherwise.

    :param accepted: taken by write, write_many, write_block or write_batch
    :param restored: taken over from the states that the writer was made with
    :param acknowledged: stored by the destination, each counted once however often it was sent
    :param dead_lettered: given up and kept as dead letters, durably
    :param dropped: given up, as ``on_rejected`` asks
    :param rejected: given up, those included whose dead letters are not durable yet
    :param buffered_entries: waiting to be sent, sealed requests included, and for their dead letters to be durable
    :param in_flight_entries: in requests that are under way
    :param in_flight_requests: requests under way
    :param size_in_bytes: of all that is neither acknowledged nor given up
    :param requests: sends, resends included
    :param retried_entries: entries sent again, once for each time
    :param throttled_entries: entries that the service throttled, once for each time
    :param failed_requests: requests that ended without an answer for each entry (deadline, connection, 5xx, throttled)
    :param max_batch_size: entries that the next request may hold by the rate limit; the smallest of all scopes
    :param last_send_time_s: seconds from the start of the last request that has ended to its end; None before the first
    """

    accepted: int = 0
    restored: int = 0
    acknowledged: int = 0
    dead_lettered: int = 0
    dropped: int = 0
    rejected: int = 0
    buffered_entries: int = 0
    in_flight_entries: int = 0
    in_flight_requests: int = 0
    size_in_bytes: int = 0
    requests: int = 0
    retried_entries: int = 0
    throttled_entries: int = 0
    failed_requests: int = 0
    max_batch_size: int | None = None
    last_send_time_s: float | None = None

    @property
    def unacknowledged(self) -> int:
        """Elements that a snapshot would hold: ``accepted + restored`` less what is acknowledged or given up."""
        return self.accepted + self.restored - self.acknowledged - self.dead_lettered - self.dropped
