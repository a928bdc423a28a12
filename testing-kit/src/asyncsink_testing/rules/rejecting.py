"""What becomes of entries that can never be delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from asyncsink.accounting import MIN_JUDGED
from asyncsink_testing.history import (
    DeadLettered,
    Ending,
    Event,
    Failed,
    FlushReturned,
    History,
    LimitCompleted,
    RequestEnded,
    RequestStarted,
    SentRequest,
)
from asyncsink_testing.ledger import Ledger, Place
from asyncsink_testing.rules.base import EPSILON_S, Rule, shown


class Bisected(Rule):
    """A request that is refused whole comes again in two halves, with the ids ``id/0`` and ``id/1``."""

    name = "bisected"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._sent: dict[tuple[int, str], set[Any]] = {}

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        request = event.request
        tracked = [ledger.entries[entry] for entry in request.entries if entry in ledger.entries]
        parents = {each.request.id: each.request for each in tracked if each.place is Place.HALVED and each.request}
        for parent in parents.values():
            if ledger.config.ordering == "key" and (parent.number, parent.id) in self._sent:
                continue  # what came back of the first half goes before the second, so both are in the buffer again
            if request.id not in (f"{parent.id}/0", f"{parent.id}/1"):
                yield f"{request} sends entries of {parent}, which was refused whole; only its halves may"
            elif not set(request.entries) < set(parent.entries):
                yield f"{request} must hold some of the entries of {parent}, and no others"
            else:
                yield from self._together(parent, request)

    def _together(self, parent: SentRequest, request: SentRequest) -> Iterator[str]:
        other = self._sent.pop((parent.number, parent.id), None)
        if other is None:
            self._sent[parent.number, parent.id] = set(request.entries)
        elif other | set(request.entries) != set(parent.entries):
            yield f"{request} and the other half are not all of {parent}"


class GivenUp(Rule):
    """Only what was refused alone or by index, failed too often or can never be sent becomes a dead letter."""

    name = "given-up"
    events: ClassVar[tuple[type[Event], ...]] = (DeadLettered,)

    def check(self, event: DeadLettered, ledger: Ledger) -> Iterator[str]:
        wrong = [entry for entry in event.entries if not _may_be_given_up(entry, ledger)]
        if wrong:
            yield f"writer {ledger.number} made dead letters of {shown(wrong)}, which nothing had refused"


def _may_be_given_up(entry: Any, ledger: Ledger) -> bool:
    each = ledger.entries.get(entry)
    # A letter whose writing was cut short may have become durable, and is written again.
    return each is not None and (each.unsendable or each.place in (Place.CONDEMNED, Place.DEAD_LETTERED))


class RejectedShare(Rule):
    """A flush returns exactly while not too many elements were given up."""

    name = "rejected-share"
    events: ClassVar[tuple[type[Event], ...]] = (FlushReturned, Failed)

    def check(self, event: FlushReturned | Failed, ledger: Ledger) -> Iterator[str]:
        total = sum(each.certain for each in ledger.entries.values())
        rejected = sum(map(ledger.count, (Place.DROPPED, Place.DEAD_LETTERED, Place.CONDEMNED)))
        most = ledger.config.max_rejected
        too_many = total >= MIN_JUDGED and rejected > most * total
        if isinstance(event, FlushReturned):
            if event.done and too_many and not ledger.at(Place.OFFERED):
                yield f"a flush returned although {rejected} of {total} were rejected, more than max_rejected = {most}"
        elif event.error == "TooManyRejectedError" and not too_many and not ledger.at(Place.OFFERED, Place.REFUSED):
            yield f"the writer failed as {rejected} of {total} were rejected; max_rejected is {most}"


class LoadOnly(Rule):
    """A strategy is told to ignore an ending that says nothing of the load: a refusal of content, and no other."""

    name = "load-only"
    events: ClassVar[tuple[type[Event], ...]] = (RequestEnded, LimitCompleted)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._refused: dict[tuple[float, int, int], int] = {}
        self._ignored: list[tuple[Ledger, LimitCompleted]] = []

    def check(self, event: RequestEnded | LimitCompleted, ledger: Ledger) -> Iterable[str]:
        if isinstance(event, RequestEnded):
            request = event.request
            kinds = {kind.name for kind in request.failed.values()}
            counts = request.number in ledger.open_requests and not ledger.is_overdue(request, event.time_s)
            if (request.ending is Ending.REJECTED or kinds == {"REJECTED"}) and counts:
                key = event.time_s, len(request.entries), request.size_in_bytes
                self._refused[key] = self._refused.get(key, 0) + 1
            return ()
        key = event.time_s, event.batch_size, event.size_in_bytes
        if event.ignored and self._refused.get(key, 0):
            self._refused[key] -= 1
        elif event.ignored:
            self._ignored.append((ledger, event))
        return ()

    def finish(self, ledgers: Sequence[Ledger]) -> Iterator[str]:
        cut_short = any(ledger.failed or ledger.closing for ledger in ledgers)
        missed = [time_s for (time_s, _, _), count in self._refused.items() if count]
        if missed and not cut_short:
            # Of a writer that is cut short an answer may come to nobody.
            yield f"the refusal of a request's content at {missed[0]:.6g} was told as one of its load"
        for ledger, event in self._ignored:
            if not (ledger.failed or ledger.closing or ledger.gone):
                yield f"an ending at {event.time_s:.6g} was ignored, though it says something of the load"


class Patience(Rule):
    """``fail_on_timeout`` and ``stall_timeout_s``: the writer fails when they say so, and not before."""

    name = "patience"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted, RequestEnded, Failed)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._timed_out: dict[int, SentRequest] = {}

    def check(self, event: RequestStarted | RequestEnded | Failed, ledger: Ledger) -> Iterator[str]:
        config = ledger.config
        if isinstance(event, RequestEnded):
            if config.fail_on_timeout and event.request.ending is Ending.CUT and ledger.steady:
                self._timed_out.setdefault(ledger.number, event.request)
        elif isinstance(event, RequestStarted):
            cut = self._timed_out.get(ledger.number)
            if cut is not None and event.time_s > ledger.deadline_s(cut) + EPSILON_S:
                yield f"{event.request} was sent although {cut} had timed out and fail_on_timeout is set"
        elif event.error == "StalledError":
            since_s = event.time_s - ledger.progress_s
            if config.stall_timeout_s is None or since_s < config.stall_timeout_s - EPSILON_S:
                yield f"the writer failed as stalled {since_s:.6g} s after its last progress"
