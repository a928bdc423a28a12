"""The conformance kit: inherit :class:`SinkConformance`, say what the connector can do, and give it a destination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncsink_testing.conformance.capabilities import Capabilities
from asyncsink_testing.conformance.check import Check, ConformanceError, NotApplicableError, all_checks, check
from asyncsink_testing.conformance.delivery import Delivery
from asyncsink_testing.conformance.destination import Destination, SeenRequest
from asyncsink_testing.conformance.running import run_check
from asyncsink_testing.conformance.trial import Subject, Trial

if TYPE_CHECKING:
    from asyncsink_testing.conformance.suite import SinkConformance

__all__ = [
    "Capabilities",
    "Check",
    "ConformanceError",
    "Delivery",
    "Destination",
    "NotApplicableError",
    "SeenRequest",
    "SinkConformance",
    "Subject",
    "Trial",
    "all_checks",
    "check",
    "run_check",
]


def __getattr__(name: str) -> Any:
    if name == "SinkConformance":  # it imports pytest, which a check that asks in a Python of its own can do without
        from asyncsink_testing.conformance.suite import SinkConformance

        return SinkConformance
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
