"""Transactions of many clusters: each is ended in its own, and one that does not answer holds up no other."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink.committer import Committer
from asyncsink.errors import CommitError, ConfigurationError, DestinationUnavailableError, LostCommittablesError
from asyncsink.transactions import Transaction
from asyncsink_dynamic_kafka.committer import DynamicKafkaCommitter
from asyncsink_dynamic_kafka.metadata.identifiers import ClusterTopic, KafkaClusterIdentifier
from asyncsink_dynamic_kafka.metadata.streams import KafkaStream
from asyncsink_dynamic_kafka.silence import ANSWER_S, Silence
from asyncsink_dynamic_kafka.sink import DynamicKafkaSink
from asyncsink_dynamic_kafka.state import DynamicKafkaWriterState
from asyncsink_dynamic_kafka.transactions import DYNAMIC_COMMITTABLES, DynamicKafkaTransaction
from asyncsink_kafka import KafkaOptions
from asyncsink_kafka.transactions.committable import KafkaTransaction
from asyncsink_testing.virtual_time import virtual

from .harness import Service

TRANSACTION = Transaction("0123456789abcdef", 3)


class One(Committer[KafkaTransaction]):
    """The committer of one cluster, which does as its world says."""

    def __init__(self, world: World, options: KafkaOptions, shares_prefix: bool | None) -> None:
        self._world, self.options, self.shares_prefix = world, options, shares_prefix
        self.servers = options.bootstrap_servers

    def _does(self, what: str, found: Any = None) -> None:
        self._world.done[what].append((self.servers, found))
        if self.servers in self._world.errors:
            raise self._world.errors[self.servers]

    async def check_destination(self) -> None:
        self._does("check_destination")

    async def check(self, committables: Sequence[KafkaTransaction]) -> None:
        self._does("check", [*committables])

    async def commit(self, committables: Sequence[KafkaTransaction]) -> list[KafkaTransaction]:
        if self.servers in self._world.silent:
            return [*committables]
        self._does("commit", [*committables])
        return []

    async def abort(self, committables: Sequence[KafkaTransaction]) -> None:
        self._does("abort", [*committables])

    async def sweep(self, transaction: Transaction, states: Sequence[Any]) -> None:
        self._does("sweep", transaction)
        if self.servers in self._world.hanging:
            await anyio.sleep_forever()

    async def open_transactions(self, transaction: Transaction) -> list[str]:
        return [f"one at {self.servers}"]

    async def aclose(self) -> None:
        self._does("aclose")


class World:
    """Two clusters, and whatever their committers have done."""

    def __init__(self, **streams: Mapping[str, Sequence[str]]) -> None:
        self.service = Service(**(streams or {"orders": {"A": ["orders"], "B": ["orders"]}}))
        self.done: dict[str, list[tuple[str, Any]]] = defaultdict(list)
        self.errors: dict[str, Exception] = {}
        self.silent: set[str] = set()
        self.hanging: set[str] = set()
        self.silence = Silence()
        self.made: list[One] = []

    def committer(self, **options: Any) -> DynamicKafkaCommitter:
        def make(options: KafkaOptions, config: Any, shares_prefix: bool | None = None) -> One:
            self.made.append(One(self, options, shares_prefix))
            return self.made[-1]

        given = {"stream_ids": ["orders"], "delivery_guarantee": "exactly-once", **options}
        return DynamicKafkaCommitter(
            DynamicKafkaSink(**{"metadata_service": self.service, **given}), make, self.silence
        )


def committable(cluster: str, number: int = 1) -> DynamicKafkaTransaction:
    identifier = KafkaClusterIdentifier(cluster, f"{cluster.lower()}:9092")
    return DynamicKafkaTransaction(identifier, KafkaTransaction(f"id-{number}", number, 0, 0, 60_000, 5))


def test_each_cluster_commits_its_own() -> None:
    world = World()

    async def use() -> None:
        committer = world.committer()
        assert await committer.commit([committable("A", 1), committable("B", 2), committable("A", 3)]) == []
        await committer.aclose()

    anyio.run(use)
    assert sorted((servers, len(found)) for servers, found in world.done["commit"]) == [("a:9092", 2), ("b:9092", 1)]
    assert len(world.done["aclose"]) == 2


def test_what_a_dead_cluster_holds_is_returned_and_the_others_are_committed() -> None:
    world = World()
    world.silent = {"a:9092"}

    async def use() -> None:
        found = await world.committer().commit([committable("A"), committable("B", 2)])
        assert found == [committable("A")]

    anyio.run(use)
    assert [servers for servers, _ in world.done["commit"]] == ["b:9092"]


def test_a_failure_in_one_cluster_is_raised_once_the_others_are_committed() -> None:
    world = World()
    world.errors["a:9092"] = CommitError("no permission")

    async def use() -> None:
        with pytest.raises(CommitError, match="no permission"):
            await world.committer().commit([committable("A"), committable("B", 2)])

    anyio.run(use)
    assert sorted(servers for servers, _ in world.done["commit"]) == ["a:9092", "b:9092"]


def test_what_several_clusters_have_lost_is_one_error() -> None:
    world = World()
    for place, name in enumerate("AB"):
        lost = committable(name, place).transaction
        world.errors[f"{name.lower()}:9092"] = LostCommittablesError("gone", [lost], may_be_committed=name == "B")
    world.silent = {"c:9092"}

    async def use() -> LostCommittablesError:
        with pytest.raises(LostCommittablesError, match="cluster 'A': gone; cluster 'B': gone") as raised:
            await world.committer().commit([committable("A", 0), committable("B", 1), committable("C", 2)])
        return raised.value

    error = anyio.run(use)
    assert sorted(each.cluster.name for each in error.lost) == ["A", "B"]
    assert error.again == (committable("C", 2),)
    assert error.may_be_committed


def test_a_cluster_that_was_removed_still_has_its_transactions_committed() -> None:
    world = World(orders={"B": ["orders"]})
    anyio.run(world.committer().commit, [committable("A")])
    assert [servers for servers, _ in world.done["commit"]] == ["a:9092"]


def test_a_removed_cluster_is_reached_by_the_properties_that_this_process_has_heard(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "streams.json"

    def tell(name: str, **properties: str) -> None:
        cluster = {"bootstrapServers": f"{name.lower()}:9092", "topics": ["orders"], "properties": properties}
        path.write_text(json.dumps({"version": 1, "streams": {"orders": {"clusters": {name: cluster}}}}))

    file = {"metadata_service": "file", "metadata_service_path": str(path)}
    tell("A", **{"client.id": "its-own"})
    anyio.run(world.committer(**file).check_destination)
    tell("B")
    anyio.run(world.committer(**file).commit, [committable("A")])
    path.unlink()
    anyio.run(world.committer(**file).commit, [committable("A")])
    assert [each.options.client_id for each in world.made] == ["its-own"] * 3


def test_a_service_that_was_down_is_asked_again_where_something_could_not_be_committed() -> None:
    world = World()
    world.service.properties["A"] = {"client.id": "its-own"}
    world.service.is_down, world.silent = True, {"a:9092"}

    async def use() -> None:
        committer = world.committer()
        left = await committer.commit([committable("A"), committable("B", 2)])
        assert left == [committable("A")]
        world.service.is_down, world.silent = False, set()
        assert await committer.commit(left) == []
        await committer.aclose()

    anyio.run(use)
    assert world.made[-1].options.client_id == "its-own"
    assert len(world.made) == len(world.done["aclose"])


class Misconfigured(Service):
    """Cannot be asked as long as somebody has not mended it."""

    is_mended = False

    async def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        if not self.is_mended:
            raise ConfigurationError("the file 'ca.pem' cannot be read")
        return await super().describe_streams(stream_ids)


def test_a_service_that_cannot_be_asked_fails_a_commit_with_what_is_wrong_and_loses_nothing() -> None:
    world = World()
    world.service = service = Misconfigured(orders={"A": ["orders"]})

    async def use() -> None:
        committer = world.committer()
        for call in (committer.check_destination, lambda: committer.commit([committable("A")])):
            with pytest.raises(ConfigurationError, match=r"ca\.pem"):
                await call()
        assert not world.made
        service.is_mended = True
        assert await committer.commit([committable("A")]) == []

    anyio.run(use)
    assert [servers for servers, _ in world.done["commit"]] == ["a:9092"]


def test_only_a_users_own_prefix_is_looked_after() -> None:
    for prefix, shares in ((None, True), ("mine", False)):
        world = World()
        anyio.run(world.committer(transactional_id_prefix=prefix).commit, [committable("A")])
        assert [each.shares_prefix for each in world.made] == [shares]
        assert world.made[0].options.transaction_prefix == f"{prefix or 'asyncsink'}-A"


def test_a_sweep_looks_at_the_clusters_of_metadata_and_states() -> None:
    world = World()
    gone = ClusterTopic(KafkaClusterIdentifier("C", "c:9092"), "orders")
    state = DynamicKafkaWriterState({"orders": frozenset({gone})}, 1)
    anyio.run(world.committer().sweep, TRANSACTION, [state, "of another sink"])
    assert sorted(servers for servers, _ in world.done["sweep"]) == ["a:9092", "b:9092", "c:9092"]


def test_a_sweep_waits_for_no_removed_cluster_that_is_dead_time_after_time() -> None:
    world, now = World(), [0.0]
    world.errors["c:9092"] = DestinationUnavailableError("down")
    gone = DynamicKafkaWriterState({"orders": frozenset({ClusterTopic(KafkaClusterIdentifier("C", "c:9092"), "t")})}, 1)
    world.silence = Silence(lambda: now[0])

    def asked_at(moment_s: float) -> bool:
        now[0] = moment_s
        world.done.clear()
        anyio.run(world.committer().sweep, TRANSACTION, [gone])
        asked = {servers for servers, _ in world.done["sweep"]}
        assert asked >= {"a:9092", "b:9092"}
        return "c:9092" in asked

    assert [asked_at(moment_s) for moment_s in (0, 4, 6, 15, 17)] == [True, False, True, False, True]
    world.errors.clear()
    assert [asked_at(moment_s) for moment_s in (36, 38, 38.1)] == [False, True, True]


def test_a_sweep_asks_a_cluster_that_is_written_to_whenever_there_is_one() -> None:
    world = World()
    world.errors["a:9092"] = DestinationUnavailableError("down")

    async def use() -> None:
        with pytest.raises(DestinationUnavailableError, match="down"):
            await world.committer().sweep(TRANSACTION, [])

    for _ in range(2):
        anyio.run(use)
    assert sorted(servers for servers, _ in world.done["sweep"]) == ["a:9092", "a:9092", "b:9092", "b:9092"]


@virtual
async def test_a_removed_cluster_that_hangs_holds_a_sweep_up_for_seconds() -> None:
    world = World()
    world.hanging = {"c:9092"}
    gone = DynamicKafkaWriterState({"orders": frozenset({ClusterTopic(KafkaClusterIdentifier("C", "c:9092"), "t")})}, 1)
    started_s = anyio.current_time()
    await world.committer().sweep(TRANSACTION, [gone])
    assert anyio.current_time() - started_s == ANSWER_S


def test_a_mistake_in_the_configuration_is_told_before_other_failures() -> None:
    world = World()
    world.errors = {"a:9092": CommitError("down"), "b:9092": ConfigurationError("prefix")}

    async def use() -> None:
        with pytest.raises(ConfigurationError, match="prefix"):
            await world.committer().sweep(TRANSACTION, [])

    anyio.run(use)


def test_open_transactions_are_told_with_their_cluster() -> None:
    assert anyio.run(World().committer().open_transactions, TRANSACTION) == [
        "A: one at a:9092",
        "B: one at b:9092",
    ]


def test_checks_and_aborts_go_to_the_cluster_of_each() -> None:
    world = World()

    async def use() -> None:
        committer = world.committer()
        await committer.check([committable("A")])
        await committer.abort([committable("B")])

    anyio.run(use)
    assert [servers for servers, _ in world.done["check"]] == ["a:9092"]
    assert [servers for servers, _ in world.done["abort"]] == ["b:9092"]


def test_a_committable_comes_back_from_its_bytes() -> None:
    one = DynamicKafkaTransaction(KafkaClusterIdentifier("ä\n", "b:1,c:2"), committable("A").transaction)
    data = DYNAMIC_COMMITTABLES.serialize(one)
    assert DYNAMIC_COMMITTABLES.deserialize(1, data) == one
    for damaged in (b"", data[:-1], data[1:], b"{}\n", b"[]\n" + data):
        with pytest.raises(ValueError, match=r"damaged|no KafkaTransaction"):
            DYNAMIC_COMMITTABLES.deserialize(1, damaged)
    with pytest.raises(ValueError, match="version 2"):
        DYNAMIC_COMMITTABLES.deserialize(2, data)
