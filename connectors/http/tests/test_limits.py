"""What the writer's options on speed, time and order do to HTTP, over real sockets."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from asyncsink import ConfigurationError, RequestTimedOutError
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction

pytestmark = pytest.mark.anyio

RATE, BURST, REQUESTS = 100, 5, 40


@pytest.mark.parametrize(
    "rates",
    [
        {"rateLimit.requestsPerSecond": f"{RATE}", "rateLimit.burst": f"{BURST}"},
        {"rateLimit.requestsPerSecond": f"{2 * RATE}", "rateLimit.burst": f"{2 * BURST}", "rateLimit.writers": "2"},
        {"rateLimit.recordsPerSecond": f"{RATE}", "rateLimit.burst": f"{BURST}", "rateLimit": "fixed"},
    ],
)
async def test_no_more_requests_go_than_their_rate_allows(rates: dict[str, str]) -> None:
    arrived_s: list[float] = []

    def rule(request: HttpRequest) -> Reaction:
        arrived_s.append(anyio.current_time())
        return Reaction.OK

    async with FaultyHttpServer(rule) as server:
        sink = HttpSink.from_options({"url": server.url, "maxBatchSize": "1", **rates})
        start_s = anyio.current_time()
        async with sink.open() as writer:
            await writer.write_many([{"id": number} for number in range(REQUESTS)])
    assert len(arrived_s) == REQUESTS
    # A slow machine lets requests arrive later, never earlier: of any window from the start the count is bounded.
    for count, each_s in enumerate(arrived_s, start=1):
        assert count <= BURST + RATE * (each_s - start_s) + 1e-6


async def test_fail_on_timeout_fails_in_place_of_sending_again() -> None:
    async with FaultyHttpServer([Reaction.hang(stored=True)]) as server:
        sink = HttpSink.from_options({"url": server.url, "requestTimeout": "50ms", "failOnTimeout": "true"})
        with pytest.raises(RequestTimedOutError, match=r"0\.05"):
            async with sink.open() as writer:
                await writer.write({"id": 1})
        assert len(server.received) == 1
    assert writer.snapshot_state()[0].entries == (b'{"id":1}',)


async def test_times_are_read_and_held_against_one_another() -> None:
    sink = HttpSink.from_options({"url": "http://localhost/", "stallTimeout": "1h", "retry.timeout": "40min"})
    assert sink.config == replace(
        HttpSink.defaults, stall_timeout_s=3600.0, retry=replace(HttpSink.defaults.retry, timeout_s=2400.0)
    )
    with pytest.raises(ConfigurationError, match=r"stallTimeout = 30.0 must be larger than requestTimeout = 30.0"):
        HttpSink.from_options({"url": "http://localhost/", "stallTimeout": "30s"})


async def test_an_order_of_keys_is_refused_as_rows_have_none() -> None:
    with pytest.raises(ConfigurationError, match=r"ordering = 'key' needs keys, and HttpSink has none: .* use "):
        HttpSink.from_options({"url": "http://localhost/", "ordering": "key"})
    with pytest.raises(ConfigurationError, match=r"needs keys, and HttpSink has none"):
        HttpSink(url="http://localhost/").open(replace(HttpSink.defaults, ordering="key"))
