"""A token in a file that changes: when it is read, and what is used while it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from asyncsink import RequestError
from asyncsink_http.auth.token_file import TokenFile
from asyncsink_testing import FaultyHttpServer

from .sending import sending
from .token_endpoint import Api

pytestmark = pytest.mark.anyio


class Rotated:
    """A token file, put in place as Kubernetes does it, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "token"
        self.now_s = 1_000.0
        self.tokens = TokenFile(str(self.path), clock=lambda: self.now_s)

    def put(self, text: str) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.path)


@pytest.fixture
def rotated(tmp_path: Path) -> Rotated:
    return Rotated(tmp_path)


async def test_a_file_that_has_changed_is_read_within_a_second(rotated: Rotated) -> None:
    rotated.put("T1\n")
    assert await rotated.tokens.token() == "T1"
    rotated.put("T2")
    rotated.now_s += 0.9
    assert await rotated.tokens.token() == "T1", "not every request looks at the file"
    rotated.now_s += 0.2
    assert await rotated.tokens.token() == "T2"


async def test_a_file_of_the_same_size_and_time_is_another_file(rotated: Rotated) -> None:
    rotated.put("T1")
    os.utime(rotated.path, (1_000, 1_000))
    assert await rotated.tokens.token() == "T1"
    rotated.put("T2")
    os.utime(rotated.path, (1_000, 1_000))
    rotated.now_s += 2
    assert await rotated.tokens.token() == "T2"


async def test_a_refused_token_is_looked_for_at_once(rotated: Rotated) -> None:
    rotated.put("T1")
    await rotated.tokens.token()
    assert await rotated.tokens.instead_of("T1") is None
    rotated.put("T2")
    assert await rotated.tokens.instead_of("T1") == "T2"
    assert await rotated.tokens.instead_of("T1") == "T2"


@pytest.mark.parametrize("text", [None, "", "\n", "two words", "s3cret\r\nX: y", "s3cr€t"])
async def test_a_file_without_a_token_leaves_the_old_one_and_is_fatal_where_there_is_none(
    text: str | None, rotated: Rotated, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rotated.put("T1")
    await rotated.tokens.token()
    if text is None:
        rotated.path.unlink()
    else:
        rotated.put(text)
    rotated.now_s += 2
    assert await rotated.tokens.token() == "T1"
    assert "gives no token" in caplog.text
    with pytest.raises(RequestError) as raised:
        await TokenFile(str(rotated.path)).token()
    assert raised.value.code == "TOKEN_REFUSED"
    assert f"option 'bearerTokenFile' = '{tmp_path}/token' gives no token: " in raised.value.message
    assert "s3cr" not in raised.value.message + caplog.text


async def test_tokens_that_change_while_rows_are_sent_lose_no_request(tmp_path: Path) -> None:
    file = Rotated(tmp_path)
    file.put("T0")
    api = Api("T0")
    async with FaultyHttpServer(api) as server, sending(server.url, bearerTokenFile=str(file.path)) as sender:
        for number in range(1, 6):
            assert await sender.send_at_once(8) == [200] * 8
            # First the file, then the server: whoever has the old one is refused, and finds the new one.
            await anyio.to_thread.run_sync(file.put, f"T{number}")
            api.token = f"T{number}"
        assert await sender.send_at_once(8) == [200] * 8
        assert sender.client.redaction.hide("T1 or T5?") == "*** or ***?"
    assert len(server.stored) == 48
