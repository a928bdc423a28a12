"""A stream that moves between two clusters: where they are, and the topic of the run read back from both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.kafka_log import TOPIC, TopicLog
from asyncsink_testing.chaos.source import Row

STREAM_ID = "rows"
CLUSTERS = ("A", "B")
_FILE = "clusters.json"


def write_clusters(folder: Path, bootstraps: Mapping[str, str]) -> None:
    """Say where the clusters listen, by name."""
    replace_json(folder / _FILE, bootstraps)


def replace_json(path: Path, value: object) -> None:
    """Replace a file as a whole: readers see the old one or the new one."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(value))
    draft.replace(path)


def metadata(bootstraps: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    """What the metadata file says while the stream is on the clusters of these names."""
    clusters = {name: {"bootstrapServers": bootstraps[name], "topics": [TOPIC]} for name in names}
    return {"version": 1, "streams": {STREAM_ID: {"clusters": clusters}}}


class ClustersReader:
    """Reads the topic of a run's folder from all clusters, from the moment at which they have come to listen."""

    def __init__(self, folder: Path) -> None:
        self._clusters = folder / _FILE
        self._logs: dict[str, TopicLog] = {}

    def fresh(self) -> list[Row]:
        return [row for log in self._opened().values() for row in log.fresh()]

    def everything(self) -> list[Row]:
        """:raises ChaosError: a cluster does not let all be read that it says it has, or has nothing"""
        stored = {name: log.everything() for name, log in self._opened().items()}
        for name in CLUSTERS:
            if not stored.get(name):
                raise ChaosError(f"nothing stands in cluster {name}: the stream has not moved, and that shows nothing")
        return [row for rows in stored.values() for row in rows]

    def close(self) -> None:
        for log in self._logs.values():
            log.close()

    def _opened(self) -> dict[str, TopicLog]:
        if not self._logs and self._clusters.exists():
            self._logs = {name: TopicLog(servers) for name, servers in json.loads(self._clusters.read_text()).items()}
        return self._logs
