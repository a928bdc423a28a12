"""Whether each connector loads."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsink.cli.finding import Finding
from asyncsink.cli.listing import rows
from asyncsink.cli.machine import Machine


def check_connectors(machine: Machine) -> Sequence[Finding]:
    """Every connector that is installed and not disabled, with its client library."""
    listed = rows()
    if not listed:
        return [Finding("connectors", "warning", "no connector is installed", "pip install asyncsink-http")]
    findings = []
    for row in listed:
        name = f"connector {row.connector}"
        if row.status == "ok":
            findings.append(Finding(name, "ok", f"{row.distribution} {row.version} loads"))
        elif row.status == "disabled":
            remedy = "take it out of ASYNCSINK_DISABLED to use it"
            findings.append(Finding(name, "warning", f"{row.distribution} {row.version} is disabled", remedy))
        else:
            remedy = f"{machine.executable} -m pip install --force-reinstall {row.distribution}"
            findings.append(Finding(name, "error", row.status, remedy))
    return findings
