"""What the checks of the kit say of a connector."""

from __future__ import annotations

from collections.abc import Iterable

from asyncsink_testing.conformance import Check, ConformanceError, NotApplicableError, Subject, all_checks, run_check


def outcomes(subject: Subject, checks: Iterable[Check] | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """Those of the checks, by default of all, that fail, and those that do not apply, each with what they say."""
    failed: dict[str, str] = {}
    not_applicable: dict[str, str] = {}
    for check in all_checks() if checks is None else checks:
        try:
            run_check(check, subject)
        except NotApplicableError as reason:
            not_applicable[check.id] = str(reason)
        except ConformanceError as error:
            failed[check.id] = str(error)
        except Exception as error:  # what a check lets through stands in the report of its test as well
            failed[check.id] = f"{type(error).__name__}: {error}"
    return failed, not_applicable
