"""Flights from Spark into a stream of Kafka that moves between clusters, with every row accounted for."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from checkpoint import Checkpoint
from dynamic_kafka.acts import ACTS, Act, begin
from dynamic_kafka.audit import compare
from dynamic_kafka.board import Board
from dynamic_kafka.clusters import Clusters
from dynamic_kafka.metadata_server import serving
from flights import FILES, read_flights, split_into_files
from processes import Driver

HERE = Path(__file__).parent
POLL_S = 0.05


def run(guarantee: str, metadata: str) -> int:
    """Play all acts and return the exit status.

    :param metadata: ``file`` or ``http``: how the sink gets to know what the metadata file says
    """
    # Ended by a signal, it still ends what it has started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="asyncsink-demo-") as name, Clusters(Path(name)) as clusters:
        folder = Path(name)
        lines = read_flights()
        split_into_files(lines, folder / "flights")
        print(f"{len(lines)} flights in {FILES} files; two clusters of Kafka start, and Spark", flush=True)
        began = begin(clusters)
        with _told(clusters.metadata_file, metadata) as place, closing(Board(clusters)) as board:
            driver = Driver(folder, HERE / "stream.py", place, guarantee)
            try:
                board.begin()
                board.tell(began)
                Play(folder, clusters, board, driver).run()
            finally:
                driver.kill()
        return report(lines, clusters, guarantee, board.seconds)


@contextmanager
def _told(file: Path, metadata: str) -> Iterator[str]:
    """Where the sink is to ask."""
    with nullcontext(str(file)) if metadata == "file" else serving(file) as place:
        yield place


class Play:
    """Feeds the query a file at a time, each a micro-batch, and acts while its rows arrive."""

    def __init__(self, folder: Path, clusters: Clusters, board: Board, driver: Driver) -> None:
        self._flights, self._source = folder / "flights", folder / "source"
        self._checkpoint = Checkpoint(folder / "checkpoint")
        self._clusters, self._board, self._driver = clusters, board, driver
        self._source.mkdir()
        self._batch = 0
        self._acting: Future[None] | None = None

    def run(self) -> None:
        # A broker takes seconds to start or to end, and rows go on meanwhile.
        with ThreadPoolExecutor(max_workers=1) as stage:
            for file in sorted(self._flights.iterdir()):
                self._batch += 1
                self._feed(file, ACTS.get(self._batch), stage)
            self._end_act()

    def _feed(self, file: Path, act: Act | None, stage: ThreadPoolExecutor) -> None:
        rows_before = self._board.count()
        if act is not None:
            self._end_act()
        file.rename(self._source / file.name)
        if act is not None:
            self._wait(lambda: self._board.count() > rows_before)
            self._acting = stage.submit(lambda: self._board.tell(act(self._clusters)))
        self._wait(lambda: self._checkpoint.committed() >= self._batch)

    def _end_act(self) -> None:
        """Wait for the act that was begun last."""
        if (acting := self._acting) is not None:
            self._wait(acting.done)
            acting.result()

    def _wait(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._look()

    def _look(self) -> None:
        self._board.show(self._batch)
        if (status := self._driver.exit_status()) is not None:
            print(self._driver.output(lines=40), file=sys.stderr)
            sys.exit(f"Spark's driver ended with exit status {status}; its last lines stand above")
        time.sleep(POLL_S)


def report(lines: Sequence[str], clusters: Clusters, guarantee: str, seconds: float) -> int:
    """Read all clusters back, print the last line, and return the exit status."""
    clusters.start_again()
    print("what was shut down is started again, and every cluster is read back with confluent-kafka", flush=True)
    audit = compare(lines, clusters.stored())
    if audit.different:
        print(f"{audit.different} received rows differ from the source")
    print(
        f"rows sent {audit.sent}, distinct rows received {audit.distinct}, missing {audit.missing}, "
        f"duplicates {audit.duplicates}, clusters {len({name for name, _ in clusters.topics})}, seconds {seconds:.0f}"
    )
    doubled = guarantee == "exactly-once" and audit.duplicates > 0
    return 1 if audit.missing or audit.different or doubled else 0
