"""What ``python -m asyncsink_testing`` does: ``badge`` makes badges of a report, ``new`` begins a connector."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from asyncsink_testing.badge import ReportError, write_badges
from asyncsink_testing.template import TemplateError, write_distribution


def run(arguments: Sequence[str]) -> tuple[str, int]:
    """Run one command; gives what to print and the exit status, which is 1 if it could not be done."""
    options = _parser().parse_args(arguments)
    try:
        return (_badge(options) if options.command == "badge" else _new(options)), 0
    except (ReportError, TemplateError, OSError) as error:
        return str(error), 1


def _badge(options: Namespace) -> str:
    return "\n".join(f"wrote {path}" for path in write_badges(options.report, options.output))


def _new(options: Namespace) -> str:
    folder = write_distribution(options.name, options.directory)
    return "\n".join(
        (
            f"wrote {folder}: a connector for an API that does not exist, and it passes. To see that:",
            f"  cd {folder}",
            '  pip install -e ".[test]"',
            "  pytest",
            "Then make it yours: README.md says what to change, in which order.",
        )
    )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m asyncsink_testing", description="Look after a connector of asyncsink.")
    commands = parser.add_subparsers(dest="command", required=True)
    help_ = "make a file for shields.io of each connector in a report"
    badge = commands.add_parser("badge", help=help_, description=help_)
    badge.add_argument("report", type=Path, help="what pytest --asyncsink-report=FILE has written")
    badge.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="where the files go; by default here")
    help_ = "write a whole distribution with a small connector that passes, to be made yours"
    new = commands.add_parser("new", help=help_, description=help_)
    new.add_argument("name", help="name of the connector: small letters, digits and single hyphens, such as parrot")
    new.add_argument(
        "--directory", type=Path, default=Path(), metavar="DIR", help="where its folder goes; by default here"
    )
    return parser
