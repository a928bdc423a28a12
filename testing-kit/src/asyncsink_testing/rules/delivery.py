"""Nothing lost, nothing stored twice without need, sealed requests as they were, order kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

from asyncsink_testing.history import DeadLettered, Event, Gone, History, RequestStarted, SentRequest
from asyncsink_testing.ledger import Ledger, Place, Tracked
from asyncsink_testing.rules.base import EPSILON_S, Rule, shown


class NothingLost(Rule):
    """Whatever was accepted is stored in the end, or given up; a writer that was left has nothing left over."""

    name = "nothing-lost"
    events: ClassVar[tuple[type[Event], ...]] = (Gone,)

    def check(self, event: Gone, ledger: Ledger) -> Iterator[str]:
        left = ledger.unacknowledged()
        if event.left and left:
            places = sorted({each.place.value for each in left})
            yield (
                f"writer {ledger.number} was left normally, but {len(left)} accepted entries are not acknowledged "
                f"({', '.join(places)}): {shown(each.entry for each in left)}; look at flush(True)"
            )

    def finish(self, ledgers: Sequence[Ledger]) -> Iterator[str]:
        stored = {entry for request in self.history.requests for entry in _stored(request)}
        stored |= {entry for letters in self.history.of(DeadLettered) for entry in letters.entries}
        stored |= {each.entry for ledger in ledgers for each in ledger.at(Place.DROPPED)}
        lost = [entry for entry in self.history.expected if entry not in stored]
        if lost:
            seen = {entry: request for request in self.history.requests for entry in request.entries}
            last = f"; the first was last seen in {seen[lost[0]]}" if lost[0] in seen else "; the first was never sent"
            yield f"{len(lost)} entries are lost: {shown(lost)}{last}"


def _stored(request: SentRequest) -> list[Any]:
    return [request.entries[index] for index in sorted(request.stored)]


class NoNeedlessDuplicate(Rule):
    """A writer sends an entry again only if it was not stored, or if it could not know; never twice at once."""

    name = "no-needless-duplicate"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        request = event.request
        known = [ledger.entries[entry] for entry in request.entries if entry in ledger.entries]
        if len(set(request.entries)) < len(request.entries):
            yield f"{request} holds an entry more than once"
        foreign = [entry for entry in request.entries if entry not in ledger.entries]
        if foreign:
            yield f"{request} holds entries that writer {ledger.number} was never given: {shown(foreign)}"
        settled = [each for each in known if each.place in _MUST_NOT_BE_SENT]
        for place, sentence in _MUST_NOT_BE_SENT.items() if settled else ():
            wrong = [each for each in settled if each.place is place and not _overdue(each, request, ledger)]
            if wrong:
                yield f"{request} sends {shown(each.entry for each in wrong)} {sentence} {wrong[0].request}"


_MUST_NOT_BE_SENT = {
    Place.ACKNOWLEDGED: "again although acknowledged by",
    Place.IN_FLIGHT: "while still in flight in",
    Place.REFUSED: "although the write raised; last in",
    Place.CONDEMNED: "although given up after",
    Place.DEAD_LETTERED: "although it is a dead letter, after",
    Place.DROPPED: "although dropped after",
}


def _overdue(each: Tracked, request: SentRequest, ledger: Ledger) -> bool:
    """Whether an entry is in flight only in a request whose deadline has come at this instant."""
    under_way = each.request
    return each.place is Place.IN_FLIGHT and under_way is not None and (
        under_way.id == request.id and ledger.is_overdue(under_way, request.started_s)
    )  # fmt: skip


class SealedResend(Rule):
    """An unknown outcome is followed by the same id with the same entries in the same order, one attempt more."""

    name = "sealed-resend"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        request = event.request
        overdue = [each for each in ledger.open_requests.values() if ledger.is_overdue(each, event.time_s)]
        for sealed in {**ledger.sealed, **{each.id: each for each in overdue}}.values():
            if sealed.id == request.id:
                yield from _compare(sealed, request)
            elif not set(sealed.entries).isdisjoint(request.entries):
                common = [entry for entry in sealed.entries if entry in set(request.entries)]
                yield f"{request} re-cuts {shown(common)} of the sealed {sealed}; it must come again whole, by its id"


def _compare(sealed: SentRequest, request: SentRequest) -> Iterator[str]:
    if sealed.entries != request.entries:
        yield f"{request} repeats the id of {sealed} with other entries: {shown(request.entries)}"
    if request.attempt != sealed.attempt + 1:
        yield f"{request} follows {sealed} and must be attempt {sealed.attempt + 1}"


class UniqueIds(Rule):
    """An id is used by one writer, for one list of entries, and again only after an unknown outcome."""

    name = "unique-ids"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted,)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._last: dict[str, SentRequest] = {}

    def check(self, event: RequestStarted, ledger: Ledger) -> Iterator[str]:
        request, before = event.request, self._last.get(event.request.id)
        self._last[request.id] = request
        if before is None:
            if request.attempt != 1:
                yield f"{request} is the first of its id and must be attempt 1"
        elif before.writer != request.writer:
            yield f"{request} repeats the id of {before}, another writer's; an idempotent destination drops the second"
        elif (
            not ledger.is_sealed(request.id)
            and before.number not in ledger.open_requests
            and not _may_be(request, ledger)
        ):
            yield f"{request} repeats the id of {before}, whose outcome was known"


def _may_be(request: SentRequest, ledger: Ledger) -> bool:
    """Whether it is half of a request that was refused whole: it may stay as it is."""
    return request.id.rpartition("/")[0] in ledger.halved


class InOrder(Rule):
    """A request holds the oldest entries of its route that may be sent, in the order of acceptance.

    Requests of the same instant reach the destination in any order, so an entry counts as passed over only if it has
    not gone by the end of that instant; and one that came back at this instant may have come back too late. Where the
    writer fails or is closed at that instant, what it has sent may be cut before it arrives.
    """

    name = "in-order"
    events: ClassVar[tuple[type[Event], ...]] = (Event,)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._passed: list[tuple[Ledger, SentRequest, list[Tracked]]] = []

    def check(self, event: Event, ledger: Ledger) -> Iterable[str]:
        if type(event) is RequestStarted:
            return self._look(event.request, ledger)
        return self._judge_passed(event.time_s) if self._passed else ()

    def _look(self, request: SentRequest, ledger: Ledger) -> Iterator[str]:
        yield from self._judge_passed(request.started_s)
        known = [ledger.entries[entry] for entry in request.entries if entry in ledger.entries]
        if request.id not in ledger.sealed and request.attempt == 1 and known:
            yield from self._ascending(request, known)
            # A half goes before the buffer, where entries of the other half may wait by now.
            is_half = request.id.rpartition("/")[0] in ledger.halved
            if ledger.config.ordering == "none" and not is_half:
                self._note_passed(request, known, ledger)

    def finish(self, ledgers: Sequence[Ledger]) -> Iterator[str]:
        return self._judge_passed(inf)

    def _ascending(self, request: SentRequest, known: list[Tracked]) -> Iterator[str]:
        for first, second in pairwise(known):
            if first.order > second.order:
                yield f"{request} holds {first.entry!r} before {second.entry!r}, which was accepted earlier"

    def _note_passed(self, request: SentRequest, known: list[Tracked], ledger: Ledger) -> None:
        own, last = set(request.entries), max(each.order for each in known)
        passed = [
            each
            for each in ledger.at(Place.BUFFERED)
            if each.order < last and each.certain and each.route == request.route
            and each.since_s < request.started_s - EPSILON_S and each.entry not in own
        ]  # fmt: skip
        if passed:
            self._passed.append((ledger, request, passed))

    def _judge_passed(self, now_s: float) -> Iterator[str]:
        if not self._passed or now_s <= self._passed[0][1].started_s + EPSILON_S:
            return
        noted, self._passed = self._passed, []
        for ledger, request, entries in noted:
            left = ledger.steady and [each for each in entries if each.since_s < request.started_s - EPSILON_S]
            if left:
                names = shown(each.entry for each in left)
                yield f"{request} passes over entries accepted earlier that wait since {left[0].since_s:.6g}: {names}"
