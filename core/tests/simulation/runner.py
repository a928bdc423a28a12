"""The command: many seeds over all processors, each of them repeatable alone."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from secrets import randbelow
from time import monotonic

from .branches import measure
from .found import FOUND
from .mutants import BASES, MUTANTS, Mutant, runs_to_find
from .run import Report, run_seed

SEEDS = 10**9
"""The base of a run of fresh seeds is drawn from so many."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds that the command line asks for; the exit status is 1 if one of them breaks a rule."""
    chosen = _parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    if chosen.mutants is not None:
        return _try_mutants([each for each in MUTANTS if chosen.mutants in each.name], chosen.jobs)
    first = randbelow(SEEDS) if chosen.seed is None else chosen.seed
    kept = _run_found() if chosen.seed is None else 0
    sys.stdout.write(f"seeds {first} to {first + chosen.runs - 1}, {chosen.jobs} at a time\n")
    sys.stdout.flush()
    if chosen.coverage:
        return measure(range(first, first + chosen.runs), run_seed)
    started, ran, failed = monotonic(), [], 0
    with _reports(range(first, first + chosen.runs), chosen.jobs, chosen.verbose) as reports:
        for report in reports:
            ran.append((report.entries, report.requests, report.faults, report.virtual_s))
            if report.violations:
                failed += 1
                sys.stdout.write(f"{report}\n")
                sys.stdout.flush()
                if failed == chosen.stop_after:
                    break
    sys.stdout.write(_summary(ran, first, failed, monotonic() - started))
    return 1 if failed or kept else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Simulate the writer in virtual time and judge what happened.")
    parser.add_argument("--runs", type=int, default=2_000, help="how many seeds (2000)")
    parser.add_argument("--seed", type=int, help="the first of them; fresh ones without it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time (one a processor)")
    parser.add_argument(
        "--mutants", nargs="?", const="", metavar="NAME", help="count the seeds that it takes to see each known bug"
    )
    parser.add_argument("--coverage", action="store_true", help="say which branches of the writer the seeds reach")
    parser.add_argument("--verbose", action="store_true", help="print every event of a seed")
    parser.add_argument("--stop-after", type=int, default=5, help="failing seeds after which to stop (5)")
    return parser


def _run_found() -> int:
    """Run the cases that have found something before; how many of them find it again."""
    reports = [(case, run_seed(case.seed, scenario=case.scenario)) for case in FOUND]
    broken = [(case, report) for case, report in reports if report.violations]
    for case, report in broken:
        sys.stdout.write(f"a case that has found this before: {case.found}\n{report}\n")
    sys.stdout.write(f"kept cases {len(reports)}, failed {len(broken)}\n")
    return len(broken)


@contextmanager
def _reports(seeds: Sequence[int], jobs: int, verbose: bool) -> Iterator[Iterable[Report]]:
    """The reports of these seeds, as they come in."""
    if jobs == 1 or len(seeds) == 1 or verbose:
        yield (run_seed(seed, verbose=verbose) for seed in seeds)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield pool.imap_unordered(run_seed, seeds, chunksize=20)


def _summary(ran: list[tuple[int, int, int, float]], first: int, failed: int, lasted_s: float) -> str:
    count = max(1, len(ran))
    entries, requests, faults, virtual_s = (sum(column) for column in zip(*ran, strict=True)) if ran else (0,) * 4
    return (
        f"runs {len(ran)} from seed {first}, failed {failed}; a run has on average {entries / count:.1f} entries, "
        f"{requests / count:.1f} requests, {faults / count:.1f} faults, {virtual_s / count:.1f} virtual seconds; "
        f"seconds {lasted_s:.1f}, {lasted_s / count * 1000:.2f} ms a run\n"
    )


def _try_mutants(mutants: Sequence[Mutant], jobs: int) -> int:
    """Print a line for each mutant: the seeds that it took to see it, from each base."""
    tasks = [(mutant, base) for mutant in mutants for base in BASES]
    missed = 0
    with multiprocessing.Pool(jobs) as pool:
        found = pool.imap(_runs_to_find, tasks)
        for mutant in mutants:
            runs = [next(found) for _ in BASES]
            missed += None in runs
            shown = "  ".join("   none" if each is None else f"{each:7d}" for each in runs)
            sys.stdout.write(f"{mutant.name:45s} {shown}\n")
            sys.stdout.flush()
    sys.stdout.write(f"mutants {len(mutants)}, from the seeds {BASES}, not seen from every one of them: {missed}\n")
    return 1 if missed else 0


def _runs_to_find(task: tuple[Mutant, int]) -> int | None:
    return runs_to_find(*task)
