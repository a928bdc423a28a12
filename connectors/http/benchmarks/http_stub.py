"""A stub of an HTTP API; the path says after how many milliseconds a request is answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

from asyncsink_testing.bench_stub import StubConnection, answer, serve

SCRIPT = Path(__file__)


class Connection(StubConnection):
    word = b'"carrier":'
    """One a row, whether or not its JSON is written with blanks."""

    def respond(self, head: bytes, count: int) -> None:
        if delay_ms := int(head.split(b" ", 2)[1][1:]):
            asyncio.get_running_loop().call_later(delay_ms / 1000, self.transport.write, answer(b"{}"))
        else:
            self.transport.write(answer(b"{}"))


if __name__ == "__main__":
    asyncio.run(serve(Connection))
