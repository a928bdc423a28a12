"""What connectors of asyncsink are tested with: destinations that misbehave, and an oracle that accounts for it all.

pytest imports this package wherever it is installed, for its plugin: it imports nothing until a name is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_testing.conformance import Capabilities, Destination, SeenRequest, SinkConformance
    from asyncsink_testing.dead_letters import RecordedDeadLetters
    from asyncsink_testing.destination import FakeDestination, Received
    from asyncsink_testing.fake_sink import (
        AtomicFakeSink,
        FakeClient,
        FakeEntry,
        FakeOptions,
        FakeSink,
        IdentityConverter,
    )
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
    from asyncsink_testing.http_destination import HttpAnswers, HttpDestination
    from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, ReceivedRequest, serving
    from asyncsink_testing.in_process import InProcessDestination
    from asyncsink_testing.oracle import Violation, check, judge
    from asyncsink_testing.recorded import RecordedWriter
    from asyncsink_testing.rules import RULES, Rule
    from asyncsink_testing.tcp_proxy import BlockingTcpProxy, FaultyTcpProxy, TcpFault, Traffic, proxying

__all__ = [
    "OUTCOME_UNKNOWN",
    "RULES",
    "AtomicFakeSink",
    "BlockingTcpProxy",
    "Capabilities",
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
    "FaultyTcpProxy",
    "History",
    "HttpAnswers",
    "HttpDestination",
    "HttpRequest",
    "IdentityConverter",
    "InProcessDestination",
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
    "SeenRequest",
    "SentRequest",
    "SinkConformance",
    "Step",
    "TcpFault",
    "Traffic",
    "Violation",
    "check",
    "judge",
    "proxying",
    "serving",
]

_MODULES = {
    "Capabilities": "conformance",
    "Destination": "conformance",
    "SeenRequest": "conformance",
    "SinkConformance": "conformance",
    "RecordedDeadLetters": "dead_letters",
    "FakeDestination": "destination",
    "Received": "destination",
    "AtomicFakeSink": "fake_sink",
    "FakeClient": "fake_sink",
    "FakeEntry": "fake_sink",
    "FakeOptions": "fake_sink",
    "FakeSink": "fake_sink",
    "IdentityConverter": "fake_sink",
    "Fault": "faults",
    "FaultSource": "faults",
    "OUTCOME_UNKNOWN": "faults",
    "Outage": "faults",
    "PoisonedEntries": "faults",
    "RandomFaults": "faults",
    "Script": "faults",
    "Step": "faults",
    "Ending": "history",
    "History": "history",
    "SentRequest": "history",
    "HttpAnswers": "http_destination",
    "HttpDestination": "http_destination",
    "FaultyHttpServer": "http_server",
    "HttpRequest": "http_server",
    "Reaction": "http_server",
    "ReceivedRequest": "http_server",
    "serving": "http_server",
    "InProcessDestination": "in_process",
    "Violation": "oracle",
    "check": "oracle",
    "judge": "oracle",
    "RecordedWriter": "recorded",
    "BlockingTcpProxy": "tcp_proxy",
    "FaultyTcpProxy": "tcp_proxy",
    "TcpFault": "tcp_proxy",
    "Traffic": "tcp_proxy",
    "proxying": "tcp_proxy",
    "RULES": "rules",
    "Rule": "rules",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
