"""Discovery in virtual time: what a writer goes by while a service answers, fails, hangs, or tells nonsense."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from asyncsink.errors import ConfigurationError, DeliveryError
from asyncsink_dynamic_kafka import KafkaStream, MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.discovery import MetadataDiscovery, discovering
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster, StreamMetadata
from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSetSubscriber, StreamPatternSubscriber
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_testing.virtual_time import virtual

from .services import FakeService, cluster, stream

ORDERS = KafkaStreamSetSubscriber(frozenset({"orders"}))


def discovery_of(service: FakeService, subscriber: Any = ORDERS, **more: Any) -> AbstractAsyncContextManager[Any]:
    return discovering(service, subscriber, clock=anyio.current_time, **more)


@asynccontextmanager
async def running(discovery: MetadataDiscovery) -> AsyncIterator[None]:
    """As a writer does while it is open."""
    async with anyio.create_task_group() as group:
        group.start_soon(discovery.run)
        yield
        group.cancel_scope.cancel()


def state_of(*streams: KafkaStream, known_at_ms: int = 0, own: str = "") -> DynamicKafkaWriterState:
    return DynamicKafkaWriterState(StreamMetadata.of(streams, 0).streams, known_at_ms, frozenset(own.split()))


@virtual
async def test_the_service_is_asked_once_an_interval() -> None:
    service = FakeService(stream())
    async with discovery_of(service) as discovery:
        first = await discovery.ready()
        async with running(discovery):
            await anyio.sleep(170)
        assert service.calls == [pytest.approx(each) for each in (0, 60, 120)]
        assert await discovery.ready() is discovery.current
        assert len(service.calls) == 3
    assert first.streams.keys() == {"orders"}
    assert (discovery.generation, discovery.failures, discovery.last_error) == (1, 0, None)


@virtual
async def test_a_writer_that_begins_later_waits_for_a_fresh_answer() -> None:
    service = FakeService(stream("orders", A="one"))
    async with discovery_of(service) as discovery:
        await discovery.ready()
        await anyio.sleep(61)
        service.streams = [stream("orders", B="two")]
        assert set((await discovery.ready()).clusters) == {"B"}
        assert (discovery.generation, discovery.age_s) == (2, 0)


@virtual
async def test_age_is_that_of_the_last_good_answer() -> None:
    service = FakeService(stream())
    async with discovery_of(service) as discovery:
        assert discovery.age_s is None
        await discovery.ready()
        service.answer = service.refuse
        async with running(discovery):
            await anyio.sleep(130)
        assert discovery.age_s == pytest.approx(130, abs=0.01)
        assert discovery.failures == 2


@virtual
async def test_whoever_waits_for_a_change_is_woken_by_one() -> None:
    service = FakeService(stream("orders", A="one"))
    async with discovery_of(service) as discovery:
        await discovery.ready()
        async with running(discovery):
            await anyio.sleep(70)
            service.inactive = {"A"}
            await discovery.changed(1)
        assert anyio.current_time() == pytest.approx(120)
        assert discovery.current is not None
        assert not discovery.current.clusters["A"].is_active
        assert discovery.current.writable == {"orders": frozenset()}


@virtual
async def test_a_single_answer_is_enough_where_the_interval_is_off() -> None:
    service = FakeService(stream())
    async with discovery_of(service, interval_s=-1) as discovery:
        await discovery.ready()
        await discovery.run()
        await anyio.sleep(10_000)
        await discovery.ready()
    assert len(service.calls) == 1


@virtual
async def test_with_the_interval_off_the_first_answer_is_still_asked_for() -> None:
    service = FakeService(stream("orders", B="b"))
    service.answer = service.refuse
    async with discovery_of(service, interval_s=-1) as discovery:
        assert (await discovery.ready([state_of(stream())])).is_restored
        service.answer = anyio.lowlevel.checkpoint
        await discovery.run()
        assert set(discovery.current.clusters) == {"B"}
    assert len(service.calls) == 2


@virtual
async def test_a_service_that_is_down_at_start_fails_the_start_and_names_the_streams() -> None:
    service = FakeService()
    service.answer = service.refuse
    async with discovery_of(service) as discovery:
        with pytest.raises(MetadataUnavailableError, match=r"connection refused.*stream 'orders'") as caught:
            await discovery.ready()
    assert isinstance(caught.value, DeliveryError)
    assert str(caught.value).endswith("no state of an earlier writer tells more; start again when the service answers")
    assert "streamIds" not in str(caught.value)


@virtual
async def test_a_service_that_is_down_at_start_is_replaced_by_the_state() -> None:
    service = FakeService()
    service.answer = service.refuse
    async with discovery_of(service) as discovery:
        await anyio.sleep(100)
        picture = await discovery.ready([state_of(stream("orders", A="one", B="two"), known_at_ms=40_000, own="B")])
        assert picture.is_restored
        assert picture.clusters["A"] == Cluster(picture.clusters["A"].identifier, None)
        assert picture.clusters["B"].needs_properties
        assert {each.topic for each in picture.writable["orders"]} == {"one"}
        assert discovery.age_s == 60
        service.streams = [KafkaStream("orders", {"B": cluster("B", "two", sasl_password="secret")})]
        service.answer = anyio.lowlevel.checkpoint
        async with running(discovery):
            await discovery.changed(1)
        assert discovery.current.clusters["B"].properties == {"sasl.password": "secret"}
        assert discovery.current.clusters["B"].is_writable


@virtual
async def test_a_stream_that_no_state_has_is_named() -> None:
    service = FakeService()
    service.answer = service.refuse
    both = KafkaStreamSetSubscriber(frozenset({"orders", "visits"}))
    async with discovery_of(service, both) as discovery:
        with pytest.raises(MetadataUnavailableError, match="nothing is known of stream 'visits'"):
            await discovery.ready([state_of(stream())])


@virtual
async def test_the_newest_state_of_a_stream_counts() -> None:
    service = FakeService()
    service.answer = service.refuse
    both = KafkaStreamSetSubscriber(frozenset({"orders", "visits"}))
    moved = KafkaStream("orders", {"A": cluster("A", "moved", bootstrap_servers="new:1")})
    states = [
        state_of(stream("orders", A="old"), stream("visits", A="visits"), known_at_ms=1),
        state_of(moved, known_at_ms=2),
        state_of(stream("orders", A="older"), stream("left", C="left"), known_at_ms=0),
    ]
    async with discovery_of(service, both) as discovery:
        picture = await discovery.ready(states)
    # One cluster has one address, also where only an older state tells of a stream in it.
    assert {name: each.identifier.bootstrap_servers for name, each in picture.clusters.items()} == {"A": "new:1"}
    topics = {stream_id: sorted(each.topic for each in found) for stream_id, found in picture.streams.items()}
    assert topics == {"orders": ["moved"], "visits": ["visits"]}
    identifiers = {each.kafka_cluster_identifier for found in picture.streams.values() for each in found}
    assert identifiers == {picture.clusters["A"].identifier}
    assert picture.known_at_ms == 1


@virtual
async def test_a_newer_state_takes_the_place_of_an_older_one() -> None:
    service = FakeService()
    service.answer = service.refuse
    async with discovery_of(service) as discovery:
        await discovery.ready([state_of(stream("orders", A="old"), known_at_ms=1)])
        newer = await discovery.ready([state_of(stream("orders", A="new"), known_at_ms=2)])
        assert {each.topic for each in newer.streams["orders"]} == {"new"}
        assert discovery.generation == 2
        assert await discovery.ready([state_of(stream("orders", A="old"), known_at_ms=1)]) is newer
    assert len(service.calls) == 1


@virtual
async def test_ten_failures_in_a_row_are_borne_and_one_more_is_not() -> None:
    service = FakeService(stream())
    async with discovery_of(service) as discovery:
        picture = await discovery.ready()
        service.answer = service.refuse
        with anyio.move_on_after(60 * 10 + 1) as ten:
            await discovery.run()
        assert ten.cancelled_caught
        assert (discovery.failures, discovery.current) == (10, picture)
        with pytest.raises(MetadataUnavailableError, match=r"failed 11 times in a row .*threshold' = 10"):
            await discovery.run()


@virtual
async def test_failures_count_in_a_row() -> None:
    service = FakeService(stream())
    async with discovery_of(service, failure_threshold=1) as discovery:
        await discovery.ready()
        service.answer = service.refuse
        async with running(discovery):
            await anyio.sleep(61)
            service.answer = anyio.lowlevel.checkpoint
            await anyio.sleep(60)
            service.answer = service.refuse
            await anyio.sleep(60)
        assert discovery.failures == 1


@virtual
async def test_a_negative_threshold_bears_everything() -> None:
    service = FakeService(stream())
    async with discovery_of(service, failure_threshold=-1) as discovery:
        await discovery.ready()
        service.answer = service.refuse
        async with running(discovery):
            await anyio.sleep(60 * 1000 + 1)
        assert discovery.failures == 1000


@virtual
async def test_nonsense_leaves_the_last_picture_in_use() -> None:
    service = FakeService(stream("orders", A="one"))
    nonsense: list[list[Any]] = [
        [],
        [KafkaStream("orders", {})],
        [KafkaStream("orders", {"A": cluster("A", "one", bootstrap_servers="")})],
        [KafkaStream("orders", None)],  # type: ignore[arg-type]
        [KafkaStream("orders", {"A": None})],  # type: ignore[dict-item]
    ]
    async with discovery_of(service) as discovery:
        picture = await discovery.ready()
        async with running(discovery):
            for count, streams in enumerate(nonsense, 1):
                service.streams = streams
                await anyio.sleep(61)
                assert (discovery.failures, discovery.current) == (count, picture)


@virtual
async def test_a_stream_that_vanishes_fails_the_discovery_and_is_named() -> None:
    service = FakeService(stream("orders"), stream("visits"))
    both = KafkaStreamSetSubscriber(frozenset({"orders", "visits"}))
    async with discovery_of(service, both) as discovery:
        await discovery.ready()
        del service.streams[1]
        async with running(discovery):
            await anyio.sleep(61)
        assert "nothing is known of stream 'visits'" in (discovery.last_error or "")
        assert discovery.current.streams.keys() == {"orders", "visits"}


@pytest.mark.parametrize(
    ("streams", "told"),
    [
        ([stream("visits")], "nothing is known of stream 'orders'.*streamIds"),
        ([KafkaStream("orders", {})], "has no topic"),
    ],
)
def test_an_answer_of_no_use_at_start_is_an_error_of_its_own(streams: list[KafkaStream], told: str) -> None:
    @virtual
    async def starts() -> None:
        async with discovery_of(FakeService(*streams)) as discovery:
            with pytest.raises(MetadataError, match=told):
                await discovery.ready()

    starts()


@virtual
async def test_a_service_that_cannot_be_asked_at_all_fails_though_there_is_state() -> None:
    async def misconfigured() -> None:
        raise ConfigurationError("option 'metadataService.url' = 'x' is no URL")

    service = FakeService(stream())
    service.answer = misconfigured
    async with discovery_of(service) as discovery:
        with pytest.raises(ConfigurationError, match=r"metadataService\.url"):
            await discovery.ready([state_of(stream())])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (ConfigurationError, "MetadataError: cluster 'A' cannot be connected to: option 'no.such' is not known"),
        (MetadataError, "MetadataError: option 'no.such' is not known"),
    ],
)
def test_properties_that_cannot_be_used_fail_the_discovery(kind: type[ConfigurationError], told: str) -> None:
    def check(each: Cluster) -> None:
        if "no.such" in (each.properties or {}):
            raise kind("option 'no.such' is not known")

    @virtual
    async def discovers() -> None:
        service = FakeService(stream())
        async with discovery_of(service, check=check) as discovery:
            await discovery.ready()
            service.streams = [KafkaStream("orders", {"A": cluster("A", "orders", no_such="1")})]
            async with running(discovery):
                await anyio.sleep(61)
            assert (discovery.last_error, discovery.generation) == (told, 1)

    discovers()


@virtual
async def test_a_hanging_service_is_waited_for_once_and_holds_nobody_up_after_that() -> None:
    service = FakeService(stream())
    async with discovery_of(service, timeout_s=30) as discovery:
        await discovery.ready()
        service.answer = service.hang
        await anyio.sleep(60)
        begun = anyio.current_time()
        await discovery.ready()
        assert anyio.current_time() - begun == pytest.approx(30)
        assert "no answer within metadataService.timeout = 30 s" in (discovery.last_error or "")
        await anyio.sleep(100)
        begun = anyio.current_time()
        async with running(discovery):
            await discovery.ready()
            assert anyio.current_time() == begun
            await anyio.sleep(31)
        assert discovery.failures == 2
    assert service.under_way == 0


@virtual
async def test_a_slow_answer_is_heard_though_every_writer_lives_shorter() -> None:
    async def slow() -> None:
        await anyio.sleep(20)

    service = FakeService(stream("orders", A="one"))
    async with discovery_of(service) as discovery:
        await discovery.ready()
        service.answer, service.streams = slow, [stream("orders", B="two")]
        async with running(discovery):
            await anyio.sleep(59.5)
        for _ in range(30):
            async with running(discovery):
                await anyio.sleep(1)
        assert set(discovery.current.clusters) == {"B"}
    assert len(service.calls) == 2


@virtual
async def test_calls_never_overlap() -> None:
    async def slow() -> None:
        await anyio.sleep(5)

    service = FakeService(stream())
    service.answer = slow
    async with discovery_of(service, interval_s=0.001) as discovery, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(discovery.ready)
        group.start_soon(discovery.run)
        await anyio.sleep(100)
        group.cancel_scope.cancel()
    assert service.most_under_way == 1
    assert len(service.calls) == pytest.approx(20, abs=1)


@virtual
async def test_closing_runs_beside_a_hanging_call() -> None:
    service = FakeService(stream())
    async with discovery_of(service) as discovery:
        await discovery.ready()
        service.answer = service.hang
        async with running(discovery):
            await anyio.sleep(61)
    assert service.closed_beside == 1
    assert service.under_way == 0
    assert anyio.current_time() == pytest.approx(61)


@virtual
async def test_closing_waits_for_a_service_only_so_long() -> None:
    class Stubborn(FakeService):
        async def aclose(self) -> None:
            await anyio.sleep_forever()

    async with discovery_of(Stubborn(stream())) as discovery:
        await discovery.ready()
    assert anyio.current_time() == pytest.approx(5)


def test_a_call_that_ends_as_if_it_were_cancelled_has_failed() -> None:
    async def ends() -> None:
        raise asyncio.CancelledError

    async def starts() -> None:
        service = FakeService(stream())
        service.answer = ends
        async with discovery_of(service) as discovery:
            with pytest.raises(MetadataUnavailableError, match="the call was cancelled by itself"):
                await discovery.ready()
            assert (await discovery.ready([state_of(stream())])).is_restored
            assert discovery.failures == 2

    anyio.run(starts)


@virtual
async def test_an_error_beside_discovery_comes_out_as_it_is() -> None:
    async def fails() -> None:
        async with discovery_of(FakeService(stream())) as discovery:
            await discovery.ready()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fails()


@virtual
async def test_new_streams_join_a_pattern_and_old_ones_leave_it() -> None:
    service = FakeService(stream("orders-de"), stream("visits"))
    async with discovery_of(service, StreamPatternSubscriber("orders-.*")) as discovery:
        assert (await discovery.ready()).streams.keys() == {"orders-de"}
        async with running(discovery):
            service.streams.append(stream("orders-fr", B="fr"))
            await discovery.changed(1)
            assert discovery.current.streams.keys() == {"orders-de", "orders-fr"}
            del service.streams[0]
            await discovery.changed(2)
            assert discovery.current.streams.keys() == {"orders-fr"}
            service.streams = []
            await anyio.sleep(61)
        assert discovery.failures == 1
        assert discovery.current.streams.keys() == {"orders-fr"}


@virtual
async def test_a_pattern_that_matches_nothing_fails_the_start() -> None:
    async with discovery_of(FakeService(stream("visits")), StreamPatternSubscriber("orders-.*")) as discovery:
        with pytest.raises(MetadataError, match=r"'streamPattern' = 'orders-\.\*' matches none"):
            await discovery.ready()


@virtual
async def test_a_pattern_takes_the_streams_of_the_state_that_it_matches() -> None:
    service = FakeService()
    service.answer = service.refuse
    async with discovery_of(service, StreamPatternSubscriber("orders-.*")) as discovery:
        picture = await discovery.ready([state_of(stream("orders-de"), stream("visits"))])
        assert picture.streams.keys() == {"orders-de"}
