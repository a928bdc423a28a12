"""One token for all connections, renewed before it expires."""

from __future__ import annotations

import anyio
import pytest

from asyncsink_kafka.security.tokens import (
    Token,
    TokenCache,
    TokenRefusedError,
    TokenUnavailableError,
    expiry_of,
)

from .jwts import unsigned

pytestmark = pytest.mark.anyio


class Source:
    """Gives tokens of 100 seconds, by a clock that the test moves."""

    def __init__(self, lifetime_s: float | None = 100.0) -> None:
        self.now = 1_000_000.0
        self.lifetime_s = lifetime_s
        self.failure: Exception | None = None
        self.asked = 0
        self.at_once = 0
        self.most_at_once = 0
        self.cache = TokenCache(self.fetch, clock=lambda: self.now)

    async def fetch(self) -> Token:
        self.asked += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await anyio.lowlevel.checkpoint()
        self.at_once -= 1
        if self.failure is not None:
            raise self.failure
        return Token(f"token {self.asked}", None if self.lifetime_s is None else self.now + self.lifetime_s)


async def test_one_token_serves_until_four_fifths_of_its_life_are_over() -> None:
    source = Source()
    assert await source.cache.token() == "token 1"
    source.now += 79
    assert await source.cache.token() == "token 1"
    source.now += 1
    assert await source.cache.token() == "token 2"
    assert source.asked == 2


async def test_many_connections_wait_for_one_refresh() -> None:
    source, seen = Source(), []

    async def connect() -> None:
        seen.append(await source.cache.token())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(connect)
    assert seen == ["token 1"] * 5
    assert source.most_at_once == 1


@pytest.mark.parametrize("failure", [TokenUnavailableError("down"), TokenRefusedError("no")])
async def test_a_failing_refresh_keeps_the_old_token_while_it_is_valid(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source()
    await source.cache.token()
    source.now, source.failure = source.now + 85, failure
    assert await source.cache.token() == "token 1"
    assert "still valid" in caplog.text
    source.now += 15
    with pytest.raises(type(failure)):
        await source.cache.token()


async def test_after_a_failure_it_is_tried_again_after_a_pause() -> None:
    source = Source()
    await source.cache.token()
    source.now, source.failure = source.now + 81, TokenUnavailableError("down")
    await source.cache.token()
    await source.cache.token()
    assert source.asked == 2
    source.now, source.failure = source.now + 10, None
    assert await source.cache.token() == "token 3"


async def test_a_token_without_a_known_end_serves_one_connection() -> None:
    source = Source(lifetime_s=None)
    assert [await source.cache.token(), await source.cache.token()] == ["token 1", "token 2"]


async def test_without_any_token_the_failure_is_told() -> None:
    source = Source()
    source.failure = TokenUnavailableError("down")
    with pytest.raises(TokenUnavailableError, match="down"):
        await source.cache.token()


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(Token("secret", 1.0))


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (unsigned(exp=1_767_000_000), 1_767_000_000.0),
        (unsigned(exp=1_767_000_000.5), 1_767_000_000.5),
        (unsigned(sub="x"), None),
        (unsigned(exp="soon"), None),
        ("opaque", None),
        ("a.b.c", None),
        ("a.W10.c", None),
    ],
)
def test_the_end_of_a_json_web_token_is_read(token: str, expected: float | None) -> None:
    assert expiry_of(token) == expected
