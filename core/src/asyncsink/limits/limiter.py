"""What the writers of one scope share: the strategy, the backoff and the destination's time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import inf
from random import Random
from typing import TYPE_CHECKING

from asyncsink.errors import FatalRequestError
from asyncsink.limits.strategy import RateLimitingStrategy, RequestInfo, ResultInfo

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig, RetryPolicy

logger = logging.getLogger(__name__)

_MANY = 2**63 - 1


class Limiter:
    """Says when the next request of a scope may go. Belongs to one event loop; its time is that loop's clock.

    Two things hold a request back: the backoff after failures, which is of the destination, and the strategy, which
    is of the load. Backoff is full jitter and grows once per round: failures of requests that were sent before the
    present backoff began say nothing new.

    A strategy is the user's code and may raise anywhere: who asks then gets a FatalRequestError that names it. Where
    it raises when told of an ending, that comes at the next question, so that no ending is cut short.
    """

    __slots__ = (
        "_backoff_since_start",
        "_backoffs",
        "_delayed_until_s",
        "_delays",
        "_limit",
        "_members",
        "_random",
        "_retry",
        "_starts",
        "_warned",
        "broken",
        "failing_since_s",
        "in_flight",
        "last_failure",
        "not_before_s",
        "strategy",
        "waiting",
        "writers",
    )

    def __init__(self, strategy: RateLimitingStrategy, retry: RetryPolicy, random: Random | None = None) -> None:
        self.strategy = strategy
        self.writers: int | None = None
        """In how many parts a total goes, of which the strategy keeps one."""
        self.in_flight = 0
        self.not_before_s = -inf
        self.failing_since_s: float | None = None
        """Since when every answer has been a failure that says nothing about an entry; None while it works."""
        self.last_failure: BaseException | None = None
        self._retry = retry
        self._random = random or Random()
        self._delays = type(strategy).delay_s is not RateLimitingStrategy.delay_s
        self._delayed_until_s = -inf
        self._starts = 0
        self._backoffs = 0
        self._backoff_since_start = 0
        self.waiting: dict[Callable[[], None], None] = {}
        self._members: dict[Callable[[], None], Callable[[Limiter], None]] = {}
        self._limit: float = inf
        """The largest batch when the last request had ended; at first none is known."""
        self._warned = False
        self.broken: FatalRequestError | None = None
        """What became of a strategy that has raised; it is not asked again."""

    def admits(self, info: RequestInfo, *, sealed: bool = False) -> bool:
        """Whether this request may go now. Where not, ask again after a completion or at :meth:`unblocked_s`.

        :raises FatalRequestError: the strategy has raised
        """
        if info.now_s < self.not_before_s:
            return False
        try:
            if self._delays and (delay_s := self.strategy.delay_s(info)) > 0:
                self._delayed_until_s = info.now_s + delay_s
                return False
            blocks = self.strategy.should_block(info)
        except Exception as error:
            raise self._fault(error) from error
        if not blocks:
            return True
        if self.in_flight:
            return False
        # Nothing in flight means that no completion will ever ask again: waiting would be for ever. A sealed request
        # may not be cut down to a budget that has shrunk meanwhile; that is no fault of the strategy.
        if not (sealed and info.batch_size > self.strategy.max_batch_size):
            told = f"blocks a request of {info.batch_size} entries although nothing is in flight; it goes out anyway"
            self._warn_once(told)
        return True

    def _warn_once(self, what: str) -> None:
        """Say the first thing that is odd about the strategy, and nothing more: it would be said again and again."""
        if not self._warned:
            self._warned = True
            logger.warning("%s %s", type(self.strategy).__name__, what)

    def start(self, info: RequestInfo) -> int:
        """Register a request that is about to be sent; the number is to be given back to :meth:`back_off`.

        :raises FatalRequestError: the strategy has raised; nothing is registered
        """
        try:
            self.strategy.register_in_flight_request(info)
        except Exception as error:
            raise self._fault(error) from error
        self.in_flight += 1
        self._starts += 1
        return self._starts

    def end(self, info: ResultInfo) -> None:
        """Register that a request has ended, in whatever way. Never raises."""
        self.in_flight -= 1
        try:
            self.strategy.register_completed_request(info)
            limit, self._limit = self._limit, self.strategy.max_batch_size
            if self._limit < limit:
                # A smaller batch is due earlier, in every lane of the scope and in every writer.
                for shrunk in list(self._members.values()):
                    shrunk(self)
        except Exception as error:
            self._fault(error)

    def batch_limit(self, most: int) -> int:
        """Entries that the next request may hold: from 1 to `most`, whatever number the strategy gives.

        :raises FatalRequestError: the strategy has raised, or gives something else than a number
        """
        if self.broken is not None:
            raise self.broken
        try:
            limit = self.strategy.max_batch_size
            if limit < most:
                return int(limit) if limit >= 1 else 1
            return most
        except Exception as error:
            raise self._fault(error) from error

    def budget(self) -> int | None:
        """The most entries of the next request, for show; None of a strategy that has raised."""
        try:
            return self.batch_limit(_MANY)
        except FatalRequestError:
            return None

    def snapshot(self) -> bytes | None:
        """What the strategy has learned; None if nothing is worth keeping, or if it has raised or gave no bytes."""
        try:
            found = None if self.broken else self.strategy.snapshot()
        except Exception as error:
            self._fault(error)
            return None
        if found is None or isinstance(found, bytes):
            return found
        self._warn_once(f"gives a {type(found).__name__} as its snapshot, which has to be bytes; it is not kept")
        return None

    def _fault(self, error: Exception) -> FatalRequestError:
        if self.broken is None:
            self.broken = FatalRequestError(
                f"{type(self.strategy).__name__} raised {type(error).__name__}: {error}; a rate limit must never "
                "raise: mend it, or choose another rate_limit"
            )
            self.broken.__cause__ = error
        return self.broken

    def join(self, plan: Callable[[], None], shrunk: Callable[[Limiter], None]) -> None:
        """Make a writer known by its `plan`; it is told whenever the largest batch becomes smaller."""
        self._members[plan] = shrunk

    def leave(self, plan: Callable[[], None]) -> None:
        """Forget a writer: it is neither told nor woken any more, and a failure that only it had met is no one's."""
        self._members.pop(plan, None)
        self.waiting.pop(plan, None)
        self.reset_time()

    @property
    def is_idle(self) -> bool:
        """Whether no writer has to do with it."""
        return not (self.in_flight or self.waiting or self._members)

    def wake(self, but: Callable[[], None]) -> None:
        """Let the other writers that wait for this scope plan anew."""
        for plan in [each for each in self.waiting if each is not but]:
            self.waiting.pop(plan, None)
            plan()

    def unblocked_s(self, now_s: float) -> float:
        """When to ask again without an answer having come: the backoff ends, or the destination's time is up."""
        times = [each for each in (self.not_before_s, self._delayed_until_s) if each > now_s]
        if not self.in_flight:
            times.append(self.give_up_s)
        return min(times, default=inf)

    def wait(self, plan: Callable[[], None]) -> None:
        """Have `plan` called at the next completion."""
        self.waiting[plan] = None

    def succeed(self) -> None:
        """An answer has stored or judged an entry: the destination works."""
        self._backoffs = 0
        self.failing_since_s = None

    def back_off(self, start: int, now_s: float, retry_after_s: float | None, failure: BaseException | None) -> None:
        """Hold the scope back after a failure of the request that was the `start`-th.

        :param retry_after_s: what the service asked for; honoured up to the policy's cap
        :param failure: kept as the cause of giving up; None for a throttle that came beside stored entries
        """
        if failure is not None:
            self.last_failure = failure
            if self.failing_since_s is None:
                self.failing_since_s = now_s
        if start > self._backoff_since_start:
            self._backoff_since_start = self._starts
            self._backoffs += 1
            self.not_before_s = max(self.not_before_s, now_s + self.jitter_s(self._backoffs))
        if retry_after_s is not None:
            self.pause(now_s, retry_after_s)

    def pause(self, now_s: float, pause_s: float) -> None:
        """Hold the scope back as the service asks for it, whether something has failed or not; at most the cap."""
        if pause_s > 0:
            self.not_before_s = max(self.not_before_s, now_s + min(pause_s, self._retry.retry_after_cap_s))

    def jitter_s(self, attempts: int) -> float:
        """Full jitter: uniform between 0 and the exponential backoff after so many failures."""
        exponential_s = self._retry.initial_backoff_s * 2.0 ** min(attempts - 1, 60)
        return self._random.uniform(0.0, min(self._retry.max_backoff_s, exponential_s))

    @property
    def give_up_s(self) -> float:
        """When the destination's time is up; infinite while it works."""
        return inf if self.failing_since_s is None else self.failing_since_s + self._retry.timeout_s

    def reset_time(self) -> None:
        """Give the destination its whole time again if nobody tries it: a writer has left, or a new one takes over."""
        if not self.in_flight and not self.waiting:
            self.failing_since_s = None


def _seed(strategy: RateLimitingStrategy, hints: Sequence[bytes]) -> None:
    """Tell a new strategy what others have learned: a hint, so one that cannot take it starts without."""
    try:
        strategy.seed(hints)
    except Exception as error:
        logger.warning("%s.seed raised %s: %s; it starts without", type(strategy).__name__, type(error).__name__, error)


class LimiterCache:
    """The limiters of one client, by scope. Bounded: beyond `max_scopes` the longest unused idle one is forgotten."""

    __slots__ = ("_learned", "_limiters", "_max_scopes")

    def __init__(self, max_scopes: int = 1024) -> None:
        self._limiters: dict[tuple[Hashable, ...], Limiter] = {}
        self._learned: Mapping[str, Sequence[bytes]] = {}
        self._max_scopes = max_scopes

    def __len__(self) -> int:
        return len(self._limiters)

    def limiter(self, scope: Hashable, config: AsyncSinkWriterConfig) -> Limiter:
        """The limiter of a scope for writers with `config`, made when it is first asked for."""
        # Only what a strategy is made from: writers that differ in something else share what they learn. Not the
        # number of parts, which changes from one of Spark's batches to the next: each would begin a window of its own.
        limit = config.rate_limit
        sizes = config.max_batch_size, config.max_batch_size_in_bytes, config.max_in_flight_requests
        key = scope, limit.undivided, config.retry, *sizes
        found = self._limiters.pop(key, None)
        if found is None or found.broken is not None:
            strategy = limit.make(config)
            if hints := self._learned.get(repr(scope)):
                _seed(strategy, hints)
            found = Limiter(strategy, config.retry)
            self._make_room()
        elif found.writers != limit.writers:
            found.strategy = limit.make_from(found.strategy, config)
        found.writers = limit.writers
        self._limiters[key] = found
        return found

    def learn(self, learned: Mapping[str, Sequence[bytes]]) -> None:
        """Start limiters that are made from now on with what :meth:`snapshot` gave elsewhere; others know better."""
        self._learned = learned

    def snapshot(self) -> dict[str, bytes]:
        """By scope, what its limiter has learned so far."""
        found = ((key[0], limiter.snapshot()) for key, limiter in self._limiters.items())
        return {repr(scope): snapshot for scope, snapshot in found if snapshot is not None}

    def _make_room(self) -> None:
        if len(self._limiters) >= self._max_scopes:
            idle = next((key for key, each in self._limiters.items() if each.is_idle), None)
            if idle is not None:
                del self._limiters[idle]
