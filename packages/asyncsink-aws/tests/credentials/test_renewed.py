"""Renewal ahead of expiry, by a clock of its own."""

from __future__ import annotations

import logging

import anyio
import pytest
from botocore.exceptions import CredentialRetrievalError

from asyncsink_aws import AwsKeys
from asyncsink_aws.credentials.renewed import RenewedCredentials

pytestmark = pytest.mark.anyio


class Source:
    """Issues K1, K2 ...; `life_s` long from the present of its clock."""

    def __init__(self, life_s: float | None) -> None:
        self.now_s = 1_000_000.0
        self.issued = 0
        self.life_s = life_s
        self.error: Exception | None = None
        self.hold: anyio.Event | None = None
        self.asked = 0
        self.credentials = RenewedCredentials(self.fetch, "a source", lambda: self.now_s)

    async def fetch(self) -> AwsKeys:
        self.asked += 1
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        self.issued += 1
        expires_at = None if self.life_s is None else self.now_s + self.life_s
        return AwsKeys(f"K{self.issued}", "s3cret", None, expires_at)

    async def key(self) -> str:
        return str((await self.credentials.get_frozen_credentials()).access_key)


@pytest.mark.parametrize(("life_s", "early_s"), [(6 * 3600.0, 900.0), (3600.0, 900.0), (900.0, 225.0), (40.0, 10.0)])
async def test_keys_are_renewed_ahead_of_their_expiry_and_not_before(life_s: float, early_s: float) -> None:
    source = Source(life_s)
    assert await source.key() == "K1"
    source.now_s += life_s - early_s - 0.5
    assert await source.key() == "K1"
    source.now_s += 1
    assert [await source.key() for _ in range(3)] == ["K2"] * 3


async def test_keys_without_an_expiry_are_fetched_once() -> None:
    source = Source(None)
    await source.key()
    source.now_s += 1e9
    assert (await source.key(), source.asked) == ("K1", 1)


async def test_others_go_on_with_the_old_keys_while_one_request_waits_for_new_ones() -> None:
    source = Source(3600.0)
    await source.key()
    source.now_s += 2800
    source.hold = anyio.Event()
    found: list[str] = []

    async def renew() -> None:
        found.append(await source.key())

    async with anyio.create_task_group() as group:
        group.start_soon(renew)
        await anyio.wait_all_tasks_blocked()
        found.append(await source.key())
        source.hold.set()
    assert (found, source.asked) == (["K1", "K2"], 2)


async def test_when_it_is_late_all_wait_and_one_asks() -> None:
    source = Source(3600.0)
    await source.key()
    source.now_s += 3100
    source.hold = anyio.Event()
    found: list[str] = []

    async def renew() -> None:
        found.append(await source.key())

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(renew)
        await anyio.wait_all_tasks_blocked()
        assert found == []
        source.hold.set()
    assert (found, source.asked) == (["K2"] * 4, 2)


async def test_an_early_renewal_that_fails_is_a_warning_and_is_tried_again_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Source(3600.0)
    await source.key()
    source.now_s += 2800
    source.error = CredentialRetrievalError(provider="x", error_msg="s3cret")
    with caplog.at_level(logging.WARNING):
        assert [await source.key() for _ in range(3)] == ["K1"] * 3
    assert source.asked == 2
    (record,) = caplog.records
    assert "credentials by a source expire in 800 s and could not be renewed (CredentialRetrievalError)" in caplog.text
    assert "s3cret" not in caplog.text
    assert record.levelno == logging.WARNING
    source.now_s += 31
    source.error = None
    assert await source.key() == "K2"


async def test_when_it_is_late_the_error_is_raised() -> None:
    source = Source(3600.0)
    await source.key()
    source.now_s += 3100
    source.error = CredentialRetrievalError(provider="x", error_msg="down")
    for _ in range(2):
        with pytest.raises(CredentialRetrievalError, match="down"):
            await source.key()
    source.error = None
    assert await source.key() == "K2"


async def test_a_request_that_is_cancelled_while_it_renews_leaves_the_way_free() -> None:
    source = Source(3600.0)
    source.hold = anyio.Event()
    with anyio.move_on_after(0):
        await source.key()
    source.hold.set()
    assert await source.key() == "K1"
