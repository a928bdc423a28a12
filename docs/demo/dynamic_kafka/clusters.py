"""The clusters, brokers of Apache Kafka on this machine, and the metadata file, which says where the stream is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asyncsink_testing.kafka import KafkaBroker

STREAM = "flights"
PARTITIONS = 3


class Clusters:
    """Clusters of one broker each, by name, while this is entered; `metadata_file` tells the sink of them."""

    def __init__(self, folder: Path) -> None:
        self._brokers: dict[str, KafkaBroker] = {}
        self._down: set[str] = set()
        self._stack = ExitStack()
        self.topics: list[tuple[str, str]] = []
        """All that there have ever been, each with the name of its cluster."""
        self.metadata_file = folder / "streams.json"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def start(self, *names: str) -> None:
        """New clusters, all at once, and on each the topic of the stream."""
        with ThreadPoolExecutor() as starting:
            brokers = starting.map(lambda name: self._stack.enter_context(KafkaBroker()), names)
            self._brokers.update(zip(names, brokers, strict=True))
        for name in names:
            self.create_topic(name, STREAM)

    def create_topic(self, name: str, topic: str) -> None:
        """A topic that has no rows yet."""
        self._brokers[name].create_topic(topic, PARTITIONS)
        self.topics.append((name, topic))

    def shut_down(self, name: str) -> None:
        """End the cluster's broker; what it stores stays on disk."""
        self._down.add(name)
        self._brokers[name].stop()

    def start_again(self) -> None:
        """Start what was shut down, to be read."""
        for name in sorted(self._down):
            self._brokers[name].start()
        self._down.clear()

    def runs(self, name: str) -> bool:
        return name in self._brokers and name not in self._down

    def bootstrap(self, name: str) -> str:
        return self._brokers[name].bootstrap

    def put_stream_on(self, clusters: Mapping[str, Sequence[str]]) -> None:
        """Edit the metadata file: from now on the stream is on these topics of these clusters."""
        placed = {
            name: {"bootstrapServers": self.bootstrap(name), "topics": list(topics)}
            for name, topics in clusters.items()
        }
        write_json(self.metadata_file, {"version": 1, "streams": {STREAM: {"clusters": placed}}})

    def stored(self) -> Iterator[bytes | None]:
        """The values of all records in all topics of all clusters, as confluent-kafka reads what is committed."""
        from asyncsink_testing.kafka.reading import TopicReader

        for name, topic in self.topics:
            reader = TopicReader(self.bootstrap(name), topic)
            try:
                yield from reader.values()
            finally:
                reader.close()


def write_json(path: Path, value: Any) -> None:
    """Rename a new file onto it: a reader sees the old one or the new one."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(value, indent=2))
    draft.replace(path)
