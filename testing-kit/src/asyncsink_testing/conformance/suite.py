"""The class that a connector's author inherits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Literal

import pytest

from asyncsink_testing.conformance.capabilities import Capabilities
from asyncsink_testing.conformance.check import Check, NotApplicableError, all_checks
from asyncsink_testing.conformance.running import run_check
from asyncsink_testing.conformance.trial import TUNING, OpenDestination, Row, Subject

DestinationLevel = Literal["in process", "wire", "service"]


class SinkConformance:
    """Every check of the kit, as tests of one connector::

        class TestParrot(SinkConformance):
            connector = "parrot"
            capabilities = Capabilities(...)

            @pytest.fixture
            def destination(self):
                return fake_parrot  # an async context manager of a Destination

            @pytest.fixture
            def sink_options(self):
                return {"url": "{endpoint}/rows"}

    The connector is found by its name and its sink made of the strings that a user gives Spark. A check that does not
    hold for a good reason is waived by name, with that reason; a waiver that is not needed is a failure.

    :cvar connector: the name of its entry point
    :cvar waived: reasons by the id of a check
    :cvar destination_level: what the checks run against; ``"in process"`` ones run in virtual time, under trio
    :cvar tuning: options by which retries and deadlines come within milliseconds, for a writer that is not the
        kernel's and has others
    """

    connector: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    waived: ClassVar[Mapping[str, str]] = {}
    destination_level: ClassVar[DestinationLevel] = "wire"
    tuning: ClassVar[Mapping[str, str]] = TUNING

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        taken = sorted(name for name in vars(cls) if name in _PROTECTED)
        if taken:
            raise TypeError(
                f"{cls.__name__} replaces {', '.join(taken)} of SinkConformance; a check that does not hold is waived "
                "by its id and with a reason in `waived`"
            )
        _check_waivers(cls)

    @pytest.fixture
    def destination(self) -> OpenDestination:
        """What opens a destination that holds nothing, as an async context manager; to be overridden."""
        raise pytest.UsageError(f"{type(self).__name__} must override the fixture `destination`")

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        """The options that a user would give Spark, with ``{endpoint}`` for the destination's; to be overridden."""
        raise pytest.UsageError(f"{type(self).__name__} must override the fixture `sink_options`")

    def element(self, row: Row) -> Any:
        """What the sink's converter takes for a row with ``id``, ``key`` and ``text``; by default the row itself."""
        return row

    def row(self, payload: Any) -> Mapping[str, Any]:
        """The row that a payload in the destination stands for; by default it is JSON."""
        decoded: Mapping[str, Any] = json.loads(payload)
        return decoded

    def test_conformance(
        self, conformance_check: Check, destination: OpenDestination, sink_options: Mapping[str, str]
    ) -> None:
        subject = Subject(
            connector=self.connector,
            capabilities=self.capabilities,
            options=sink_options,
            open_destination=destination,
            tuning=self.tuning,
            element=self.element,
            row=self.row,
            in_process=self.destination_level == "in process",
        )
        try:
            run_check(conformance_check, subject)
        except NotApplicableError as reason:
            if conformance_check.id in self.waived:
                pytest.fail(f"check {conformance_check.id!r} is waived and not applicable: {reason}; drop the waiver")
            pytest.skip(f"not applicable: {reason}")


_PROTECTED = frozenset({"test_conformance"})


def _check_waivers(cls: type[SinkConformance]) -> None:
    known = [each.id for each in all_checks()]
    for name, reason in cls.waived.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the checks are {', '.join(known)}"
            raise TypeError(f"{cls.__name__} waives {name!r}, which is no check of the kit; {hint}")
        if not reason.strip():
            raise TypeError(f"{cls.__name__} waives {name!r} without a reason; say why it does not hold")
