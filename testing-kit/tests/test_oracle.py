"""Each rule fires on a history made to break it, and stays silent on a sound one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from asyncsink import AsyncSinkWriterConfig, FailureKind, RetryPolicy, WriterStatistics
from asyncsink.dead_letters import DeadLetterMemory
from asyncsink_testing import RULES, Ending, FakeEntry, History, SentRequest, Step, check, judge
from asyncsink_testing.history import (
    Accepted,
    DeadLettered,
    Failed,
    FlushCalled,
    FlushReturned,
    Gone,
    LimitCompleted,
    LimitRegistered,
    Offered,
    Opened,
    Quiet,
    RequestEnded,
    RequestStarted,
    SnapshotTaken,
)
from asyncsink_testing.rules import NothingIdle, SealedResend, UniqueIds

CONFIG = AsyncSinkWriterConfig(
    max_batch_size=2,
    max_in_flight_requests=2,
    max_buffered_requests=4,
    max_batch_size_in_bytes=20,
    max_buffered_size_in_bytes=40,
    max_record_size_in_bytes=10,
    request_timeout_s=10.0,
    retry=RetryPolicy(initial_backoff_s=0.1, max_backoff_s=1.0),
)


class Tale:
    """A history told by hand."""

    def __init__(self) -> None:
        self.history = History()
        self.now_s = 0.0
        self.writer = 1
        self._numbers = 0

    def opened(self, *restored: FakeEntry, **other: Any) -> None:
        self.history.add(Opened(self.now_s, self.writer, replace(CONFIG, **other), restored, False))

    def wrote(self, *entries: FakeEntry) -> None:
        self.history.add(Offered(self.now_s, self.writer, entries))
        self.history.add(Accepted(self.now_s, self.writer, entries))
        self.history.expected.update(dict.fromkeys(entries))

    def sent(self, id: str, *entries: FakeEntry, attempt: int = 1, **more: Any) -> SentRequest:
        route, size = entries[0].route if entries else None, sum(each.size for each in entries)
        values: dict[str, Any] = {"route": route, "scope": route, "size_in_bytes": size} | more
        request = SentRequest(
            self._numbers, self.writer, id, attempt, entries=entries, started_s=self.now_s, step=Step(), **values
        )
        self._numbers += 1
        self.history.add(RequestStarted(self.now_s, self.writer, request))
        return request

    def ended(self, request: SentRequest, ending: Ending = Ending.ANSWERED, **failed: FailureKind) -> None:
        request.ending, request.ended_s = ending, self.now_s
        request.failed = {int(index[1:]): kind for index, kind in failed.items()}
        if ending is Ending.ANSWERED:
            request.stored = frozenset(set(range(len(request.entries))) - set(request.failed))
        self.history.add(RequestEnded(self.now_s, self.writer, request))

    def snapshot(self, *entries: FakeEntry, **counts: int) -> None:
        sizes = tuple(each.size for each in entries)
        values = {"buffered_entries": len(entries), "size_in_bytes": sum(sizes), "accepted": len(entries)} | counts
        self.history.add(SnapshotTaken(self.now_s, self.writer, entries, sizes, WriterStatistics(**values)))

    def left(self) -> None:
        self.history.add(Gone(self.now_s, self.writer, True))

    def quiet(self) -> None:
        self.history.add(Quiet(self.now_s, self.writer))


A, B, C, D, E = (FakeEntry(name) for name in "abcde")


def lost(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.ended(tale.sent("1", A))


def left_over(tale: Tale) -> None:
    tale.wrote(A)
    tale.left()
    tale.history.expected.clear()


def doubled(tale: Tale) -> None:
    tale.wrote(A)
    tale.ended(tale.sent("1", A))
    tale.ended(tale.sent("2", A))


def twice_at_once(tale: Tale) -> None:
    tale.wrote(A)
    first, second = tale.sent("1", A), tale.sent("2", A)
    tale.ended(first)
    tale.ended(second)


def never_given(tale: Tale) -> None:
    tale.ended(tale.sent("1", A))


def recut(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.ended(tale.sent("1", A, B), Ending.UNKNOWN)
    tale.now_s = 5.0
    tale.ended(tale.sent("2", A))
    tale.ended(tale.sent("3", B))


def other_entries_under_an_id(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.ended(tale.sent("1", A), Ending.UNKNOWN)
    tale.now_s = 5.0
    tale.ended(tale.sent("1", A, B, attempt=2))


def attempt_not_counted(tale: Tale) -> None:
    tale.wrote(A)
    tale.ended(tale.sent("1", A), Ending.UNKNOWN)
    tale.now_s = 5.0
    tale.ended(tale.sent("1", A))


def id_of_another_writer(tale: Tale) -> None:
    tale.wrote(A)
    tale.ended(tale.sent("1", A))
    tale.writer = 2
    tale.opened()
    tale.wrote(B)
    tale.ended(tale.sent("1", B))


def id_again_without_need(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.ended(tale.sent("1", A))
    tale.ended(tale.sent("1", B))


def out_of_order(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.ended(tale.sent("1", B, A))


def passed_over(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.now_s = 1.0
    tale.ended(tale.sent("1", B))
    tale.now_s = 2.0
    tale.ended(tale.sent("2", A))


def too_many_entries(tale: Tale) -> None:
    tale.wrote(A, B, C)
    tale.ended(tale.sent("1", A, B, C))


def too_many_bytes(tale: Tale) -> None:
    large = FakeEntry("x", 15), FakeEntry("y", 15)
    tale.wrote(*large)
    tale.ended(tale.sent("1", *large))


def two_routes(tale: Tale) -> None:
    mixed = FakeEntry("x", 1, "r"), FakeEntry("y", 1, "s")
    tale.wrote(*mixed)
    tale.ended(tale.sent("1", *mixed))


def too_many_in_flight(tale: Tale) -> None:
    tale.wrote(A, B, C)
    for request in [tale.sent("1", A), tale.sent("2", B), tale.sent("3", C)]:
        tale.ended(request)


def scope_takes_all(tale: Tale) -> None:
    entries = [FakeEntry("x", 1, "r"), FakeEntry("y", 1, "s"), FakeEntry("z", 1, "s")]
    tale.wrote(*entries)
    tale.ended(tale.sent("1", entries[0]))
    tale.now_s = 1.0
    for request in [tale.sent("2", entries[1]), tale.sent("3", entries[2])]:
        tale.ended(request)


def buffer_too_large(tale: Tale) -> None:
    entries = [FakeEntry(name, 10) for name in range(5)]
    tale.wrote(*entries)
    tale.snapshot(*entries)
    tale.history.expected.clear()


def before_retry_after(tale: Tale) -> None:
    tale.wrote(A)
    request = tale.sent("1", A)
    request.retry_after_s = 9.0
    tale.ended(request, Ending.THROTTLED)
    tale.now_s = 5.0
    tale.ended(tale.sent("2", A))


def no_backoff(tale: Tale) -> None:
    tale.wrote(A)
    for number in range(200):
        tale.now_s = number * 0.001
        tale.ended(tale.sent(str(number), A), Ending.THROTTLED)
    tale.now_s = 10.0
    tale.ended(tale.sent("last", A))


def full_batch_waits(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.quiet()
    tale.history.expected.clear()


def old_entry_waits(tale: Tale) -> None:
    tale.wrote(A)
    tale.now_s = 6.0
    tale.quiet()
    tale.history.expected.clear()


def sealed_waits(tale: Tale) -> None:
    tale.wrote(A)
    tale.ended(tale.sent("1", A), Ending.UNKNOWN)
    tale.now_s = 2.0
    tale.quiet()
    tale.history.expected.clear()


def flush_too_early(tale: Tale) -> None:
    tale.wrote(A)
    request = tale.sent("1", A)
    tale.history.add(FlushCalled(0.0, 1, 1, False))
    tale.history.add(FlushReturned(0.0, 1, 1, True))
    tale.ended(request)


def flush_without_all(tale: Tale) -> None:
    tale.wrote(A)
    tale.history.add(FlushCalled(0.0, 1, 1, True))
    tale.history.add(FlushReturned(0.0, 1, 1, True))
    tale.ended(tale.sent("1", A))


def cut_early(tale: Tale) -> None:
    tale.wrote(A)
    request = tale.sent("1", A)
    tale.now_s = 9.0
    tale.ended(request, Ending.CUT)
    tale.now_s = 20.0
    tale.ended(tale.sent("1", A, attempt=2))


def never_cut(tale: Tale) -> None:
    tale.wrote(A)
    request = tale.sent("1", A)
    tale.now_s = 11.0
    tale.quiet()
    tale.ended(request)


def wrong_statistics(tale: Tale) -> None:
    tale.wrote(A)
    tale.snapshot(A, accepted=2)
    tale.ended(tale.sent("1", A))


def wrong_bytes(tale: Tale) -> None:
    tale.wrote(A)
    tale.snapshot(A, size_in_bytes=2)
    tale.ended(tale.sent("1", A))


def snapshot_lacks(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.snapshot(B)
    tale.ended(tale.sent("1", A, B))


def snapshot_out_of_order(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.snapshot(B, A)
    tale.ended(tale.sent("1", A, B))


def never_completed(tale: Tale) -> None:
    tale.wrote(A)
    tale.history.add(LimitRegistered(0.0, 1, 1, 1, 1))
    tale.ended(tale.sent("1", A))
    tale.left()


def completed_twice(tale: Tale) -> None:
    tale.wrote(A)
    tale.history.add(LimitRegistered(0.0, 1, 1, 1, 1))
    tale.ended(tale.sent("1", A))
    for _ in range(2):
        tale.history.add(LimitCompleted(0.0, 1, 1, 1, 1))
    tale.left()


KEYED = [FakeEntry(name, key="k") for name in "xyz"]


def two_of_a_key(tale: Tale) -> None:
    tale.opened(ordering="key")
    tale.wrote(*KEYED)
    tale.ended(tale.sent("1", *KEYED[:2]))


def two_generations_at_once(tale: Tale) -> None:
    tale.opened(ordering="key")
    tale.wrote(*KEYED)
    for request in [tale.sent("1", KEYED[0]), tale.sent("2", KEYED[1])]:
        tale.ended(request)


def before_its_predecessor(tale: Tale) -> None:
    tale.opened(ordering="key")
    tale.wrote(*KEYED)
    tale.ended(tale.sent("1", KEYED[0]), Ending.ANSWERED, _0=FailureKind.RETRYABLE)
    tale.now_s = 0.01
    tale.ended(tale.sent("2", KEYED[1]))


def not_in_halves(tale: Tale) -> None:
    tale.wrote(A, B)
    tale.ended(tale.sent("1", A, B), Ending.REJECTED)
    tale.ended(tale.sent("2", A))


def half_is_missing(tale: Tale) -> None:
    tale.wrote(A, B, C, D)
    tale.ended(tale.sent("1", A, B, C), Ending.REJECTED)
    tale.ended(tale.sent("1/0", A))
    tale.ended(tale.sent("1/1", C))


def sent_although_given_up(tale: Tale) -> None:
    tale.opened(on_rejected="drop")
    tale.wrote(A)
    tale.ended(tale.sent("1", A), Ending.REJECTED)
    tale.ended(tale.sent("2", A))


def letter_without_reason(tale: Tale) -> None:
    tale.opened(on_rejected="dead_letter", dead_letters=DeadLetterMemory())
    tale.wrote(A)
    tale.history.add(DeadLettered(tale.now_s, 1, (A,)))


def too_much_rejected(tale: Tale) -> None:
    tale.opened(on_rejected="drop", max_rejected=0.0)
    entries = [FakeEntry(name) for name in range(100)]
    tale.wrote(*entries)
    tale.ended(tale.sent("1", entries[0]), Ending.REJECTED)
    for at in range(1, 99, 2):
        tale.ended(tale.sent(f"{at}-", *entries[at : at + 2]))
    tale.ended(tale.sent("last", entries[99]))
    tale.history.add(FlushCalled(0.0, 1, 1, True))
    tale.history.add(FlushReturned(0.0, 1, 1, True))


def refusal_told_as_load(tale: Tale) -> None:
    tale.opened(on_rejected="drop")
    tale.wrote(A)
    tale.ended(tale.sent("1", A), Ending.REJECTED)
    tale.history.add(LimitCompleted(0.0, 1, 1, 1, 1))


def load_ignored(tale: Tale) -> None:
    tale.wrote(A)
    tale.ended(tale.sent("1", A), Ending.THROTTLED)
    tale.history.add(LimitCompleted(0.0, 1, 1, 1, 1, ignored=True))


def sent_after_a_timeout_that_fails(tale: Tale) -> None:
    tale.opened(fail_on_timeout=True)
    tale.wrote(A)
    request = tale.sent("1", A)
    tale.now_s = 10.0
    tale.ended(request, Ending.CUT)
    tale.now_s = 12.0
    tale.ended(tale.sent("1", A, attempt=2))


def stalled_too_early(tale: Tale) -> None:
    tale.wrote(A)
    tale.now_s = 5.0
    tale.history.add(Failed(5.0, 1, "StalledError"))


BROKEN: list[tuple[str, Callable[[Tale], None]]] = [
    ("nothing-lost", lost),
    ("nothing-lost", left_over),
    ("no-needless-duplicate", doubled),
    ("no-needless-duplicate", twice_at_once),
    ("no-needless-duplicate", never_given),
    ("sealed-resend", recut),
    ("sealed-resend", other_entries_under_an_id),
    ("sealed-resend", attempt_not_counted),
    ("unique-ids", id_of_another_writer),
    ("unique-ids", id_again_without_need),
    ("in-order", out_of_order),
    ("in-order", passed_over),
    ("batch-bounds", too_many_entries),
    ("batch-bounds", too_many_bytes),
    ("batch-bounds", two_routes),
    ("in-flight-bound", too_many_in_flight),
    ("scope-share", scope_takes_all),
    ("buffer-bounds", buffer_too_large),
    ("retry-after-honoured", before_retry_after),
    ("backoff-bounded", no_backoff),
    ("nothing-idle", full_batch_waits),
    ("nothing-idle", old_entry_waits),
    ("nothing-idle", sealed_waits),
    ("flush-meaning", flush_too_early),
    ("flush-meaning", flush_without_all),
    ("no-early-cut", cut_early),
    ("no-early-cut", never_cut),
    ("statistics-balanced", wrong_statistics),
    ("statistics-balanced", wrong_bytes),
    ("snapshot-exact", snapshot_lacks),
    ("snapshot-exact", snapshot_out_of_order),
    ("limiter-balanced", never_completed),
    ("limiter-balanced", completed_twice),
    ("key-order", two_of_a_key),
    ("key-order", two_generations_at_once),
    ("key-order", before_its_predecessor),
    ("bisected", not_in_halves),
    ("bisected", half_is_missing),
    ("no-needless-duplicate", sent_although_given_up),
    ("given-up", letter_without_reason),
    ("rejected-share", too_much_rejected),
    ("load-only", refusal_told_as_load),
    ("load-only", load_ignored),
    ("patience", sent_after_a_timeout_that_fails),
    ("patience", stalled_too_early),
]


@pytest.mark.parametrize(("rule", "tell"), BROKEN, ids=[tell.__name__ for _, tell in BROKEN])
def test_the_rule_fires_on_the_history_that_breaks_it(rule: str, tell: Callable[[Tale], None]) -> None:
    tale = Tale()
    tale.opened()
    tell(tale)
    found = {violation.rule for violation in judge(tale.history)}
    assert rule in found


def test_every_rule_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, _ in BROKEN} == {make(History()).name for make in RULES}


def test_a_sound_history_breaks_no_rule() -> None:
    tale = Tale()
    tale.opened()
    tale.wrote(A, B)
    first = tale.sent("1", A, B)
    tale.now_s = 1.0
    tale.ended(first, Ending.ANSWERED, _1=FailureKind.THROTTLED)
    tale.snapshot(B, accepted=2, acknowledged=1)
    tale.wrote(C)
    tale.now_s = 3.0
    second = tale.sent("2", B, C)
    tale.ended(second, Ending.UNKNOWN)
    tale.now_s = 4.0
    tale.ended(tale.sent("2", B, C, attempt=2))
    tale.quiet()
    tale.left()
    check(tale.history)


def test_a_message_says_what_was_lost_and_where_it_was_seen_last() -> None:
    tale = Tale()
    tale.opened()
    tale.wrote(A)
    tale.ended(tale.sent("7", A), Ending.THROTTLED)
    with pytest.raises(
        AssertionError, match=r"(?s)1 violations.*nothing-lost.*name='a'.*last seen in request 0 \(id 7"
    ):
        check(tale.history)


@pytest.mark.parametrize("ordering", ["none", "key"])
def test_a_throttled_half_is_out_of_the_buffer_and_comes_again_as_it_is(ordering: str) -> None:
    tale = Tale()
    tale.opened(ordering=ordering, max_buffered_requests=3)
    tale.wrote(A, B)
    tale.ended(tale.sent("1", A, B), Ending.REJECTED)
    tale.ended(tale.sent("1/0", A), Ending.THROTTLED)
    others = FakeEntry("of r", route="r"), FakeEntry("of s", route="s")
    tale.wrote(*others)
    tale.quiet()
    tale.now_s = 3.0
    tale.ended(tale.sent("1/0", A, attempt=2))
    tale.ended(tale.sent("1/1", B))
    for number, entry in enumerate(others):
        tale.ended(tale.sent(f"{2 + number}", entry))
    check(tale.history, [NothingIdle, UniqueIds, SealedResend])
