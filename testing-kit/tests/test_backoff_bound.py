"""How many rounds of backoff the oracle takes for chance."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from asyncsink import RetryPolicy
from asyncsink_testing.rules.backoff import most_rounds

POLICIES = [(0.02, 0.1), (0.1, 0.5), (0.02, 2.0), (0.1, 0.1)]


def drawn(retry: RetryPolicy, lasting_s: float, waitless: float, random: Random) -> int:
    """Rounds of full jitter, as the writer draws them, that end within so many seconds."""
    now_s, rounds = 0.0, 0
    while True:
        longest_s = min(retry.max_backoff_s, retry.initial_backoff_s * 2.0**rounds)
        now_s += 0.0 if random.random() < waitless else random.uniform(0.0, longest_s)
        if now_s > lasting_s:
            return rounds
        rounds += 1


@pytest.mark.parametrize("waitless", [0.0, 0.1, 0.8])
@pytest.mark.parametrize(("initial_s", "longest_s"), POLICIES)
def test_full_jitter_stays_within_the_bound(initial_s: float, longest_s: float, waitless: float) -> None:
    retry = RetryPolicy(initial_backoff_s=initial_s, max_backoff_s=longest_s)
    random = Random(f"{initial_s} {longest_s} {waitless}")
    for lasting_s in (0.001, 0.3, 3.0):
        most = most_rounds(retry, lasting_s, waitless)
        assert max(drawn(retry, lasting_s, waitless, random) for _ in range(200)) <= most


@pytest.mark.parametrize(("initial_s", "longest_s"), POLICIES)
def test_the_bound_is_near_to_what_full_jitter_draws(initial_s: float, longest_s: float) -> None:
    # A wait is half its bound on average: no more than double of what that makes over a long time.
    retry = RetryPolicy(initial_backoff_s=initial_s, max_backoff_s=longest_s)
    assert 200 <= most_rounds(retry, 100 * longest_s) <= 400
    assert most_rounds(retry, 0.0) <= 4


def test_without_backoff_there_is_no_bound() -> None:
    assert most_rounds(RetryPolicy(initial_backoff_s=0.0, max_backoff_s=1.0), 1.0) == inf


def test_a_backoff_without_an_end_has_a_bound() -> None:
    assert most_rounds(RetryPolicy(initial_backoff_s=0.1, max_backoff_s=inf), 1000.0) < 30
