"""What became of rows that were written: what is lost, what stands there twice, and by which requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from asyncsink.errors import AsyncSinkError
from asyncsink_testing.conformance.check import ConformanceError
from asyncsink_testing.conformance.destination import SeenRequest
from asyncsink_testing.faults import OUTCOME_UNKNOWN

SHOWN = 8
"""Rows that a message names before it says how many more there are."""

_LOOK_AT_ENTRIES = (
    "how submit_request_entries lays out the entries of a request, and at requests that it sends on its own account"
)
_LOOK_AT_KEYS = (
    "key_of, which must give equal keys to rows that belong in order, at atomic_requests, which is true only if a "
    "request is stored whole or not at all, and at requests that submit_request_entries sends on its own account"
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The rows that a writer accepted beside what stands in the destination.

    Each method raises :class:`ConformanceError` if its claim does not hold, and returns the delivery otherwise.

    :param rows: what was written, in order
    :param received: the rows that stand in the destination, in its order
    :param requests: every arrival, where the destination shows them
    :param never_twice: lost answers excuse nothing, by the connector's guarantee or since the service drops repetitions
    :param writer: the SinkWriter that wrote them; None where several did, in other processes
    :param error: with what the writer failed, if it did
    """

    rows: tuple[Mapping[str, Any], ...]
    received: tuple[Mapping[str, Any], ...]
    requests: tuple[SeenRequest, ...] | None
    id_of: Callable[[Any], int]
    never_twice: bool
    writer: Any
    error: AsyncSinkError | None

    @property
    def ids(self) -> list[int]:
        """The numbers of the rows in the destination, in its order."""
        return [int(row["id"]) for row in self.received]

    def succeeded(self) -> Delivery:
        """The writer has not failed."""
        if self.error is not None:
            raise ConformanceError(
                f"the writer failed with {type(self.error).__name__}: {self.error}\nNothing that happened here is a "
                "reason to fail: look at the kinds that the sink's ErrorTable gives its errors, and at what "
                f"submit_request_entries raises.{self.shown_requests()}"
            ) from self.error
        return self

    def arrived(self) -> Delivery:
        """Something stands in the destination: a check that looks at how it came says nothing if there is none."""
        if not self.received:
            raise ConformanceError(
                f"none of {len(self.rows)} rows arrived, so nothing can be said of how they did: see to the check "
                f"'delivers-all' first.{self.shown_requests()}"
            )
        return self

    def nothing_lost(self, but: Collection[int] = ()) -> Delivery:
        """Every row that was accepted stands in the destination as it was written, except for `but`."""
        stored = set(self.ids)
        lost = [row["id"] for row in self.rows if row["id"] not in stored and row["id"] not in but]
        if lost:
            raise ConformanceError(
                f"{len(lost)} of {len(self.rows)} rows are lost: {shown(lost)}. {self._last_seen(lost[0])}"
                f"{self.shown_requests()}"
            )
        strange = [number for number in stored if number not in {row["id"] for row in self.rows}]
        if strange:
            raise ConformanceError(f"the destination holds rows that the writer did not accept: {shown(strange)}")
        return self.intact()

    def nothing_doubled(self) -> Delivery:
        """No row stands there more often than lost answers explain; none twice if that was promised."""
        for number, count in Counter(self.ids).items():
            if count > 1 and self.never_twice:
                raise ConformanceError(
                    f"row {number} stands in the destination {count} times, and the capabilities promise that none "
                    "does, by `idempotent` or by the guarantee: look at the id by which the service drops what it has "
                    f"stored before, which must be the same whenever a row is sent again.{self.shown_requests()}"
                )
            excused = self._unknown_outcomes(number)
            if count > 1 + excused:
                raise ConformanceError(
                    f"row {number} stands in the destination {count} times, and only {excused} requests with it ended "
                    "so that nobody could know whether it was stored: entries of an answered request are sent again "
                    "only if RequestResult.failed names their index. Look at the indices that submit_request_entries "
                    f"returns, and at what it raises although the service has answered.{self.shown_requests()}"
                )
        return self

    def _unknown_outcomes(self, number: int) -> int:
        if self.requests is None:
            return len(self.rows)
        return sum(each.fault in OUTCOME_UNKNOWN and number in self._numbers(each) for each in self.requests)

    def intact(self) -> Delivery:
        """What arrived is what was written, field by field."""
        written = {row["id"]: dict(row) for row in self.rows}
        for row in self.received:
            expected = written.get(row["id"])
            changed = [name for name in expected or {} if expected and row.get(name) != expected[name]]
            if changed:
                raise ConformanceError(
                    f"row {row['id']} arrived changed in {', '.join(changed)}: look at the converter, at how "
                    "submit_request_entries encodes entries, the second time as the first, and at what requests share"
                )
        return self

    def in_order(self, *, by_key: bool = False) -> Delivery:
        """What arrived did so in the order in which it was written, of each key if `by_key`; repetitions aside.

        The order of a key is that of the destination, which has to keep it; all rows together have one order only as
        they arrive, since few services keep it.
        """
        place = {row["id"]: (at, row["key"] if by_key else "") for at, row in enumerate(self.rows)}
        latest: dict[str, int] = {}
        for number in dict.fromkeys(self.ids if by_key else self._arrivals()):
            at, key = place[number]
            before = latest.get(key, -1)
            if at < before:
                of_key = f" of {key}" if by_key else ""
                raise ConformanceError(
                    f"row {number}{of_key} arrived after row {self.rows[before]['id']}{of_key}, which was written "
                    f"later: look at {_LOOK_AT_KEYS if by_key else _LOOK_AT_ENTRIES}.{self.shown_requests()}"
                )
            latest[key] = at
        return self

    def _arrivals(self) -> list[int]:
        """The numbers of the stored rows in the order of their requests."""
        if self.requests is None:
            return self.ids
        return [self._numbers(each)[index] for each in self.requests for index in sorted(each.stored)]

    def _numbers(self, request: SeenRequest) -> list[int]:
        return [self.id_of(payload) for payload in request.payloads]

    def _last_seen(self, number: int) -> str:
        if self.requests is None:
            return "The destination does not show which request held the first of them."
        holding = [each for each in self.requests if number in self._numbers(each)]
        if not holding:
            return (
                f"Row {number} was never sent: look for entries that are dropped before a request is made of them, or "
                "that submit_request_entries leaves out of it."
            )
        return (
            f"Row {number} was last sent in {holding[-1]}: look at what submit_request_entries makes of that answer; "
            "an entry counts as stored unless RequestResult.failed names its index or an exception is raised."
        )

    def shown_requests(self) -> str:
        if self.requests is None:
            return ""
        if not self.requests:
            return "\nNo request has arrived: see that an option of the fixture `sink_options` holds {endpoint}."
        lines = [f"\n  {each}: rows {shown(self._numbers(each), 12)}" for each in self.requests[:30]]
        return f"\nRequests in the order of their arrival:{''.join(lines)}"


def shown(numbers: Iterable[int], most: int = SHOWN) -> str:
    """The first of some numbers, and how many there are beyond them."""
    listed = list(numbers)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(map(str, listed[:most])) + more
