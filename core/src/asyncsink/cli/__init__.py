"""What ``python -m asyncsink`` does.

``list`` the connectors; ``doctor``: find what keeps Spark from them; ``status``: tell what became of a query's rows.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import asdict

from asyncsink.cli.doctor import examine, failed, rendered
from asyncsink.cli.finding import Finding
from asyncsink.cli.listing import rows, table
from asyncsink.cli.machine import Machine
from asyncsink.cli.status import status
from asyncsink.cli.status_text import as_json, as_text


def run(arguments: Sequence[str], machine: Machine) -> tuple[str, int]:
    """Run one command; gives what to print and the exit status, which is 1 if something is wrong."""
    options = _parser().parse_args(arguments)
    if options.command == "list":
        listed = rows()
        return (json.dumps([asdict(row) for row in listed], indent=2) if options.json else table(listed)), 0
    if options.command == "status":
        told = status(options.location, options.last)
        return (as_json(told) if options.json else as_text(told)), int(told.failed)
    findings = examine(machine)
    return _doctor_text(findings, options.json), int(failed(findings))


def _doctor_text(findings: Sequence[Finding], as_json: bool) -> str:
    return json.dumps([asdict(each) for each in findings], indent=2) if as_json else rendered(findings)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m asyncsink", description="Look after the connectors of asyncsink.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_ in (
        ("list", "the connectors that are installed, and whether each of them loads"),
        ("doctor", "what keeps Spark from using them; exit status 1 if something does"),
        ("status", "what became of the rows of a query; exit status 1 if that cannot be read"),
    ):
        command = commands.add_parser(name, help=help_, description=help_)
        command.add_argument("--json", action="store_true", help="print JSON instead of text")
        if name == "status":
            _add_status(command)
    return parser


def _add_status(command: ArgumentParser) -> None:
    command.add_argument(
        "location",
        metavar="CHECKPOINT",
        help="checkpointLocation or ledgerLocation of a query, or stateLocation of a batch job: a path or a URL",
    )
    command.add_argument(
        "--last", type=_count, default=10, metavar="N", help="batches to show one by one, newest last; 10 by default"
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is no number of batches; give a whole number such as 10, or 0 for none")
    return int(text)
