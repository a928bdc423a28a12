"""Flights from Spark into an HTTP API that misbehaves, with every row accounted for: ``tox run -e demo``.

``tox run -e demo -- --fail-at 5`` kills Spark in its fifth micro-batch and lets it go on from its checkpoint, and
``tox run -e demo -- --sink dynamic-kafka`` sends the flights to a stream that moves between clusters of Kafka instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from audit import compare
from checkpoint import Checkpoint
from flights import FILES, read_flights, split_into_files
from processes import HERE, Driver, ServerStatus, running_server
from progress import ProgressLine, refused
from worker_log import learned_limit

POLL_S = 0.05


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.sink == "dynamic-kafka":
        # Brokers are for those who ask for them.
        from dynamic_kafka.demo import run

        return run(options.guarantee or "at-least-once", options.metadata_service or "file")
    return run_http(options.fail_at)


def run_http(fail_at: int | None) -> int:
    """Stream into the API and return the exit status."""
    with tempfile.TemporaryDirectory(prefix="asyncsink-demo-") as name:
        folder = Path(name)
        lines = read_flights()
        split_into_files(lines, folder / "flights")
        print(f"{len(lines)} flights in {FILES} files; Spark starts, one file is one micro-batch", flush=True)
        started = time.monotonic()
        with running_server(folder) as server:
            Stream(folder, server).run(fail_at)
            seconds = time.monotonic() - started
        return report(lines, folder, refused(server.read()), seconds)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tox run -e demo --", description=__doc__)
    parser.add_argument("--sink", choices=("http", "dynamic-kafka"), default="http")
    parser.add_argument(
        "--fail-at", type=int, metavar="N", choices=range(1, FILES + 1), help="http: kill Spark in its N-th micro-batch"
    )
    parser.add_argument(
        "--guarantee", choices=("at-least-once", "exactly-once"), help="dynamic-kafka: by default the first"
    )
    parser.add_argument("--metadata-service", choices=("file", "http"), help="dynamic-kafka: by default the first")
    options = parser.parse_args(arguments)
    if options.sink == "dynamic-kafka" and options.fail_at is not None:
        parser.error("--fail-at is for --sink http; leave one of them out")
    if options.sink == "http" and (options.guarantee or options.metadata_service):
        parser.error("--guarantee and --metadata-service are for --sink dynamic-kafka; add it")
    return options


class Stream:
    """The query from its start to its end, through its death where that is asked for."""

    def __init__(self, folder: Path, server: ServerStatus) -> None:
        self._folder = folder
        self._server = server
        self._checkpoint = Checkpoint(folder / "checkpoint")
        self._line = ProgressLine()

    def run(self, fail_at: int | None) -> None:
        driver = self._start()
        if fail_at is not None:
            self._wait_for(fail_at, driver)
            driver.kill()
            self._line.end()
            print(
                f"killed Spark in micro-batch {self._checkpoint.planned()}, {self._checkpoint.committed()} were "
                "committed; it starts again from its checkpoint",
                flush=True,
            )
            driver = self._start()
        while driver.exit_status() is None:
            self._show(driver)
        self._line.end()
        if driver.exit_status() != 0:
            print(driver.output(lines=40), file=sys.stderr)
            sys.exit(f"Spark's driver ended with exit status {driver.exit_status()}; its last lines stand above")

    def _start(self) -> Driver:
        return Driver(self._folder, HERE / "stream.py", str(self._server.read()["url"]))

    def _wait_for(self, batch: int, driver: Driver) -> None:
        """Returns when rows of micro-batch number `batch`, from 1, have begun to arrive."""
        rows_before: int | None = None
        while driver.exit_status() is None:
            rows = self._show(driver)
            if rows_before is None and self._checkpoint.planned() >= batch:
                rows_before = rows
            if rows_before is not None and rows > rows_before:
                return
        print(driver.output(lines=40), file=sys.stderr)
        sys.exit(f"Spark's driver ended before it could be killed in micro-batch {batch}; its last lines stand above")

    def _show(self, driver: Driver) -> int:
        """Brings the line up to date; returns the rows that the server has stored."""
        status = self._server.read()
        self._line.show(status, self._checkpoint.planned(), learned_limit(driver.workers))
        time.sleep(POLL_S)
        return int(status.get("rows stored", 0))


def report(lines: list[str], folder: Path, refusals: int, seconds: float) -> int:
    """Compares, prints the last line, and returns the exit status."""
    audit = compare(lines, folder / "stored.log")
    if audit.different:
        print(f"{audit.different} received rows differ from the source")
    sent = sum(path.read_bytes().count(b"\n") for path in Checkpoint(folder / "checkpoint").committed_files())
    print(
        f"rows sent {sent}, distinct rows received {audit.distinct}, missing {audit.missing}, "
        f"duplicates {audit.duplicates}, refused requests {refusals}, seconds {seconds:.0f}"
    )
    return 0 if audit.missing == audit.different == 0 and sent == audit.sent else 1


if __name__ == "__main__":
    sys.exit(main())
