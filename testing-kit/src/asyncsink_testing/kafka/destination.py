"""Kafka as a destination of the checks: a cluster, a topic of its own, and the proxy between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Protocol

import anyio
from anyio.to_thread import run_sync

from asyncsink_testing.destination import Received
from asyncsink_testing.kafka.proxy import KafkaProxy
from asyncsink_testing.kafka.reading import TopicReader
from asyncsink_testing.kafka.scripted import ScriptedBrokers


class Cluster(Protocol):
    """:class:`MockCluster` and :class:`KafkaCluster` are such."""

    @property
    def bootstrap(self) -> str: ...

    def create_topic(self, name: str, partitions: int = 1) -> None: ...


class KafkaDestination(ScriptedBrokers):
    """A :class:`~asyncsink_testing.Destination`: one topic, all of whose Produce requests are seen and scripted."""

    def __init__(self, cluster: Cluster, topic: str, partitions: int) -> None:
        super().__init__()
        self.topic, self.partitions = topic, partitions
        self.servers = len(cluster.bootstrap.split(","))
        self.proxy = KafkaProxy(cluster.bootstrap, self.react)
        self._reader = TopicReader(cluster.bootstrap, topic)

    @property
    def endpoint(self) -> str:
        """The bootstrap servers."""
        return self.proxy.bootstrap

    @property
    def names(self) -> Mapping[str, str]:
        """``{topic}`` in the options of the sink is this one's."""
        return {"topic": self.topic}

    @property
    def peak_in_flight(self) -> int:
        return self.proxy.peak_in_flight

    @property
    def open_connections(self) -> int:
        return self.proxy.open_connections

    async def received(self) -> Sequence[Received]:
        """What a consumer reads, partition by partition, without the proxy."""
        values = await run_sync(self._reader.values)
        return [Received(value, position=at) for at, value in enumerate(values)]

    async def aclose(self) -> None:
        await run_sync(self._reader.close)


class KafkaDestinations:
    """Opens destinations on one cluster, each with a topic that nobody has used before.

    Give the object itself to the kit: it is the function that opens a destination.

    :param partitions: of each topic
    """

    def __init__(self, cluster: Cluster, partitions: int = 1) -> None:
        self._cluster, self._partitions, self._numbers = cluster, partitions, count(1)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[KafkaDestination]:
        topic = f"rows-{next(self._numbers)}"
        await run_sync(self._cluster.create_topic, topic, self._partitions)
        destination = KafkaDestination(self._cluster, topic, self._partitions)
        async with destination.proxy:
            try:
                yield destination
            finally:
                with anyio.CancelScope(shield=True):
                    await destination.aclose()
