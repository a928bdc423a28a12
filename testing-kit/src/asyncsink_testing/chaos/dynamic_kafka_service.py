"""Two real Kafka brokers, and a stream that moves between them: ``python -m …chaos.dynamic_kafka_service FOLDER``.

The endpoint is a metadata file, which is replaced time after time while the brokers run: the stream is on the one, on
the other, and on both. A kill takes both brokers, and what moves the stream with them; they come back as they were.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from asyncsink_testing.chaos.dynamic_kafka_log import CLUSTERS, STREAM_ID, metadata, replace_json, write_clusters
from asyncsink_testing.chaos.kafka_service import running_broker

STAGES: Sequence[tuple[str, ...]] = (("A",), ("B",), ("A", "B"))
"""In turn: a move from one to the other at once, one that joins and one that leaves."""
SHORTEST_STAGE_S, LONGEST_STAGE_S = 0.2, 2.0
"""From less than a micro-batch takes to several of them."""

logger = logging.getLogger(__name__)


class Migration:
    """The stream as the metadata file has it, and its next move.

    :param file: goes on from what it says, if there is one
    """

    def __init__(self, file: Path, bootstraps: Mapping[str, str]) -> None:
        self._file, self._bootstraps = file, bootstraps

    def move(self) -> None:
        """Put the stream onto the clusters of the next stage; at first onto those of the first."""
        stage = STAGES[0]
        if self._file.exists():
            clusters = json.loads(self._file.read_text())["streams"][STREAM_ID]["clusters"]
            stage = STAGES[(STAGES.index(tuple(clusters)) + 1) % len(STAGES)]
        replace_json(self._file, metadata(self._bootstraps, stage))
        logger.warning("the stream is on %s", " and ".join(stage))

    def go_on(self, stopped: threading.Event) -> None:
        """Move until stopped."""
        while not stopped.wait(random.uniform(SHORTEST_STAGE_S, LONGEST_STAGE_S)):
            self.move()


def serve(folder: Path) -> None:
    """Run until the harness closes its end of our stdin, be it by its own end."""
    file, stopped = folder / "streams.json", threading.Event()
    with _brokers(folder) as bootstraps:
        migration = Migration(file, bootstraps)
        migration.move()
        write_clusters(folder, bootstraps)
        draft = folder / "endpoint.draft"
        draft.write_text(str(file))
        draft.replace(folder / "endpoint")
        moving = threading.Thread(target=migration.go_on, args=(stopped,))
        moving.start()
        try:
            sys.stdin.read()
        finally:
            stopped.set()
            moving.join()


@contextmanager
def _brokers(folder: Path) -> Iterator[dict[str, str]]:
    """The clusters, each of one broker, and where they listen."""
    with ExitStack() as running:
        with ThreadPoolExecutor() as starting:
            started = starting.map(lambda name: running.enter_context(running_broker(folder / name)), CLUSTERS)
        yield dict(zip(CLUSTERS, started, strict=True))


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    serve(Path(sys.argv[1]))
