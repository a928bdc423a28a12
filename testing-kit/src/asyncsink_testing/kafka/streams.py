"""A stream of several clusters as a destination of the checks: what arrived is the union of what they hold."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from asyncsink_testing.destination import Received
from asyncsink_testing.kafka.destination import Cluster
from asyncsink_testing.kafka.proxy import KafkaProxy
from asyncsink_testing.kafka.reading import TopicReader
from asyncsink_testing.kafka.scripted import ScriptedBrokers


class DynamicKafkaDestination(ScriptedBrokers):
    """A :class:`~asyncsink_testing.Destination`: a stream with a topic in each of some clusters, behind one proxy.

    :param path: where the file with the stream's metadata is to be written, in the layout that has a version
    """

    def __init__(self, clusters: Mapping[str, Cluster], path: Path, stream_id: str, partitions: int) -> None:
        super().__init__()
        self.stream_id, self.partitions = stream_id, partitions * len(clusters)
        self.servers = sum(len(each.bootstrap.split(",")) for each in clusters.values())
        self.proxy = KafkaProxy(",".join(each.bootstrap for each in clusters.values()), self.react)
        self._clusters, self._path = clusters, path
        self._readers = [TopicReader(each.bootstrap, stream_id) for each in clusters.values()]

    @property
    def endpoint(self) -> str:
        """The path of the file with the metadata, which stays when the clusters cannot be reached any more."""
        return str(self._path)

    @property
    def names(self) -> Mapping[str, str]:
        """``{stream}`` in the options of the sink is this one's."""
        return {"stream": self.stream_id}

    @property
    def peak_in_flight(self) -> int:
        return self.proxy.peak_in_flight

    @property
    def open_connections(self) -> int:
        return self.proxy.open_connections

    def write_metadata(self) -> None:
        """Write the file; to be called once the proxy listens."""
        clusters = {
            name: {"bootstrapServers": self.proxy.stands_for(each.bootstrap), "topics": [self.stream_id]}
            for name, each in self._clusters.items()
        }
        self._path.write_text(json.dumps({"version": 1, "streams": {self.stream_id: {"clusters": clusters}}}))

    async def received(self) -> Sequence[Received]:
        """What consumers read, cluster by cluster and partition by partition, without the proxy."""
        values = [value for reader in self._readers for value in await run_sync(reader.values)]
        return [Received(value, position=at) for at, value in enumerate(values)]

    async def aclose(self) -> None:
        for reader in self._readers:
            await run_sync(reader.close)


class DynamicKafkaDestinations:
    """Opens destinations on some clusters, each with a stream that nobody has used before, and a topic of its name.

    Give the object itself to the kit: it is the function that opens a destination.

    :param clusters: by the names that the metadata gives them
    :param folder: for the files with the metadata
    :param partitions: of each topic
    """

    def __init__(self, clusters: Mapping[str, Cluster], folder: Path, partitions: int = 1) -> None:
        self._clusters, self._folder, self._partitions, self._numbers = clusters, folder, partitions, count(1)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[DynamicKafkaDestination]:
        stream_id = f"rows-{next(self._numbers)}"
        for each in self._clusters.values():
            await run_sync(each.create_topic, stream_id, self._partitions)
        path = self._folder / f"{stream_id}.json"
        destination = DynamicKafkaDestination(self._clusters, path, stream_id, self._partitions)
        async with destination.proxy:
            destination.write_metadata()
            try:
                yield destination
            finally:
                with anyio.CancelScope(shield=True):
                    await destination.aclose()
