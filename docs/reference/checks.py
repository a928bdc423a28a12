"""Writes ``docs/conformance.md`` from the checks of the kit: ``python docs/reference/checks.py``.

A test holds the page to the code, so it is run whenever a check changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from itertools import groupby
from pathlib import Path
from textwrap import fill

from asyncsink_testing.checks import GROUPS
from asyncsink_testing.conformance import Check, all_checks

PAGE = Path(__file__).parents[1] / "conformance.md"

HEAD = """# What a connector must show

Made by `docs/reference/checks.py` from the checks themselves: do not edit.

This is the specification that `asyncsink-testing` checks. A connector's tests inherit `SinkConformance`, say what the
connector can do, and give it a destination that misbehaves as it is told. The
[tutorial](tutorial/your-own-connector.md) does so step by step, and `python -m asyncsink_testing new parrot` writes a
distribution that passes.

- Each paragraph is one check, named by its id: in the output of pytest, in reports, and where it is waived.
- A *required* check must pass. An *upcoming* one is reported and fails nobody; it becomes required with the next minor
  version of the kit. An *optional* one is advice.
- A check that needs a fault which the destination cannot make, or asks for what the capabilities deny, is *not
  applicable*. It is counted by itself, never as passed.
- A check that does not hold for a good reason is *waived*: `waived = {"payload-intact": "the service takes printable
  ASCII only"}`. A waiver without need is a failure.
- The same checks run against a model in process, in virtual time; on the wire, against a server on loopback; and
  against a real service. The report says which it was.
- `rows` below are what the checks write: a number `id`, a string `key`, a string `text`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    checks = sorted(all_checks(), key=lambda each: GROUPS.index(each.group))
    for number, (group, members) in enumerate(groupby(checks, key=lambda each: each.group), start=1):
        parts.append(f"## {number}. {group.capitalize()}\n")
        parts += [paragraph(f"{number}.{place}", check) for place, check in enumerate(members, start=1)]
    return "\n".join(parts)


def paragraph(number: str, check: Check) -> str:
    """One check."""
    text = " ".join((getdoc(check.run) or "").replace("``", "`").split())
    told = f"*{'; '.join(facts(check))}.* {text}"
    wrapped = fill(told, 120, break_long_words=False, break_on_hyphens=False)
    return f"### {number} `{check.id}`\n\n{wrapped}\n"


def facts(check: Check) -> Iterator[str]:
    """Its level, its age, and when it applies."""
    yield f"{check.level.capitalize()} since {check.since}"
    if check.asks:
        yield f"asks for {', '.join(f'`{name}`' for name in check.asks)}"
    if check.not_with:
        yield f"does not apply with {', '.join(f'`{name}`' for name in check.not_with)}"
    if check.needs:
        yield f"needs the fault {_names(check.needs)}"
    if check.one_of:
        yield f"needs one of the faults {_names(check.one_of)}"
    if check.sees_requests:
        yield "needs a destination that shows single requests"


def _names(faults: frozenset[object]) -> str:
    return ", ".join(sorted(f"`{each.value}`" for each in faults))  # type: ignore[attr-defined]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
