"""What checks look at beside the destination is seen, and nothing else is."""

from __future__ import annotations

import logging
import socket
import warnings

import anyio
import pytest

from asyncsink_testing import FaultyHttpServer
from asyncsink_testing.conformance.watching import live_tasks, log_lines, rows_left_on_purpose, task_name, told


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_is_seen_and_named_for_as_long_as_it_lives(backend: str) -> None:
    async def waits_for_ever() -> None:
        await anyio.sleep_forever()

    async def main() -> None:
        before = live_tasks()
        async with anyio.create_task_group() as group:
            group.start_soon(waits_for_ever, name="a parrot")
            (seen,) = live_tasks() - before
            assert "a parrot" in task_name(seen)
            group.cancel_scope.cancel()
        assert live_tasks() == before

    anyio.run(main, backend=backend)


def test_only_the_warning_of_rows_that_are_left_is_silenced() -> None:
    with rows_left_on_purpose():
        warnings.warn("closed with 7 unacknowledged entries", ResourceWarning, stacklevel=1)
        with pytest.raises(ResourceWarning, match="unclosed socket"):
            warnings.warn("unclosed socket", ResourceWarning, stacklevel=1)
    with pytest.raises(ResourceWarning, match="unacknowledged"):
        warnings.warn("closed with 7 unacknowledged entries", ResourceWarning, stacklevel=1)


def test_records_of_every_level_are_read_but_those_that_a_client_library_writes_for_itself() -> None:
    level = logging.getLogger().level
    with log_lines(quiet=("parrotlib",)) as lines:
        logging.getLogger("parrot.sink").debug("told %s", "at length")
        logging.getLogger("parrotlib.wire").debug("bytes")
        logging.getLogger("parrotlib.wire").info("a request")
    logging.getLogger("parrot.sink").error("too late")
    assert lines == ["parrot.sink DEBUG: told at length", "parrotlib.wire INFO: a request"]
    assert logging.getLogger().level == level


def test_an_error_is_told_with_its_causes() -> None:
    error = RuntimeError("the outer")
    error.__cause__ = OSError("the inner")
    assert "the outer" in told(error)
    assert "the inner" in told(error)


def test_a_server_counts_the_connections_that_are_open() -> None:
    async def main() -> None:
        async with FaultyHttpServer() as server:
            assert server.open_connections == 0
            with socket.create_connection((server.host, server.port)) as client:
                client.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
                await server.wait_received(1)
                assert server.open_connections == 1
            with anyio.fail_after(10):
                while server.open_connections:  # noqa: ASYNC110 - the server tells of requests only
                    await anyio.sleep(0.001)

    anyio.run(main)
