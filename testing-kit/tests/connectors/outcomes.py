"""What all checks of the kit say of a connector."""

from __future__ import annotations

from asyncsink_testing.conformance import ConformanceError, NotApplicableError, Subject, all_checks, run_check


def outcomes(subject: Subject) -> tuple[dict[str, str], dict[str, str]]:
    """The checks that fail, and those that do not apply, each with what they say."""
    failed: dict[str, str] = {}
    not_applicable: dict[str, str] = {}
    for check in all_checks():
        try:
            run_check(check, subject)
        except NotApplicableError as reason:
            not_applicable[check.id] = str(reason)
        except ConformanceError as error:
            failed[check.id] = str(error)
        except Exception as error:  # what a check lets through stands in the report of its test as well
            failed[check.id] = f"{type(error).__name__}: {error}"
    return failed, not_applicable
