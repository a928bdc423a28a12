"""Badges of a report: files that shields.io shows as ``https://img.shields.io/endpoint?url=<where the file is>``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LABEL = "asyncsink conformance"


class ReportError(Exception):
    """A file is no report of the kit; the message says what it lacks."""


def write_badges(report: Path, folder: Path) -> list[Path]:
    """Write a badge for each connector of a report: ``http-badge.json``, or ``http-wire-badge.json`` and so on where
    the report has a connector at several levels of destination.

    :raises ReportError: the file is no report, or one without connectors
    """
    connectors = read_connectors(report)
    levels = Counter(each["connector"] for each in connectors)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for each in connectors:
        level = f"-{each['destination_level'].replace(' ', '-')}" if levels[each["connector"]] > 1 else ""
        path = folder / f"{each['connector']}{level}-badge.json"
        path.write_text(json.dumps(badge(each), indent=2) + "\n", encoding="utf-8")
        written.append(path)
    return written


def read_connectors(report: Path) -> list[dict[str, Any]]:
    """What a report says of each connector.

    :raises ReportError: the file is no report, or one without connectors
    """
    remedy = "write one by `pytest --asyncsink-report=FILE`"
    try:
        connectors = json.loads(report.read_text(encoding="utf-8"))["connectors"]
        known = all({"connector", "destination_level", "summary", "counts"} <= each.keys() for each in connectors)
    except FileNotFoundError:
        raise ReportError(f"there is no file {str(report)!r}; {remedy}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ReportError(f"{str(report)!r} is no report of the conformance kit; {remedy}") from error
    if not known or not connectors:
        raise ReportError(f"{str(report)!r} names no connector with what its checks came to; {remedy}")
    return list(connectors)


def badge(connector: Mapping[str, Any]) -> dict[str, Any]:
    """One connector's badge, as the endpoint of shields.io reads it."""
    return {
        "schemaVersion": 1,
        "label": LABEL,
        "message": connector["summary"],
        "color": _color(connector["counts"]),
    }


def _color(counts: Mapping[str, int]) -> str:
    if counts["failed"] or counts["not run"] or not counts["passed"]:
        return "red"
    return "yellow" if counts["waived"] else "brightgreen"
