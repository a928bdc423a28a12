"""Renewal ahead of expiry, by a clock of its own."""

from __future__ import annotations

import anyio
import pytest

from asyncsink import RequestError
from asyncsink_http.auth.tokens import Token, TokenCache

pytestmark = pytest.mark.anyio


class Source:
    """Issues T1, T2 ..., each `life_s` long."""

    def __init__(self, life_s: float | None, refresh_before_s: float = 30.0) -> None:
        self.now_s = 1_000.0
        self.asked = 0
        self.issued = 0
        self.life_s = life_s
        self.error: RequestError | None = None
        self.hold: anyio.Event | None = None
        self.tokens = TokenCache(self.fetch, refresh_before_s, clock=lambda: self.now_s)

    async def fetch(self) -> Token:
        self.asked += 1
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        self.issued += 1
        return Token(f"T{self.issued}", self.life_s)


@pytest.mark.parametrize(
    ("life_s", "refresh_before_s", "at_s"),
    [(3600, 30, 2880), (3600, 900, 2700), (100, 30, 70), (20, 30, 10), (3600, 0, 2880)],
)
async def test_the_next_token_is_asked_for_in_time_and_not_before(
    life_s: float, refresh_before_s: float, at_s: float
) -> None:
    source = Source(life_s, refresh_before_s)
    await source.tokens.token()
    source.now_s += at_s - 0.5
    assert await source.tokens.token() == "T1"
    source.now_s += 1
    assert [await source.tokens.token() for _ in range(3)] == ["T2"] * 3


async def test_a_token_without_an_end_is_used_until_it_is_refused() -> None:
    source = Source(None)
    await source.tokens.token()
    source.now_s += 1e9
    assert await source.tokens.token() == "T1"
    assert await source.tokens.instead_of("T1") == "T2"
    assert await source.tokens.instead_of("T1") == "T2", "somebody else has asked already"
    assert source.asked == 2


async def test_others_go_on_with_the_old_token_while_one_request_waits_for_the_next() -> None:
    source = Source(3600)
    await source.tokens.token()
    source.now_s += 3000
    source.hold = anyio.Event()
    found: list[str] = []

    async def renew() -> None:
        found.append(await source.tokens.token())

    async with anyio.create_task_group() as group:
        group.start_soon(renew)
        await anyio.wait_all_tasks_blocked()
        found.append(await source.tokens.token())
        source.hold.set()
    assert (found, source.asked) == (["T1", "T2"], 2)


async def test_an_endpoint_that_is_down_does_no_harm_while_the_token_lives(caplog: pytest.LogCaptureFixture) -> None:
    source = Source(3600)
    await source.tokens.token()
    source.now_s += 3000
    source.error = RequestError("TOKEN_UNAVAILABLE", "down")
    assert [await source.tokens.token() for _ in range(5)] == ["T1"] * 5
    assert source.asked == 2, "not every request asks"
    assert caplog.text.count("is not renewed, the present one is still valid: TOKEN_UNAVAILABLE: down") == 1
    source.now_s += 10
    await source.tokens.token()
    assert source.asked == 3
    source.now_s += 600
    with pytest.raises(RequestError, match="TOKEN_UNAVAILABLE: down"):
        await source.tokens.token()
    source.error = None
    assert await source.tokens.token() == "T2"


async def test_requests_cut_by_their_deadline_leave_the_others_the_old_token() -> None:
    source = Source(3600)
    await source.tokens.token()
    source.now_s += 3000
    source.hold = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(source.tokens.token)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert (await source.tokens.token(), source.asked) == ("T1", 2)


async def test_when_the_first_to_ask_is_cut_the_next_one_asks() -> None:
    source = Source(3600)
    source.hold = anyio.Event()
    found: list[str] = []

    async def ask(scope: anyio.CancelScope) -> None:
        with scope:
            found.append(await source.tokens.token())

    async with anyio.create_task_group() as group:
        first = anyio.CancelScope()
        group.start_soon(ask, first)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ask, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        first.cancel()
        await anyio.wait_all_tasks_blocked()
        source.hold.set()
    assert (found, source.asked) == (["T1"], 2)
