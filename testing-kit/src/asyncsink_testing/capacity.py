"""A destination that bears so much and no more: quotas that refill, latency with a knee, capacity that changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import ceil, floor, inf
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from asyncsink import Failure, RequestEntries, RequestError, RequestResult
from asyncsink_testing.destination import THROTTLED
from asyncsink_testing.faults import Fault, FaultSource, Step

if TYPE_CHECKING:
    from asyncsink_testing.history import SentRequest


class CapacityChange(NamedTuple):
    """From `at_s` on the capacity is `factor` times the described one; 0 is an outage."""

    at_s: float
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityModel:
    """What a destination bears. Everything a second is a token bucket of its own; all must have room.

    :param records_per_s: entries that it takes
    :param bytes_per_s: bytes that it takes
    :param requests_per_s: requests that it looks at; one beyond is throttled whole
    :param burst_s: depth of the buckets, in seconds' worth of capacity; they are full at the start
    :param refill_every_s: the buckets refill in steps, such as a quota for each second; 0 for all the time
    :param by_index: the entries that did not fit are throttled by index, the last ones of a request; else the whole
        request is throttled
    :param hint_step_s: a throttle says after how long the request would fit, rounded up to this step (0: exactly);
        None for no such hint
    :param latency_s: seconds from request to answer below the knee
    :param knee: requests under way beyond which latency grows in proportion; None for no knee
    :param jitter: each latency is drawn from (1 ± jitter) times what the knee gives
    :param changes: in order of time
    """

    records_per_s: float = inf
    bytes_per_s: float = inf
    requests_per_s: float = inf
    burst_s: float = 1.0
    refill_every_s: float = 0.0
    by_index: bool = False
    hint_step_s: float | None = None
    latency_s: float = 0.05
    knee: int | None = None
    jitter: float = 0.0
    changes: Sequence[CapacityChange] = ()

    def factor(self, now_s: float) -> float:
        """What the described capacity is multiplied by at a time."""
        return next((each.factor for each in reversed(self.changes) if each.at_s <= now_s), 1.0)


class _Bucket:
    """A token bucket; a request larger than its depth is taken on credit when it is full."""

    __slots__ = ("_burst_s", "_per_s", "depth", "per_s", "tokens")

    def __init__(self, per_s: float, burst_s: float) -> None:
        self._per_s, self._burst_s = per_s, burst_s
        self.scale(1.0)
        self.tokens = self.depth

    def scale(self, factor: float) -> None:
        self.per_s = self._per_s * factor if factor else 0.0
        self.depth = self.per_s * self._burst_s
        self.tokens = min(self.depth, getattr(self, "tokens", self.depth))

    def refill(self, elapsed_s: float) -> None:
        if self.tokens < self.depth:
            self.tokens = min(self.depth, self.tokens + elapsed_s * self.per_s)

    def fits(self, amount: float) -> bool:
        return self.per_s > 0 and self.tokens >= min(amount, self.depth)

    def wait_s(self, amount: float) -> float:
        """Seconds until so much fits, if nothing else is taken; 0 where it never does."""
        lacking = min(amount, self.depth) - self.tokens
        return lacking / self.per_s if lacking > 0 and self.per_s else 0.0


class Grant(NamedTuple):
    """What becomes of one request: its first `taken` entries are stored, the others are throttled."""

    taken: int
    latency_s: float
    retry_after_s: float | None


class Capacity:
    """The arithmetic of one :class:`CapacityModel` over the time of a loop, shared by all that send to it.

    All is decided when a request arrives, in a time that does not depend on its size. The same requests at the same
    times and the same seed give the same grants. A request that its sender cuts short still counts as under way until
    its answer would have come.
    """

    def __init__(self, model: CapacityModel, seed: int = 0, start_s: float = 0.0) -> None:
        self.model = model
        self._start_s = self._now_s = start_s
        self._random = Random(seed)
        self._records = _Bucket(model.records_per_s, model.burst_s)
        self._bytes = _Bucket(model.bytes_per_s, model.burst_s)
        self._requests = _Bucket(model.requests_per_s, model.burst_s)
        self._buckets = [each for each in (self._records, self._bytes, self._requests) if each.per_s != inf]
        self._changes = list(model.changes)[::-1]
        self._ends: list[float] = []

    def take(self, now_s: float, count: int, size_in_bytes: int = 0) -> Grant:
        """Decide on a request of so many entries and bytes. `now_s` must not go back."""
        self._advance(now_s)
        latency_s = self._latency(now_s)
        taken = self._fitting(count, size_in_bytes)
        for bucket, amount in (
            (self._requests, 1.0 if taken else 0.0),
            (self._records, taken),
            (self._bytes, size_in_bytes * taken / count),
        ):
            bucket.tokens -= amount
        return Grant(taken, latency_s, None if taken == count else self._hint(now_s, count - taken, size_in_bytes))

    def _advance(self, now_s: float) -> None:
        while self._changes and self._start_s + self._changes[-1].at_s <= now_s:
            change = self._changes.pop()
            self._refill(self._start_s + change.at_s)
            for bucket in self._buckets:
                bucket.scale(change.factor)
        self._refill(now_s)

    def _refill(self, now_s: float) -> None:
        step_s = self.model.refill_every_s
        elapsed_s = now_s - self._now_s
        if step_s:
            elapsed_s = step_s * (floor(now_s / step_s) - floor(self._now_s / step_s))
        for bucket in self._buckets:
            bucket.refill(elapsed_s)
        self._now_s = max(self._now_s, now_s)

    def _latency(self, now_s: float) -> float:
        model, ends = self.model, self._ends
        while ends and ends[0] <= now_s:
            heappop(ends)
        knee = model.knee or inf
        latency_s = model.latency_s * max(1.0, (len(ends) + 1) / knee)
        if model.jitter:
            latency_s *= self._random.uniform(1 - model.jitter, 1 + model.jitter)
        heappush(ends, now_s + latency_s)
        return latency_s

    def _fitting(self, count: int, size_in_bytes: int) -> int:
        if not self._requests.fits(1):
            return 0
        if self._records.fits(count) and self._bytes.fits(size_in_bytes):
            return count
        if not self.model.by_index:
            return 0
        taken = min(self._records.tokens, count)
        if size_in_bytes:
            taken = min(taken, self._bytes.tokens * count / size_in_bytes)
        return max(0, floor(taken))

    def _hint(self, now_s: float, refused: int, size_in_bytes: int) -> float | None:
        step_s = self.model.hint_step_s
        if step_s is None:
            return None
        wanted = ((self._records, refused), (self._bytes, size_in_bytes), (self._requests, 1))
        wait_s = max(bucket.wait_s(amount) for bucket, amount in wanted if bucket.per_s != inf)
        if every_s := self.model.refill_every_s:
            wait_s = ceil((now_s + wait_s) / every_s) * every_s - now_s
        return ceil(wait_s / step_s) * step_s if step_s else wait_s


@dataclass(slots=True)
class CapacityFaults:
    """Lets a :class:`FakeDestination` throttle what is beyond its capacity.

    :param make: the capacity of a scope, asked for once a scope
    :param beneath: faults that come first; only what they would answer well takes capacity
    """

    make: Callable[[Hashable | None], Capacity]
    beneath: FaultSource | None = None
    capacities: dict[Hashable | None, Capacity] = field(default_factory=dict)

    def next_step(self, request: SentRequest) -> Step:
        step = Step() if self.beneath is None else self.beneath.next_step(request)
        if step.fault is not Fault.OK:
            return step
        if request.scope not in self.capacities:
            self.capacities[request.scope] = self.make(request.scope)
        count = len(request.entries)
        grant = self.capacities[request.scope].take(request.started_s, count, request.size_in_bytes)
        latency_s = max(step.latency_s, grant.latency_s)
        if grant.taken == count:
            return Step(Fault.OK, latency_s)
        if not grant.taken:
            return Step(Fault.THROTTLED, latency_s, retry_after_s=grant.retry_after_s)
        refused = frozenset(range(grant.taken, count))
        return Step(Fault.PARTLY_THROTTLED, latency_s, refused, grant.retry_after_s)


class CapacityDestination:
    """Answers requests as a :class:`Capacity` decides, and keeps no entry: for many records in little time.

    :param on_request: told of each request when it arrives: its writer, entries, and those of them that are taken
    """

    def __init__(self, capacity: Capacity, on_request: Callable[[int, int, int], None] | None = None) -> None:
        self.capacity = capacity
        self._on_request = on_request

    async def handle(self, entries: RequestEntries[Any], writer: int = 0) -> RequestResult:
        """Take one request.

        :raises RequestError: it was throttled as a whole
        """
        count = len(entries)
        grant = self.capacity.take(anyio.current_time(), count, entries.size_in_bytes)
        if self._on_request is not None:
            self._on_request(writer, count, grant.taken)
        await anyio.sleep(grant.latency_s)
        if grant.taken == count:
            return RequestResult.OK
        if not grant.taken:
            raise RequestError(THROTTLED, "too much at once", grant.retry_after_s)
        failure = Failure(THROTTLED, "too much at once", retry_after_s=grant.retry_after_s)
        return RequestResult(dict.fromkeys(range(grant.taken, count), failure))
