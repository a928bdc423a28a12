"""Ten million entries through the block path into a destination slower than the writer: how much memory they take.

``tox run -e bench-memory [-- --entries N --json FILE]``. Memory is no timing, so a miss is exit status 1: the peak may
be as far above what the process had before as the writer's bound on bytes, plus 100 MB for all else.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pyarrow
from sinks import NoOpSink

from asyncsink import RequestEntries, RequestResult
from asyncsink.arrow import ArrowBlock

MB = 1_000_000
ALLOWANCE = 100 * MB
SIZE = 100
BATCH = 10_000
ENTRIES = 10_000_000


class SlowSink(NoOpSink):
    """Takes 20 ms for a request, so that 50 in flight take 1.25 million entries a second: the writer has to wait."""

    async def submit_request_entries(self, entries: RequestEntries[bytes], client: None) -> RequestResult:
        await anyio.sleep(0.02)
        return RequestResult.OK


def new_batch(number: int) -> pyarrow.RecordBatch:
    """Rows in memory of their own, as Spark's are: a writer that kept what it has delivered would be found out."""
    values = pyarrow.array([b"%0*d" % (SIZE, number)], pyarrow.binary())
    return pyarrow.record_batch([pyarrow.concat_arrays([values] * BATCH)], ["data"])


def peak() -> int:
    """The most memory the process has ever had resident, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


async def write(entries: int) -> tuple[int, int]:
    """The writer's bound and the most that it held, in bytes."""
    # More entries than the bytes allow, so that the bound on bytes is what stops it.
    config = replace(SlowSink.defaults, max_buffered_requests=10 * BATCH * 100)
    held = 0
    async with SlowSink().open(config) as writer:
        for number in range(entries // BATCH):
            await writer.write_block(ArrowBlock.of_column(new_batch(number), "data"))
            held = max(held, writer.statistics().size_in_bytes)
        await writer.flush(end_of_input=True)
        assert writer.statistics().acknowledged == entries
    return config.max_buffered_size_in_bytes, held


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="measure the memory that the writer takes under a slow destination")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as a JSON object")
    parser.add_argument("--entries", type=int, default=ENTRIES, help="how many entries of 100 bytes to write")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    new_batch(0)
    before = peak()
    bound, held = anyio.run(write, options.entries)
    grown = peak() - before
    met = grown <= bound + ALLOWANCE
    print(
        f"{options.entries} entries of {SIZE} bytes: the writer held at most {held / MB:.1f} of {bound / MB:.1f} MB, "
        f"the process grew by {grown / MB:.1f} MB to {peak() / MB:.1f} MB; "
        f"{(bound + ALLOWANCE) / MB:.1f} MB are allowed: goal {'met' if met else 'MISSED'}"
    )
    if options.json is not None:
        figures: dict[str, Any] = {"bound": bound, "held": held, "before": before, "peak": peak(), "met": met}
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
