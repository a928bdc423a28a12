"""The four routers: what each promises of any records, and that many at once go where each by itself would."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import ConfigurationError
from asyncsink_dynamic_kafka import ClusterTopic, KafkaClusterIdentifier, KafkaStreamRecord
from asyncsink_dynamic_kafka.routing.blocks import Rows, StreamBlock, route_rows
from asyncsink_dynamic_kafka.routing.built_in import BuiltInRouter, Slots
from asyncsink_dynamic_kafka.routing.mirror import MirrorStreamRouter
from asyncsink_dynamic_kafka.routing.round_robin import RoundRobinReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.router import ReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.sticky import StickyReconcilableStreamRouter
from asyncsink_dynamic_kafka.routing.weighted import WeightedReconcilableStreamRouter
from asyncsink_kafka.records import Records

from .streams import STREAMS, counts, maps, records, route_bulk, route_loop, runs, target, targets

WEIGHTS = {"A": 3, "B": 1, "C": 2}
ROUTERS: Mapping[str, Callable[[], ReconcilableStreamRouter]] = {
    "round-robin": lambda: RoundRobinReconcilableStreamRouter(Random(1)),
    "sticky": lambda: StickyReconcilableStreamRouter(Random(1)),
    "weighted": lambda: WeightedReconcilableStreamRouter(WEIGHTS, Random(1)),
    "mirror": MirrorStreamRouter,
}

StreamMap = dict[str, frozenset[ClusterTopic]]
each_router = pytest.mark.parametrize("make", ROUTERS.values(), ids=ROUTERS.keys())


def reconciled(router: ReconcilableStreamRouter, streams: StreamMap) -> ReconcilableStreamRouter:
    router.reconcile(streams)
    return router


@each_router
@given(metadata=st.lists(maps, min_size=1, max_size=3), many=runs)
def test_many_at_once_go_where_each_by_itself_would(
    make: Callable[[], ReconcilableStreamRouter], metadata: list[StreamMap], many: list[list[KafkaStreamRecord]]
) -> None:
    loop, bulk = make(), make()
    for number, run in enumerate(many):
        for router in (loop, bulk):
            router.reconcile(metadata[number % len(metadata)])
        assert sorted(route_bulk(bulk, run)) == sorted(route_loop(loop, run))


@each_router
@given(streams=maps, run=st.lists(records, max_size=40))
def test_every_record_goes_once_to_a_cluster_topic_of_its_stream(
    make: Callable[[], ReconcilableStreamRouter], streams: StreamMap, run: list[KafkaStreamRecord]
) -> None:
    found = route_bulk(reconciled(make(), streams), run)
    for row, record in enumerate(run):
        chosen = [each for each, place in found if place == row]
        assert set(chosen) <= streams[record.stream_id]
        assert len(chosen) == (len(streams[record.stream_id]) if make is ROUTERS["mirror"] else 1)


@given(streams=maps, many=runs)
def test_round_robin_is_even_over_blocks_and_confirmed_metadata(
    streams: StreamMap, many: list[list[KafkaStreamRecord]]
) -> None:
    router = RoundRobinReconcilableStreamRouter(Random(2))
    totals: dict[str, Counter[ClusterTopic]] = {stream_id: Counter() for stream_id in STREAMS}
    for number, run in enumerate(many):
        router.reconcile({stream_id: frozenset(found) for stream_id, found in streams.items()})
        found = route_bulk(router, run) if number % 2 else route_loop(router, run)
        for stream_id, total in totals.items():
            total.update(counts(found, run, stream_id))
            each = [total[one] for one in streams[stream_id]]
            assert max(each) - min(each) <= 1


@given(found=targets)
def test_round_robin_goes_by_the_order_of_cluster_topics(found: frozenset[ClusterTopic]) -> None:
    router = reconciled(RoundRobinReconcilableStreamRouter(Random(3)), {"orders": found})
    turns = [router.route(KafkaStreamRecord("orders", b"x")) for _ in range(2 * len(found))]
    order = sorted(found)
    assert all(order[(order.index(one) + 1) % len(order)] == other for one, other in pairwise(turns))


def test_the_writers_of_small_batches_do_not_all_begin_with_the_same() -> None:
    kept = pickle.dumps(RoundRobinReconcilableStreamRouter())
    first = {
        reconciled(pickle.loads(kept), {"orders": frozenset({target("A"), target("B")})}).route(
            KafkaStreamRecord("orders", b"x")
        )
        for _ in range(200)
    }
    assert len(first) == 2


keys = st.lists(st.binary(max_size=12), min_size=1, max_size=60)


def by_key(found: frozenset[ClusterTopic], some: Sequence[bytes]) -> dict[bytes, ClusterTopic]:
    router = reconciled(StickyReconcilableStreamRouter(), {"orders": found})
    run = [KafkaStreamRecord("orders", b"x", key) for key in some]
    return {run[row].key or b"": each for each, row in route_bulk(router, run)}


@given(found=targets, some=keys, data=st.data())
def test_only_the_keys_of_a_removed_cluster_topic_move(
    found: frozenset[ClusterTopic], some: list[bytes], data: st.DataObject
) -> None:
    removed = data.draw(st.sampled_from(sorted(found)))
    left = found - {removed}
    before = by_key(found, some)
    if left:
        after = by_key(left, some)
        assert {key: each for key, each in before.items() if each != removed}.items() <= after.items()


def test_keys_are_spread_evenly_and_so_are_those_of_a_removed_one() -> None:
    found = frozenset(map(target, "ABCD"))
    some = [f"customer-{number}".encode() for number in range(8_000)]
    before, after = by_key(found, some), by_key(found - {target("B")}, some)
    assert all(1_800 < count < 2_200 for count in Counter(before.values()).values())
    moved = Counter(after[key] for key in some if before[key] == target("B"))
    assert all(560 < count < 770 for count in moved.values())
    assert len(moved) == 3


def test_a_key_has_the_same_place_in_every_process_and_whatever_its_brokers_are() -> None:
    elsewhere = frozenset(ClusterTopic(KafkaClusterIdentifier(name, "moved:1"), "t") for name in "ABC")
    code = (
        "from asyncsink_dynamic_kafka import ClusterTopic, KafkaClusterIdentifier, KafkaStreamRecord\n"
        "from asyncsink_dynamic_kafka.routing.sticky import StickyReconcilableStreamRouter\n"
        "router = StickyReconcilableStreamRouter()\n"
        "router.reconcile({'s': frozenset(ClusterTopic(KafkaClusterIdentifier(n, n), 't') for n in 'ABC')})\n"
        "print(''.join(router.route(KafkaStreamRecord('s', b'', b'%d' % n)).kafka_cluster_identifier.name\n"
        "      for n in range(20)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = by_key(elsewhere, [b"%d" % number for number in range(20)])
    names = [here[b"%d" % number].kafka_cluster_identifier.name for number in range(20)]
    assert told.stdout.strip() == "".join(names)
    assert set(names) == set("ABC")


@given(found=targets, count=st.integers(0, 50))
def test_records_without_a_key_go_round(found: frozenset[ClusterTopic], count: int) -> None:
    router = reconciled(StickyReconcilableStreamRouter(Random(4)), {"orders": found})
    run = [KafkaStreamRecord("orders", b"x", None if row % 2 else b"k") for row in range(count)]
    keyless = Counter(each for each, row in route_bulk(router, run) if row % 2)
    each = [keyless[one] for one in found]
    assert max(each) - min(each) <= 1


@given(weights=st.lists(st.integers(1, 12), min_size=1, max_size=5), rounds=st.integers(1, 3), cut=st.integers(0, 60))
def test_each_round_gives_each_cluster_its_weight(weights: list[int], rounds: int, cut: int) -> None:
    by_name = dict(zip("ABCDE", weights, strict=False))
    router = WeightedReconcilableStreamRouter(by_name, Random(5))
    reconciled(router, {"orders": frozenset(map(target, by_name))})
    run = [KafkaStreamRecord("orders", b"x")] * (rounds * sum(weights))
    found = [*route_bulk(router, run[:cut]), *route_bulk(router, run[cut:])]
    assert Counter(each.kafka_cluster_identifier.name for each, _ in found) == {
        name: rounds * weight for name, weight in by_name.items()
    }


def test_the_turns_of_a_cluster_are_spread_over_the_round() -> None:
    router = WeightedReconcilableStreamRouter({"A": 5}, Random(6))
    reconciled(router, {"orders": frozenset(map(target, "ABC"))})
    turns = "".join(router.route(KafkaStreamRecord("orders", b"x")).kafka_cluster_identifier.name for _ in range(21))
    assert "aabacaa".upper() in turns


def test_the_topics_of_a_cluster_share_its_weight() -> None:
    found = frozenset({target("A", "t"), target("A", "u"), target("B", "t")})
    router = reconciled(WeightedReconcilableStreamRouter({"A": 2, "B": 2}), {"orders": found})
    run = [KafkaStreamRecord("orders", b"x")] * 400
    assert counts(route_bulk(router, run), run, "orders") == {
        target("A", "t"): 100,
        target("A", "u"): 100,
        target("B", "t"): 200,
    }


@pytest.mark.parametrize("weight", [0, -1, 1001])
def test_a_weight_out_of_bounds_is_refused(weight: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"cluster 'A' the weight {weight}; it must be from 1 to 1000"):
        WeightedReconcilableStreamRouter({"A": weight})


@each_router
def test_a_stream_without_cluster_topics_is_told(make: Callable[[], ReconcilableStreamRouter]) -> None:
    router = reconciled(make(), {"orders": frozenset({target("A")}), "clicks": frozenset()})
    for stream_id in ("clicks", "payments"):
        run = [KafkaStreamRecord("orders", b"x"), KafkaStreamRecord(stream_id, b"x")]
        for route in (route_bulk, route_loop):
            with pytest.raises(LookupError, match=f"stream '{stream_id}' has no cluster topic"):
                route(router, run)


def test_where_there_is_one_cluster_topic_no_record_is_looked_at() -> None:
    class Choosing(BuiltInRouter):
        def slots(self, stream_id: str, targets: Sequence[ClusterTopic], records: Records, rows: Rows) -> Slots:
            raise AssertionError(f"{stream_id} has been looked at")

    router = reconciled(
        Choosing(), {"orders": frozenset({target("A")}), "clicks": frozenset({target("A"), target("B")})}
    )
    run = [KafkaStreamRecord("orders", b"x", b"k")] * 3
    assert route_bulk(router, run) == route_loop(router, run) == [(target("A"), row) for row in range(3)]
    with pytest.raises(AssertionError, match="clicks"):
        route_bulk(router, [KafkaStreamRecord("clicks", b"x", b"k")])


@each_router
def test_streams_that_share_a_cluster_topic_have_their_rows_in_order(
    make: Callable[[], ReconcilableStreamRouter],
) -> None:
    router = reconciled(make(), dict.fromkeys(STREAMS, frozenset({target("A")})))
    run = [KafkaStreamRecord(STREAMS[row % 3], b"x", b"k") for row in range(9)]
    ((found, rows),) = route_rows(router, StreamBlock.of(run))
    assert (found, rows.tolist()) == (target("A"), [*range(9)])
