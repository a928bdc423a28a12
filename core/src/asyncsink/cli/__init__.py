"""What ``python -m asyncsink`` does.

``list`` the connectors; ``doctor``: find what keeps Spark from them; ``status``: tell what became of a query's rows,
and end what it has left open.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from asyncsink.cli.destination import Question
from asyncsink.cli.doctor import examine, failed, rendered
from asyncsink.cli.finding import Finding
from asyncsink.cli.listing import rows, table
from asyncsink.cli.machine import Machine
from asyncsink.cli.status import Status, status
from asyncsink.cli.status_text import as_json, as_text
from asyncsink.dead_letters.location import shown
from asyncsink.errors import ConfigurationError

_FILE: Final = "@"
"""Begins the name of a file with arguments: what stands in a command, others on the machine can read."""


def run(arguments: Sequence[str], machine: Machine) -> tuple[str, int]:
    """Run one command; gives what to print and the exit status, which is 1 if something is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "list":
        listed = rows()
        return (json.dumps([asdict(row) for row in listed], indent=2) if options.json else table(listed)), 0
    if options.command == "status":
        if options.connect is None and (options.option or options.end):
            parser.error("--option and --end need --connect CONNECTOR, whose destination they are about")
        told = _told(options)
        return (as_json(told) if options.json else as_text(told)), int(told.failed)
    findings = examine(machine)
    return _doctor_text(findings, options.json), int(failed(findings))


def _told(options: Namespace) -> Status:
    try:
        question = options.connect and Question.of(options.connect, dict(options.option), ends=options.end)
    except ConfigurationError as error:
        return Status(shown(options.location), error=str(error))
    return status(options.location, options.last, question)


def _doctor_text(findings: Sequence[Finding], as_json: bool) -> str:
    return json.dumps([asdict(each) for each in findings], indent=2) if as_json else rendered(findings)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m asyncsink", description="Look after the connectors of asyncsink.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_ in (
        ("list", "the connectors that are installed, and whether each of them loads"),
        ("doctor", "what keeps Spark from using them; exit status 1 if something does"),
        ("status", "what became of the rows of a query; exit status 1 if that cannot be told, or not be ended"),
    ):
        command = commands.add_parser(name, help=help_, description=help_, fromfile_prefix_chars=_FILE)
        command.add_argument("--json", action="store_true", help="print JSON instead of text")
        if name == "status":
            _add_status(command)
    return parser


def _add_status(command: ArgumentParser) -> None:
    command.add_argument(
        "location",
        metavar="CHECKPOINT",
        help="checkpointLocation or ledgerLocation of a query, stateLocation of a batch job, or state_dir of "
        "run_local: a path or a URL",
    )
    command.add_argument(
        "--last", type=_count, default=10, metavar="N", help="batches to show one by one, newest last; 10 by default"
    )
    command.add_argument(
        "--connect",
        metavar="CONNECTOR",
        help="ask the destination of this sink which transactions of the query are open",
    )
    command.add_argument(
        "--option",
        action="append",
        default=[],
        type=_pair,
        metavar="KEY=VALUE",
        help="an option of the query, for --connect; all that it has should be given. An argument @FILE stands for the "
        "lines of that file, an argument each: a place for secrets, as others can read a command",
    )
    command.add_argument(
        "--end",
        action="store_true",
        help="end what is open, as the next start of the query would: what was decided is committed, the rest is given "
        "up. For a query that is dead: one that is alive loses what it is writing, fails, and writes that batch again "
        "when it is started again",
    )


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        # What it is nobody can tell: it may be a secret.
        raise ArgumentTypeError("an option has no key, or no value; give it as KEY=VALUE")
    return key, value


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is no number of batches; give a whole number such as 10, or 0 for none")
    return int(text)
