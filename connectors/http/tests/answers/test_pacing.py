"""Quotas that a server tells, over real sockets: nobody sends before they are whole again."""

from __future__ import annotations

from itertools import pairwise

import anyio
import pytest

from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

pytestmark = pytest.mark.anyio

RESET_S = 0.1


class Quota:
    """A server that takes one request in a window, and tells with the answer that nothing is left."""

    def __init__(self, reset: str = f"{RESET_S}") -> None:
        self._reset = reset
        self.arrived_s: list[float] = []
        self.paths: list[str] = []

    def __call__(self, request: HttpRequest) -> Reaction:
        self.arrived_s.append(anyio.current_time())
        self.paths.append(request.path)
        return Reaction(headers={"RateLimit-Remaining": "0", "RateLimit-Reset": self._reset})

    @property
    def is_heeded(self) -> bool:
        """Whether nobody came before the window was over: a slow machine makes requests later, never earlier."""
        return all(later - each >= RESET_S - 1e-3 for each, later in pairwise(self.arrived_s))


async def send(server: FaultyHttpServer, rows: int, path: str = "/in", **options: str) -> None:
    given = {"url": f"{server.url}{path}", "body": "single", "maxInFlightRequests": "1"}
    async with HttpSink.from_options(given | options).open() as writer:
        await writer.write_many([{"id": number} for number in range(rows)])


async def test_after_an_answer_that_leaves_nothing_of_a_quota_nobody_sends_before_it_is_whole() -> None:
    quota = Quota()
    async with FaultyHttpServer(quota) as server:
        await send(server, 4)
    assert len(quota.arrived_s) == 4
    assert quota.is_heeded


async def test_the_pause_is_of_the_host_whatever_address_rows_go_to() -> None:
    quota = Quota()
    async with FaultyHttpServer(quota) as server:
        await send(server, 4, path="/in/{id}")
    assert sorted(quota.paths) == [f"/in/{number}" for number in range(4)]
    assert quota.is_heeded


async def test_quotas_count_for_nothing_where_the_option_says_so() -> None:
    quota = Quota(reset="240")
    async with FaultyHttpServer(quota) as server:
        with anyio.fail_after(30):
            await send(server, 4, rateLimitHeaders="false")
    assert len(quota.arrived_s) == 4


async def test_a_pause_is_no_longer_than_the_option_allows() -> None:
    quota = Quota(reset="86400")
    async with FaultyHttpServer(quota) as server:
        with anyio.fail_after(30):
            await send(server, 3, **{"retry.retryAfterCap": f"{RESET_S}s"})
    assert len(quota.arrived_s) == 3
    assert quota.is_heeded
