"""What the tests share: a fake stream behind a server that misbehaves, and a sink that writes to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from asyncsink import AsyncSinkWriter, RetryPolicy
from asyncsink_firehose import FirehoseSink
from asyncsink_testing import FaultyHttpServer

KEYS: dict[str, Any] = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
QUICK = RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.01, timeout_s=20.0)


def access(server: FaultyHttpServer) -> dict[str, Any]:
    """The options by which a sink reaches the server."""
    return {"endpoint": server.url, "region": "us-east-1", **KEYS}


def sink_to(server: FaultyHttpServer, limits: dict[str, Any] | None = None, **options: Any) -> FirehoseSink:
    """A sink that loses no time between its tries."""
    values = {**access(server), "delivery_stream": "rows", **options}
    config = FirehoseSink(**values).config
    return FirehoseSink(config=replace(config, **{"retry": QUICK, **(limits or {})}), **values)


@asynccontextmanager
async def writing(
    server: FaultyHttpServer, limits: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[AsyncSinkWriter[Any, Any]]:
    async with sink_to(server, limits, **options).open() as writer:
        yield writer
