"""How many requests full jitter lets through while all of them fail."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cache
from math import ceil, expm1, inf, log, log2
from typing import TYPE_CHECKING, ClassVar

from asyncsink_testing.history import Ending, Event, History, RequestEnded, RequestStarted
from asyncsink_testing.ledger import Ledger
from asyncsink_testing.rules.base import Rule

if TYPE_CHECKING:
    from asyncsink import RetryPolicy

CHANCE = 1e-12
"""The most that a sound writer exceeds the bound by bad luck, at each request: once in ten billion seeds of 100."""
_SPARE_ROUNDS = 3
"""One whose wait began before the count did, one whose failure the writer had no need to heed, and one that an answer
at the very instant of the first failure gives back."""
_RATES = tuple(2.0**power for power in range(-7, 13))


class BackoffBounded(Rule):
    """During an outage the requests of a scope grow with the logarithm of its length, then with its length."""

    name = "backoff-bounded"
    events: ClassVar[tuple[type[Event], ...]] = (RequestStarted, RequestEnded)

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._failing: dict[Hashable, dict[int, tuple[float, int]]] = {}

    def check(self, event: RequestStarted | RequestEnded, ledger: Ledger) -> Iterator[str]:
        request = event.request
        failing = self._failing.setdefault(request.scope, {})
        if isinstance(event, RequestEnded):
            if request.ending in (Ending.THROTTLED, Ending.UNKNOWN, Ending.CUT):
                failing.setdefault(ledger.number, (event.time_s, 0))
            else:
                failing.clear()  # writers may share the backoff of a scope, and one answer ends it for all of them
        elif ledger.number in failing:
            since_s, count = failing[ledger.number]
            failing[ledger.number] = since_s, count + 1
            rounds = _SPARE_ROUNDS + most_rounds(ledger.config.retry, event.time_s - since_s, self.history.waitless)
            most = rounds * ledger.config.max_in_flight_requests
            if count + 1 > most:
                del failing[ledger.number]
                yield (
                    f"{request} is number {count + 1} in scope {request.scope!r} since every request there has failed, "
                    f"from {since_s:.6g} on; with the backoff of the policy {most:.0f} would be many"
                )


def most_rounds(retry: RetryPolicy, lasting_s: float, waitless: float = 0.0) -> float:
    """Rounds of backoff that come within so many seconds; more of them have a chance of at most `CHANCE`.

    Chernoff's bound: that n independent waits W sum up to T or less has a chance of at most
    ``exp(a * T / C) * E[exp(-a * W / C)] ** n``, for each ``a > 0``. After `doublings` rounds a wait is 0 with the
    chance `waitless`, else uniform between 0 and at least ``C = initial_backoff_s * 2**doublings``, so the expectation
    is ``waitless + (1 - waitless) * (1 - exp(-a)) / a``; of the rounds before, nothing is asked. Each choice of
    `doublings` and of `a` makes a bound, and the least is taken.
    """
    if not retry.initial_backoff_s:
        return inf
    doublings = ceil(min(log2(retry.max_backoff_s / retry.initial_backoff_s), 60.0))
    least = inf
    for before in range(doublings + 1):
        most_s = min(retry.max_backoff_s, retry.initial_backoff_s * 2.0**before)
        rounds = min((rate * lasting_s / most_s - log(CHANCE)) / _decay(rate, waitless) for rate in _RATES)
        least = min(least, before + ceil(rounds))
    return least


@cache
def _decay(rate: float, waitless: float) -> float:
    return -log(waitless + (1 - waitless) * -expm1(-rate) / rate)
