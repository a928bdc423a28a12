"""The command line of the comparison."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .comparison import compare
from .page import page
from .strategies import STRATEGIES
from .table import markdown, text


def main() -> int:
    """Compare, print the table, write the page; 1 if a figure lies outside of what its scenario expects."""
    told = _arguments()
    results = []
    for result in compare(told.strategy or STRATEGIES, held_out=told.held_out):
        results.append(result)
        sys.stderr.write(f"{result.scenario.name}: {result.strategy}\n")
    sys.stdout.write(text(results) + "\n")
    told.page.parent.mkdir(parents=True, exist_ok=True)
    told.page.write_text(page(results), "utf-8")
    sys.stdout.write(f"plots: {told.page.resolve().as_uri()}\n")
    if told.markdown is not None:
        told.markdown.write_text(markdown(results), "utf-8")
    unexpected = [sentence for each in results for sentence in each.unexpected]
    sys.stdout.write("".join(f"UNEXPECTED {sentence}\n" for sentence in unexpected))
    return 1 if unexpected else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare rate limiting strategies in virtual time.")
    parser.add_argument("--strategy", action="append", choices=list(STRATEGIES), help="only this one; may be repeated")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--training", dest="held_out", action="store_false", help="only the training set")
    group.add_argument("--held-out", dest="held_out", action="store_true", help="only the held-out set")
    page_file = Path("build/limits.html")
    parser.add_argument("--page", type=Path, default=page_file, metavar="FILE", help="where the plots go")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there as well")
    parser.set_defaults(held_out=None)
    return parser.parse_args()
