"""A connector with all that the kernel offers, from public names alone: it runs, and its types are those of its author.

The type check of this file is half of the test: what it imports and overrides needs no cast and no ignore.
"""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pytest

from asyncsink import (
    AsyncSink,
    AsyncSinkWriter,
    AsyncSinkWriterConfig,
    BufferedRequestState,
    ConnectorOptions,
    DataclassSerializer,
    DeadLetter,
    DeadLetterFiles,
    ElementConverter,
    ErrorTable,
    Failure,
    InitContext,
    Metrics,
    RateLimit,
    RateLimitingStrategy,
    RequestEntries,
    RequestError,
    RequestInfo,
    RequestResult,
    ResultInfo,
    RetryPolicy,
    Schema,
    WriteContext,
    WriterStatistics,
    blocking,
    option,
    read_dead_letters,
)
from asyncsink.dead_letters import as_state

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Order:
    customer: str
    region: str
    number: int


@dataclass
class Shop:
    """A service that refuses a request for one bad order, and has moods."""

    stored: list[Order] = field(default_factory=list)
    requests: list[list[Order]] = field(default_factory=list)
    bad: set[int] = field(default_factory=set)
    busy: set[int] = field(default_factory=set)

    def put(self, orders: Sequence[Order]) -> dict[int, str]:
        """Which of the orders come too fast; the others are stored."""
        self.requests.append([*orders])
        if any(order.number in self.bad for order in orders):
            raise RequestError("422", "no such customer")
        slow = {index: "busy" for index, order in enumerate(orders) if order.number in self.busy}
        self.busy -= {orders[index].number for index in slow}
        self.stored += [order for index, order in enumerate(orders) if index not in slow]
        return slow


SHOPS: dict[str, Shop] = {}


@dataclass(frozen=True, kw_only=True)
class ShopOptions(ConnectorOptions):
    shop: str = option(doc="Its name.")
    token: str | None = option(None, doc="Who sends.", secret=True)


class OrderConverter(ElementConverter[dict[str, object], Order]):
    def apply(self, element: dict[str, object], context: WriteContext) -> Order:
        return Order(str(element["customer"]), str(element["region"]), context.sequence)


class ShopSink(AsyncSink[dict[str, object], Order, Shop]):
    options_type: ClassVar[type[ShopOptions]] = ShopOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(
        max_batch_size=20, retry=RetryPolicy(initial_backoff_s=0.001, max_backoff_s=0.002)
    )
    errors: ClassVar[ErrorTable] = ErrorTable.of(throttled=["busy"], rejected=["422"], fatal={"401": "Set token."})
    entry_serializer: ClassVar[DataclassSerializer[Order]] = DataclassSerializer(Order)

    options: ShopOptions

    @asynccontextmanager
    async def connect(self, context: InitContext) -> AsyncIterator[Shop]:
        context.metric_group.counter("connections").inc()
        yield SHOPS[self.options.shop]

    def converter(self, schema: Schema | None) -> OrderConverter:
        return OrderConverter()

    def size_in_bytes(self, entry: Order) -> int:
        return len(entry.customer)

    def key_of(self, entry: Order) -> str:
        return entry.customer

    def route_of(self, entry: Order) -> str:
        return entry.region

    async def submit_request_entries(self, entries: RequestEntries[Order], client: Shop) -> RequestResult:
        return RequestResult({index: Failure(code) for index, code in client.put(entries).items()})


class BlockingShopSink(ShopSink):
    @blocking
    def submit_request_entries(self, entries: RequestEntries[Order], client: Shop) -> RequestResult:
        return RequestResult({index: Failure(code) for index, code in client.put(entries).items()})


class OneAtATime(RateLimitingStrategy):
    """A strategy of a user's own, found by its import path."""

    def __init__(self, most: int = 1) -> None:
        self._most, self._in_flight = most, 0

    @property
    def max_batch_size(self) -> int:
        return 7

    def should_block(self, info: RequestInfo) -> bool:
        return self._in_flight >= self._most

    def register_in_flight_request(self, info: RequestInfo) -> None:
        self._in_flight += 1

    def register_completed_request(self, info: ResultInfo) -> None:
        self._in_flight -= 1


LIMITS = {
    "aimd": RateLimit.aimd(),
    "aimd of requests": RateLimit.aimd(unit="requests", initial=2, ceiling=8, increase=1, factor=0.5),
    "aimd of bytes": RateLimit.aimd(unit="bytes"),
    "flink": RateLimit.flink(factor=0.99),
    "paced": RateLimit.paced(),
    "adaptive": RateLimit.adaptive(initial=2),
    "fixed": RateLimit.fixed(requests=10_000, records=100_000, size_in_bytes=1e9, burst=5_000, writers=2),
    "none": RateLimit.none(),
    "custom": RateLimit.custom(f"{__name__}:OneAtATime", most=2),
}


def orders(count: int) -> list[dict[str, object]]:
    return [{"customer": f"c{number % 30}", "region": f"r{number % 2}"} for number in range(count)]


async def send(sink: ShopSink, config: AsyncSinkWriterConfig, *states: BufferedRequestState[Order]) -> WriterStatistics:
    metrics = Metrics()
    writer: AsyncSinkWriter[dict[str, object], Order]
    async with sink.open(config, states, metrics.group.add_group("orders")) as writer:
        if not states:
            await writer.write_many(orders(100))
        await writer.flush(end_of_input=True)
    assert metrics.snapshot()
    return writer.statistics()


@pytest.mark.parametrize("sink_type", [ShopSink, BlockingShopSink])
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
async def test_every_rate_limit_delivers_with_keys_routes_dead_letters_and_metrics(
    tmp_path: Path, sink_type: type[ShopSink], limit: RateLimit
) -> None:
    SHOPS["corner"] = shop = Shop(bad={40}, busy={3, 33, 63})
    config = replace(
        sink_type.defaults,
        rate_limit=limit,
        ordering="key",
        on_rejected="dead_letter",
        dead_letters=DeadLetterFiles(tmp_path),
        max_rejected=0.5,
        fail_on_timeout=True,
        stall_timeout_s=None,
    )
    counts = await send(sink_type(shop="corner"), config)
    assert (counts.accepted, counts.acknowledged, counts.dead_lettered) == (100, 99, 1)
    assert all(len({order.region for order in request}) == 1 for request in shop.requests)
    for customer in {order.customer for order in shop.stored}:
        numbers = [order.number for order in shop.stored if order.customer == customer]
        assert numbers == sorted(set(numbers))
    letters: list[DeadLetter] = [*read_dead_letters(tmp_path)]
    shop.bad.clear()
    again = sink_type(shop="corner")
    assert (await send(again, config, as_state(letters, again))).acknowledged == 1
    assert sorted(order.number for order in shop.stored) == [*range(100)]


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
def test_a_configuration_travels_to_the_workers_and_keeps_its_secrets(limit: RateLimit) -> None:
    config = replace(
        ShopSink.defaults,
        rate_limit=limit,
        on_rejected="dead_letter",
        dead_letters=DeadLetterFiles("s3://user:s3cret@bucket/dead?signature=s3cret", "parquet", {"key": "s3cret"}),
    )
    twin = pickle.loads(pickle.dumps(config))
    assert twin == config
    assert hash(twin) == hash(config)
    sink = ShopSink(shop="corner", token="s3cret", config=config)
    copy = pickle.loads(pickle.dumps(sink))
    assert (copy.config, copy.options, copy.fingerprint) == (config, sink.options, sink.fingerprint)
    assert "s3cret" not in repr(config) + repr(sink.options) + sink.fingerprint
