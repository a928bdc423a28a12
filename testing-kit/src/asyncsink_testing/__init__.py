"""What connectors of asyncsink are tested with: destinations that misbehave, and an oracle that accounts for it all."""

from __future__ import annotations

from asyncsink_testing.dead_letters import RecordedDeadLetters
from asyncsink_testing.destination import Destination, FakeDestination, Received
from asyncsink_testing.fake_sink import AtomicFakeSink, FakeClient, FakeEntry, FakeOptions, FakeSink, IdentityConverter
from asyncsink_testing.faults import (
    OUTCOME_UNKNOWN,
    Fault,
    FaultSource,
    Outage,
    PoisonedEntries,
    RandomFaults,
    Script,
    Step,
)
from asyncsink_testing.history import Ending, History, SentRequest
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, ReceivedRequest, serving
from asyncsink_testing.oracle import Violation, check, judge
from asyncsink_testing.recorded import RecordedWriter
from asyncsink_testing.rules import RULES, Rule

__all__ = [
    "OUTCOME_UNKNOWN",
    "RULES",
    "AtomicFakeSink",
    "Destination",
    "Ending",
    "FakeClient",
    "FakeDestination",
    "FakeEntry",
    "FakeOptions",
    "FakeSink",
    "Fault",
    "FaultSource",
    "FaultyHttpServer",
    "History",
    "HttpRequest",
    "IdentityConverter",
    "Outage",
    "PoisonedEntries",
    "RandomFaults",
    "Reaction",
    "Received",
    "ReceivedRequest",
    "RecordedDeadLetters",
    "RecordedWriter",
    "Rule",
    "Script",
    "SentRequest",
    "Step",
    "Violation",
    "check",
    "judge",
    "serving",
]
