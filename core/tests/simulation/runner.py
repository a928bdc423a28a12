"""The long lane: many seeds, one after the other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import monotonic

from .run import run_seed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds that the command line asks for; the exit status is 1 if one of them breaks a rule."""
    parser = argparse.ArgumentParser(description="Simulate the writer in virtual time and judge what happened.")
    parser.add_argument("--seeds", type=int, default=20_000, help="how many (20000)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first of them (0)")
    parser.add_argument("--verbose", action="store_true", help="print every event of a seed")
    parser.add_argument("--stop-after", type=int, default=5, help="failing seeds after which to stop (5)")
    chosen = parser.parse_args(arguments)
    started, failed, ran, requests, entries, virtual_s = monotonic(), 0, 0, 0, 0, 0.0
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        report = run_seed(seed, verbose=chosen.verbose)
        ran, requests, entries = ran + 1, requests + report.requests, entries + report.entries
        virtual_s += report.virtual_s
        if report.violations:
            failed += 1
            sys.stdout.write(f"{report}\n")
            if failed == chosen.stop_after:
                break
    sys.stdout.write(
        f"seeds {ran} from {chosen.first}, failed {failed}, entries {entries}, requests {requests}, "
        f"virtual seconds {virtual_s:.0f}, seconds {monotonic() - started:.1f}\n"
    )
    return 1 if failed else 0
