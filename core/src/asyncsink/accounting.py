"""What became of every element: counters that must add up."""

from __future__ import annotations

from asyncsink.errors import AccountingError, TooManyRejectedError

MIN_JUDGED = 100
"""Elements before which no share of rejected ones is judged: one bad row of three says nothing."""


class Accounting:
    """Counts elements: ``accepted + restored = acknowledged + dead_lettered + dropped + unacknowledged``.

    A part of its own, so that writers which are no AsyncSinkWriter count in the same way. Plain attributes, since a
    writer adds to them on its hot path. Belongs to one thread.

    :ivar accepted: taken from the caller
    :ivar restored: taken over from a predecessor's state
    :ivar acknowledged: stored by the destination, each counted once however often it was sent
    :ivar dead_lettered: kept as dead letters, durably
    :ivar dropped: given up because the user asked for that
    """

    __slots__ = ("accepted", "acknowledged", "dead_lettered", "dropped", "restored")

    def __init__(self) -> None:
        self.accepted = self.restored = self.acknowledged = self.dead_lettered = self.dropped = 0

    @property
    def total(self) -> int:
        return self.accepted + self.restored

    @property
    def settled(self) -> int:
        """Elements of which the writer need not know any more."""
        return self.acknowledged + self.dead_lettered + self.dropped

    @property
    def unacknowledged(self) -> int:
        return self.total - self.settled

    @property
    def rejected(self) -> int:
        return self.dead_lettered + self.dropped

    def check(self, held: int) -> None:
        """Compare with what the writer really holds; to be called at each flush.

        :raises AccountingError: an element is missing, or is there twice
        """
        if held != self.unacknowledged:
            raise AccountingError(
                f"{held} elements are held, but accepted {self.accepted} + restored {self.restored} - acknowledged "
                f"{self.acknowledged} - dead-lettered {self.dead_lettered} - dropped {self.dropped} = "
                f"{self.unacknowledged}; this is a bug of the writer, please report it"
            )

    def check_rejected(self, most: float, pending: int = 0) -> None:
        """Judge the share of rejected elements; to be called at each flush.

        :param most: the largest share, from 0 to 1
        :param pending: elements that are rejected, but whose dead letters are not durable yet
        :raises TooManyRejectedError: there are at least 100 elements, and more than that share was rejected
        """
        rejected = self.rejected + pending
        if self.total >= MIN_JUDGED and rejected > most * self.total:
            raise TooManyRejectedError(
                f"{rejected} of {self.total} elements were rejected, more than max_rejected = {most:g}; look at the "
                "dead letters or the log for the reason, and raise max_rejected if they are to be given up"
            )
