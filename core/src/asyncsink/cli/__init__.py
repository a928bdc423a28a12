"""What ``python -m asyncsink`` does: ``list`` the connectors; ``doctor``: find what keeps Spark from them."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict

from asyncsink.cli.doctor import examine, failed, rendered
from asyncsink.cli.finding import Finding
from asyncsink.cli.listing import rows, table
from asyncsink.cli.machine import Machine


def run(arguments: Sequence[str], machine: Machine) -> tuple[str, int]:
    """Run one command; gives what to print and the exit status, which is 1 if something is wrong."""
    options = _parser().parse_args(arguments)
    if options.command == "list":
        listed = rows()
        return (json.dumps([asdict(row) for row in listed], indent=2) if options.json else table(listed)), 0
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
    ):
        commands.add_parser(name, help=help_, description=help_).add_argument(
            "--json", action="store_true", help="print JSON instead of text"
        )
    return parser
