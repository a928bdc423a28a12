"""CPU per request against the number of requests in flight: our transports beside the plain clients of their engines.

``python connectors/http/benchmarks/slots.py [--json FILE] [--rounds N]``

All send the same small request to a server in a process of its own, in turn; what counts is the CPU time of the
client's process. The server answers the later the more are in flight, yet soon enough to keep the client busy: answered
at once, few of them would be in flight at a time, however many are asked for, and httpx's pool, which lets connections
expire that it has no use for, would have few to look at. Exit status 1 if the CPU per request of a transport of ours
grows by more than 1.5 times from 1 to 256 in flight.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from multiprocessing.connection import Connection
from typing import Any, Literal

import aiohttp
import anyio
import httpx

from asyncsink import ListBlock, ListRequestEntries, RequestEntries
from asyncsink_http import HttpOptions
from asyncsink_http.bodies.body import body_of
from asyncsink_http.client.client import HttpClient
from asyncsink_http.entries.entry import HttpEntry
from asyncsink_http.requests.building import RequestBuilder
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction
from asyncsink_testing.bench import Comparison, Run, arguments, compare, interleave, report

IN_FLIGHT = (1, 16, 64, 256)
REQUESTS = 512
MOST_GROWTH = 1.5
BODY = b'[{"flight": 1545, "carrier": "UA", "origin": "EWR", "dest": "IAH", "distance": 1400}]'
HEADERS = {"Content-Type": "application/json"}
ENTRIES: RequestEntries[HttpEntry] = ListRequestEntries(ListBlock([BODY[1:-1]], [len(BODY)]))

Send = Callable[[], Awaitable[Any]]
Client = Callable[[str, int], AbstractAsyncContextManager[Send]]


def answer_in_time(request: HttpRequest) -> Reaction:
    """The path says how many requests are in flight: a quarter of a millisecond for each one beside this."""
    return Reaction.OK.after((int(request.path.removeprefix("/")) - 1) / 4000)


def serve(pipe: Connection) -> None:
    """Run a server until the other end of the pipe is closed."""

    async def main() -> None:
        async with FaultyHttpServer(answer_in_time, keep_bodies=False) as server:
            pipe.send(server.url)
            await anyio.to_thread.run_sync(pipe.poll, None)

    anyio.run(main)


@asynccontextmanager
async def ours(url: str, transport: Literal["httpx", "aiohttp"]) -> AsyncIterator[Send]:
    options = HttpOptions(url=url, transport=transport).resolved()
    builder = RequestBuilder(options, body_of(options))
    async with HttpClient(options) as client:
        yield lambda: client.send(builder.build(ENTRIES))


def slots(url: str, in_flight: int) -> AbstractAsyncContextManager[Send]:
    return ours(url, "httpx")


def over_aiohttp(url: str, in_flight: int) -> AbstractAsyncContextManager[Send]:
    return ours(url, "aiohttp")


@asynccontextmanager
async def plain_httpx(url: str, in_flight: int) -> AsyncIterator[Send]:
    # As its user would set it up for that many: by default it keeps 20 connections and opens 100 at most.
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(limits=limits, timeout=None) as client:
        yield lambda: client.post(url, content=BODY, headers=HEADERS)


@asynccontextmanager
async def plain_aiohttp(url: str, in_flight: int) -> AsyncIterator[Send]:
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def post() -> bytes:
            async with session.post(url, data=BODY, headers=HEADERS) as answer:
                return await answer.read()

        yield post


def timed(client: Client, url: str, in_flight: int) -> Run:
    async def run() -> float:
        async with client(f"{url}/{in_flight}", in_flight) as send:
            await drive(send, in_flight, in_flight)  # opens the connections
            start = time.process_time()
            await drive(send, in_flight, REQUESTS)
            return (time.process_time() - start) / REQUESTS * 1e6

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


OURS: Mapping[str, Client] = {"transport=httpx": slots, "transport=aiohttp": over_aiohttp}
PEERS: Mapping[str, tuple[Client, Sequence[str]]] = {
    f"httpx.AsyncClient {httpx.__version__}": (plain_httpx, list(OURS)),
    f"aiohttp.ClientSession {aiohttp.__version__}": (plain_aiohttp, ["transport=aiohttp"]),
}
"""Plain clients, and which transports of ours stand beside each."""


def main() -> int:
    options = arguments("time our transports beside plain clients", rounds=3)
    clients = {**OURS, **{peer: client for peer, (client, _) in PEERS.items()}}
    with server_process() as url:
        runs = {f"{name} {n}": timed(client, url, n) for n in IN_FLIGHT for name, client in clients.items()}
        figures = interleave(runs, options.rounds)
    pairs = [(name, peer) for peer, (_, names) in PEERS.items() for name in names]
    growth = [grown(figures, name) for name in OURS]
    report([*(beside(figures, *pair, n) for pair in pairs for n in IN_FLIGHT), *growth], options.json)
    return 0 if all(each.ratio >= 1 / MOST_GROWTH for each in growth) else 1


def beside(figures: Mapping[str, Sequence[float]], name: str, peer: str, n: int) -> Comparison:
    work = f"CPU per request at {n} in flight, {name}"
    # Only httpx's client has what ours has; a single connection leaves nothing to win beside it.
    goal = (0.8 if n == 1 else 1.0) if peer.startswith("httpx.") else None
    return compare(work, figures[f"{name} {n}"], peer, figures[f"{peer} {n}"], unit="us/request", goal=goal)


def grown(figures: Mapping[str, Sequence[float]], name: str) -> Comparison:
    least, most = min(IN_FLIGHT), max(IN_FLIGHT)
    work = f"CPU per request at {most} in flight against {least} in flight (growth), {name}"
    peer = f"the same at {least} in flight"
    figure = figures[f"{name} {most}"]
    return compare(work, figure, peer, figures[f"{name} {least}"], unit="us/request", goal=1 / MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
