"""A strategy is a user's code: whatever it does, nothing is lost and every count is right."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import anyio
import pytest

from asyncsink import FatalRequestError, RateLimit, RequestInfo, ResultInfo, RetryPolicy
from asyncsink.errors import StalledError
from asyncsink.limits import NoRateLimitingStrategy
from asyncsink_testing import FakeDestination, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import run_in_virtual_time, virtual

from .harness import batches, entries, small, stored

RAISING = ["register_in_flight_request", "register_completed_request", "should_block", "max_batch_size", "delay_s"]


class Hostile(NoRateLimitingStrategy):
    """Does what a strategy must not do; `after` calls of a method are still good."""

    def __init__(
        self, raises: str = "", after: int = 0, batch: Any = 3, delay_s: Any = 0.0, blocks: bool = False
    ) -> None:
        super().__init__()
        self._raises, self._left = raises, after
        self._batch, self._delay_s, self._blocks = batch, delay_s, blocks

    def _called(self, name: str) -> None:
        if name == self._raises:
            self._left -= 1
            if self._left < 0:
                raise ZeroDivisionError("a bug of its author's")

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._called("register_in_flight_request")

    def register_completed_request(self, info: ResultInfo) -> None:
        self._called("register_completed_request")

    def should_block(self, info: RequestInfo) -> bool:
        self._called("should_block")
        return self._blocks

    def delay_s(self, info: RequestInfo) -> float:
        self._called("delay_s")
        told: float = self._delay_s
        return told

    @property
    def max_batch_size(self) -> int:
        self._called("max_batch_size")
        told: int = self._batch
        return told

    def snapshot(self) -> bytes | None:
        raise ZeroDivisionError("a bug of its author's")


def hostile(**args: Any) -> RateLimit:
    return RateLimit.custom(f"{__name__}:Hostile", **args)


async def survive(limit: RateLimit, expected: Callable[[], Any] | None, **changes: Any) -> FakeDestination:
    """Write against a strategy; whatever becomes of the writer, nothing is lost and every count is right."""
    destination = FakeDestination([Step(latency_s=0.5)] * 3 + [Step.partly(Fault.PARTLY_FAILED, 0, latency_s=0.5)])
    config = small(**{"max_in_flight_requests": 3, "rate_limit": limit} | changes)
    writer = FakeSink(destination).open(config)

    async def write() -> None:
        async with writer:
            for entry in entries(1, 40):
                await writer.write(entry)

    if expected is None:
        await write()
    else:
        with expected():
            await write()
    told, left = writer.statistics(), writer.snapshot_state()[0].entries
    assert (told.in_flight_requests, told.in_flight_entries) == (0, 0)
    assert told.accepted == told.acknowledged + len(left) == told.acknowledged + told.unacknowledged
    assert {*stored(destination), *(each.name for each in left)} == set(range(1, told.accepted + 1))
    if expected is None:
        assert (told.accepted, left) == (40, ())
    assert not destination.in_flight
    return destination


@pytest.mark.parametrize("after", [0, 1, 5])
@pytest.mark.parametrize("method", RAISING)
def test_a_strategy_that_raises_fails_the_writer_by_name_and_loses_nothing(method: str, after: int) -> None:
    def expected() -> Any:
        return pytest.raises(FatalRequestError, match=r"Hostile.*a bug of|a bug of.*Hostile")

    async def main() -> None:
        await survive(hostile(raises=method, after=after), expected)

    run_in_virtual_time(main)


@virtual
async def test_a_strategy_that_blocks_for_ever_lets_requests_out_one_by_one() -> None:
    assert (await survive(hostile(blocks=True), None)).peak_in_flight == 1


@virtual
async def test_what_a_strategy_says_of_itself_afterwards_concerns_no_writer() -> None:
    await survive(hostile(), None)


@pytest.mark.parametrize(("batch", "largest"), [(0, 1), (-7, 1), (2**70, 3), (2.7, 2), (inf, 3), (-inf, 1), (nan, 3)])
def test_any_size_of_batch_is_made_a_legal_one(batch: Any, largest: int) -> None:
    async def main() -> None:
        destination = await survive(hostile(batch=batch), None)
        assert max(map(len, batches(destination))) == largest

    run_in_virtual_time(main)


@pytest.mark.parametrize("batch", ["three", None])
def test_a_size_of_batch_that_is_no_number_fails_the_writer_by_name(batch: Any) -> None:
    async def main() -> None:
        await survive(hostile(batch=batch), lambda: pytest.raises(FatalRequestError, match="Hostile"))

    run_in_virtual_time(main)


@pytest.mark.parametrize("delay_s", [nan, -1.0, -inf, 0])
def test_a_delay_that_is_none_delays_nothing(delay_s: Any) -> None:
    async def main() -> None:
        began_s = anyio.current_time()
        await survive(hostile(delay_s=delay_s), None)
        assert anyio.current_time() - began_s < 20.0

    run_in_virtual_time(main)


@virtual
async def test_a_delay_without_end_ends_with_the_stall_timeout() -> None:
    retry = RetryPolicy(timeout_s=20.0)
    await survive(
        hostile(delay_s=inf), lambda: pytest.raises(StalledError, match="stall"), retry=retry, stall_timeout_s=30.0
    )
