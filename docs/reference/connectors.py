"""Writes the table of connectors in the README: ``python docs/reference/connectors.py [--check] [REPORT ...]``.

The figures come from the reports of the conformance kit, by default those that ``tox run -e conformance`` leaves in
``build/conformance``. With ``--check`` nothing is written, and a table that is out of step is an error.
"""

from __future__ import annotations

import json
import sys
import tomllib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncsink.plugins import available, connector_info

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- connectors: made by docs/reference/connectors.py -->\n", "<!-- connectors: end -->\n"

DESTINATIONS = {
    "dynamic_kafka": "streams whose Kafka clusters and topics move at run time, as Flink's FLIP-515 proposes",
    "files": "files in a folder or on S3, JSON Lines or Parquet, with a manifest of commits",
    "firehose": "Amazon Data Firehose, many rows in a record if you like",
    "http": "an HTTP API: JSON, forms, templates or raw bytes, by method and URL of the row; Elasticsearch, Splunk",
    "kafka": "Apache Kafka, with the options and columns of Spark's own sink",
    "kinesis": "Amazon Kinesis Data Streams, with the options of Flink's sink and of awslabs' connector",
}
"""Where the rows go, in words; each connector of the repository has some."""

HEAD = """\
| connector | install | format | destination | delivery | conformance |
| --- | --- | --- | --- | --- | --- |
"""

_SEPARATE = "spark"
"""The group whose checks run in an environment of their own, and are no part of the figures."""


@dataclass(frozen=True, slots=True)
class Row:
    """One connector of the repository."""

    name: str
    folder: str
    install: str
    delivery: str

    def line(self, figure: str) -> str:
        """Its row of the table."""
        name = f"[{self.name}]({self.folder}/README.md)"
        cells = [name, f"`{self.install}`", f"`asyncsink.{self.name}`", DESTINATIONS[self.name], self.delivery, figure]
        return f"| {' | '.join(cells)} |\n"


def rows() -> Iterator[Row]:
    """Every connector in the repository, by name; they must be installed."""
    extras = _project(ROOT / "packages" / "asyncsink")["optional-dependencies"]
    installed = {each.name for each in available()}
    for folder in sorted(path.parent for path in (ROOT / "connectors").glob("*/pyproject.toml")):
        project = _project(folder)
        [name] = project["entry-points"]["asyncsink"]
        if name not in installed:
            raise SystemExit(f"connector {name!r} is not installed; run: pip install -e {folder.relative_to(ROOT)}")
        if name not in DESTINATIONS:
            raise SystemExit(f"connector {name!r} has no words in DESTINATIONS of {Path(__file__).name}; write some")
        delivery = " or ".join(each.replace("-", " ") for each in connector_info(name).guarantees)
        extra = name.replace("_", "-")
        install = f"asyncsink[{extra}]" if extra in extras else project["name"]
        yield Row(name, str(folder.relative_to(ROOT)), install, delivery)


def _project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return project


def figures(reports: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the reports say of each connector, such as ``41/41``.

    :raises SystemExit: two reports speak of one connector
    """
    found: dict[str, str] = {}
    for connector in (each for report in reports for each in report["connectors"]):
        name = connector["connector"]
        if name in found:
            raise SystemExit(f"several reports speak of connector {name!r}; remove what is old from build/conformance")
        found[name] = figure(connector["checks"])
    return found


def figure(checks: Iterable[Mapping[str, str]]) -> str:
    """The passed checks of those that are required and apply; then what keeps the others."""
    asked = [each for each in checks if each["level"] == "required" and each["group"] != _SEPARATE]
    counts = Counter(each["outcome"] for each in asked)
    others = [f"{counts[outcome]} {outcome}" for outcome in ("failed", "waived", "not run") if counts[outcome]]
    return ", ".join([f"{counts['passed']}/{len(asked) - counts['not applicable']}", *others])


def table(found: Mapping[str, str]) -> str:
    """The table, with these figures.

    :raises SystemExit: a connector has no figure
    """
    lines = [HEAD]
    for row in rows():
        if row.name not in found:
            raise SystemExit(f"no report speaks of connector {row.name!r}; run: tox run -e conformance")
        lines.append(row.line(found[row.name]))
    return "".join(lines)


def with_table(readme: str, made: str) -> str:
    """The README with another table."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the README has no place for the table; write these lines where it belongs:\n{BEGIN}{END}")
    return f"{before}{begin}\n{made}\n{end}{after}"


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description="Write the table of connectors in the README.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is out of step")
    parser.add_argument("reports", nargs="*", type=Path, metavar="REPORT", help="by default build/conformance/*.json")
    options = parser.parse_args(arguments)
    paths = options.reports or sorted((ROOT / "build" / "conformance").glob("*.json"))
    made = with_table(README.read_text(), table(figures(json.loads(path.read_text()) for path in paths)))
    if not options.check:
        README.write_text(made)
    elif made != README.read_text():
        raise SystemExit("the README's table of connectors is out of step; run: python docs/reference/connectors.py")


if __name__ == "__main__":
    main(sys.argv[1:])
