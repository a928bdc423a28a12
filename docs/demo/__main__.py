"""Flights from Spark into an HTTP API that misbehaves, with every row accounted for: ``tox run -e demo``.

``tox run -e demo -- --fail-at 5`` kills Spark in its fifth micro-batch and lets it go on from its checkpoint.
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
from processes import Driver, ServerStatus, running_server
from progress import ProgressLine, refused

POLL_S = 0.05


def main(arguments: list[str] | None = None) -> int:
    fail_at = parse(arguments).fail_at
    with tempfile.TemporaryDirectory(prefix="asyncsink-demo-") as name:
        folder = Path(name)
        lines = read_flights()
        split_into_files(lines, folder / "flights")
        print(f"{len(lines)} flights in {FILES} files; Spark starts, one file is one micro-batch", flush=True)
        started = time.monotonic()
        with running_server(folder) as server:
            stream(folder, server, fail_at)
            seconds = time.monotonic() - started
        return report(lines, folder, refused(server.read()), seconds)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tox run -e demo --", description=__doc__)
    parser.add_argument(
        "--fail-at", type=int, metavar="N", choices=range(1, FILES + 1), help="kill Spark in its N-th micro-batch"
    )
    return parser.parse_args(arguments)


def stream(folder: Path, server: ServerStatus, fail_at: int | None) -> None:
    """Runs the query to its end, through its death where that is asked for."""
    url = str(server.read()["url"])
    checkpoint, line = Checkpoint(folder / "checkpoint"), ProgressLine()
    driver = Driver(folder, url)
    if fail_at is not None:
        kill_in_batch(fail_at, driver, checkpoint, server, line)
        driver = Driver(folder, url)
    while driver.exit_status() is None:
        line.show(server.read(), checkpoint.planned())
        time.sleep(POLL_S)
    line.end()
    if driver.exit_status() != 0:
        print(driver.output(lines=40), file=sys.stderr)
        sys.exit(f"Spark's driver ended with exit status {driver.exit_status()}; its last lines stand above")


def kill_in_batch(
    number: int, driver: Driver, checkpoint: Checkpoint, server: ServerStatus, line: ProgressLine
) -> None:
    """Kills Spark once rows of micro-batch `number` have arrived, while the batch is still under way."""
    rows_before: int | None = None
    while driver.exit_status() is None:
        status = server.read()
        line.show(status, checkpoint.planned())
        if checkpoint.planned() >= number and rows_before is None:
            rows_before = int(status.get("rows stored", 0))
        if rows_before is not None and int(status.get("rows stored", 0)) > rows_before:
            driver.kill()
            line.end()
            print(
                f"killed Spark in micro-batch {checkpoint.planned()}, {checkpoint.committed()} were committed; "
                "it starts again from its checkpoint",
                flush=True,
            )
            return
        time.sleep(POLL_S)


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
