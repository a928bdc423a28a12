"""An HTTP API in a process of its own, which stores what it is sent: ``python -m …chaos.http_service FOLDER``.

It listens where ``FOLDER/endpoint`` says, or writes there where it has come to listen, and ends with its stdin.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import anyio
from anyio.to_thread import run_sync

from asyncsink_testing.chaos.log import open_log
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction

SLOWEST_S, FASTEST_S = 0.03, 0.005
"""Long enough for a micro-batch to be hit while it is being written."""


class Api:
    """Writes down each request, one line a request, before it is answered."""

    def __init__(self, log: BinaryIO) -> None:
        self._log = log
        self._random = random.Random(0)

    def react(self, request: HttpRequest) -> Reaction:
        self.store(json.dumps(json.loads(request.body)).encode() + b"\n")
        return self.slow(Reaction.OK)

    def slow(self, answer: Reaction) -> Reaction:
        """The answer, after some time."""
        return answer.after(self._random.uniform(FASTEST_S, SLOWEST_S))

    def store(self, line: bytes) -> None:
        """Write it down so that it outlives this process."""
        self._log.write(line)


async def serve(folder: Path, api: Callable[[BinaryIO], Api] = Api) -> None:
    """Run until the harness closes its end of our stdin, be it by its own end."""
    endpoint = folder / "endpoint"
    port = int(endpoint.read_text().rpartition(":")[2]) if endpoint.exists() else 0
    with open_log(folder) as log:
        async with FaultyHttpServer(api(log).react, port=port, keep_bodies=False) as server:
            draft = folder / "endpoint.draft"
            draft.write_text(server.url)
            draft.replace(endpoint)
            await run_sync(sys.stdin.read)


if __name__ == "__main__":
    anyio.run(serve, Path(sys.argv[1]))
