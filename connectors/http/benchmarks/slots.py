"""CPU per request against the number of requests in flight: the slot transport beside a plain ``httpx.AsyncClient``.

``python connectors/http/benchmarks/slots.py [--json FILE] [--rounds N]``

Both send the same small request to a server in a process of its own, in turn; what counts is the CPU time of the
client's process. Exit status 1 if that of the slot transport grows by more than 1.5 times from 1 to 256 in flight.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from multiprocessing.connection import Connection
from typing import Any

import anyio
import httpx

from asyncsink_http import HttpOptions
from asyncsink_http.transport import SlotTransport
from asyncsink_testing.bench import Run, arguments, compare, interleave, report
from asyncsink_testing.http_server import FaultyHttpServer

IN_FLIGHT = (1, 16, 64, 256)
MOST_GROWTH = 1.5
BODY = b'[{"flight": 1545, "carrier": "UA", "origin": "EWR", "dest": "IAH", "distance": 1400}]'

Send = Callable[[], Awaitable[Any]]
Client = Callable[[str], AbstractAsyncContextManager[Send]]


def serve(pipe: Connection) -> None:
    """Run a server until the other end of the pipe is closed."""

    async def main() -> None:
        async with FaultyHttpServer(keep_bodies=False) as server:
            pipe.send(server.url)
            await anyio.to_thread.run_sync(pipe.poll, None)

    anyio.run(main)


@asynccontextmanager
async def slots(url: str) -> AsyncIterator[Send]:
    async with SlotTransport(HttpOptions(url=url)) as transport:
        yield lambda: transport.send(BODY, {})


@asynccontextmanager
async def plain(url: str) -> AsyncIterator[Send]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(limits=limits, timeout=None) as client:
        yield lambda: client.post(url, content=BODY, headers=headers)


def timed(client: Client, url: str, in_flight: int) -> Run:
    requests = max(512, 4 * in_flight)

    async def run() -> float:
        async with client(url) as send:
            await drive(send, in_flight, 2 * in_flight)  # opens the connections
            start = time.process_time()
            await drive(send, in_flight, requests)
            return (time.process_time() - start) / requests * 1e6

    return lambda: anyio.run(run)


async def drive(send: Send, in_flight: int, requests: int) -> None:
    left = requests

    async def work() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await send()

    async with anyio.create_task_group() as group:
        for _ in range(in_flight):
            group.start_soon(work)


@contextmanager
def server_process() -> Iterator[str]:
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


def main() -> int:
    options = arguments("time the slot transport beside a plain httpx.AsyncClient", rounds=3)
    with server_process() as url:
        runs: dict[str, Run] = {}
        for n in IN_FLIGHT:
            runs[f"ours {n}"], runs[f"plain {n}"] = timed(slots, url, n), timed(plain, url, n)
        figures = interleave(runs, options.rounds)
    peer = f"httpx.AsyncClient {httpx.__version__}"
    comparisons = [
        compare(
            f"CPU per request, {n} in flight", figures[f"ours {n}"], peer, figures[f"plain {n}"], unit="us", goal=1.0
        )
        for n in IN_FLIGHT
    ]
    growth = [most / one for one, most in zip(figures["ours 1"], figures[f"ours {IN_FLIGHT[-1]}"], strict=True)]
    limit = [MOST_GROWTH] * len(growth)
    grown = f"growth of CPU per request, 1 to {IN_FLIGHT[-1]} in flight"
    comparisons.append(compare(grown, growth, "the most allowed", limit, unit="x", goal=1.0))
    report(comparisons, options.json)
    return 0 if comparisons[-1].ratio >= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
