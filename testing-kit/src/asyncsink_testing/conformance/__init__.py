"""The conformance kit: inherit :class:`SinkConformance`, say what the connector can do, and give it a destination."""

from __future__ import annotations

from asyncsink_testing.conformance.capabilities import Capabilities
from asyncsink_testing.conformance.check import Check, ConformanceError, NotApplicableError, all_checks, check
from asyncsink_testing.conformance.delivery import Delivery
from asyncsink_testing.conformance.destination import Destination, SeenRequest
from asyncsink_testing.conformance.running import run_check
from asyncsink_testing.conformance.suite import SinkConformance
from asyncsink_testing.conformance.trial import Subject, Trial

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
