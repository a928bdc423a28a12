"""The class that a connector's author inherits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from inspect import getattr_static, isfunction
from operator import methodcaller
from typing import Any, ClassVar, Literal, get_args

import pytest

from asyncsink_testing.conformance.capabilities import Capabilities
from asyncsink_testing.conformance.check import Check, ConformanceError, NotApplicableError, all_checks
from asyncsink_testing.conformance.running import run_check, shortened
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

    It is collected whatever its name; a base of several such classes says ``__test__ = False``.

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

    __test__: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "__test__" not in vars(cls):
            # No setting of python_classes may lose the checks of a connector without a word.
            cls.__test__ = True
        _check_unchanged(cls)
        _check_waivers(cls)

    @pytest.fixture
    def destination(self) -> OpenDestination:
        """What opens a destination that holds nothing, as an async context manager; to be overridden."""
        raise NotImplementedError(f"{type(self).__name__} has no fixture `destination` of its own")

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        """The options that a user would give Spark, with ``{endpoint}`` for the destination's; to be overridden.

        A destination with ``names`` fills in ``{name}`` for each of them as well.
        """
        raise NotImplementedError(f"{type(self).__name__} has no fixture `sink_options` of its own")

    def element(self, row: Row) -> Any:
        """What the sink's converter takes for a row with ``id``, ``key`` and ``text``; by default the row itself."""
        return row

    def row(self, payload: Any) -> Mapping[str, Any]:
        """The row that a payload in the destination stands for; by default it is JSON."""
        decoded: Mapping[str, Any] = json.loads(payload)
        return decoded

    def spark_columns(self, frame: Any) -> Any:
        """The DataFrame that Spark writes, made of one with ``id`` bigint, ``key`` string and ``text`` string.

        By default that one itself. A connector that wants other columns selects them, such that :meth:`row` still
        finds the same values.
        """
        return frame

    def spark_wrong_columns(self, frame: Any) -> Any:
        """A DataFrame that the connector must refuse before it runs, made of what :meth:`spark_columns` gave.

        By default one with an interval beside the rest, which no sink can take. None for a connector without columns
        that it could refuse.
        """
        return frame.selectExpr("*", "INTERVAL '1' DAY AS unfit")

    def test_conformance(
        self, conformance_check: Check, destination: OpenDestination, sink_options: Mapping[str, str]
    ) -> None:
        __tracebackhide__ = methodcaller("errisinstance", ConformanceError)
        subject = Subject(
            connector=self.connector,
            capabilities=self.capabilities,
            options=_options(sink_options),
            open_destination=_opener(destination),
            tuning=self.tuning,
            element=self.element,
            row=self.row,
            in_process=self.destination_level == "in process",
            spark_columns=self.spark_columns,
            spark_wrong_columns=self.spark_wrong_columns,
        )
        try:
            run_check(conformance_check, subject)
        except NotApplicableError as reason:
            if conformance_check.id in self.waived:
                pytest.fail(
                    f"check {conformance_check.id!r} is waived and not applicable: {reason}; drop the waiver",
                    pytrace=False,
                )
            pytest.skip(f"{NOT_APPLICABLE}{reason}")
        except Exception as error:
            if conformance_check.level != "required" and conformance_check.id not in self.waived:
                pytest.xfail(f"{conformance_check.level} since kit {conformance_check.since}: {error}")
            if isinstance(error, ConformanceError):
                raise shortened(error, conformance_check) from error.__cause__
            raise
        if conformance_check.id in self.waived:
            pytest.fail(f"check {conformance_check.id!r} is waived and holds; drop the waiver", pytrace=False)

    test_conformance.__test__ = True  # type: ignore[attr-defined]  # whatever python_functions says


NOT_APPLICABLE = "not applicable: "
"""What begins the reason of a skipped check that does not apply; any other skip is a check that was not run."""


def check_suite(cls: type[SinkConformance]) -> None:
    """See that a class says all that its checks need, before they are collected.

    :raises TypeError: names what is missing or wrong, and what to write
    """
    _check_unchanged(cls)
    _check_facts(cls)
    for name in ("destination", "sink_options"):
        _check_fixture(cls, name)


def _check_unchanged(cls: type[SinkConformance]) -> None:
    if getattr_static(cls, "test_conformance") is not getattr_static(SinkConformance, "test_conformance"):
        raise TypeError(
            f"{cls.__name__} replaces test_conformance of SinkConformance, which runs the checks; a check that does "
            "not hold is waived by its id and with a reason in `waived`"
        )


def _check_facts(cls: type[SinkConformance]) -> None:
    connector = getattr(cls, "connector", None)
    if not isinstance(connector, str) or not connector:
        raise TypeError(
            f'{cls.__name__} does not name its connector; write connector = "<the name of its entry point>", or '
            "__test__ = False if the class is but a base of others"
        )
    if not isinstance(getattr(cls, "capabilities", None), Capabilities):
        raise TypeError(
            f"{cls.__name__} does not say what connector {connector!r} can do; write capabilities = Capabilities(...)"
        )
    levels = get_args(DestinationLevel)
    if cls.destination_level not in levels:
        known = ", ".join(map(repr, levels))
        raise TypeError(f"{cls.__name__} has destination_level = {cls.destination_level!r}; it is one of {known}")


def _check_fixture(cls: type[SinkConformance], name: str) -> None:
    found, base = getattr_static(cls, name), getattr_static(SinkConformance, name)
    if found is base:
        raise TypeError(f"{cls.__name__} has no fixture {name!r} of its own; override that of SinkConformance")
    # Up to pytest 8.3 a fixture is a function with a mark, from 8.4 on an object of its own type.
    is_fixture = hasattr(found, "_pytestfixturefunction") or (type(found) is type(base) and not isfunction(found))
    if not is_fixture:
        raise TypeError(f"{cls.__name__}.{name} is no fixture; make it a method and put @pytest.fixture above it")


def _check_waivers(cls: type[SinkConformance]) -> None:
    if not isinstance(cls.waived, Mapping):
        raise TypeError(f"{cls.__name__}.waived is no mapping; write reasons by the ids of checks")
    known = [each.id for each in all_checks()]
    for name, reason in cls.waived.items():
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the checks are {', '.join(known)}"
            raise TypeError(f"{cls.__name__} waives {name!r}, which is no check of the kit; {hint}")
        if not isinstance(reason, str) or not reason.strip():
            raise TypeError(f"{cls.__name__} waives {name!r} without a reason; say why it does not hold")


def _opener(destination: object) -> OpenDestination:
    # What @asynccontextmanager makes can be called as well, as a decorator.
    is_opened = hasattr(destination, "__aenter__") and not isinstance(destination, type)
    if is_opened or not callable(destination):
        raise TypeError(
            f"the fixture `destination` gives an object of type {type(destination).__name__}; it has to return the "
            "function that opens a destination, without calling it: each check opens one of its own"
        )
    return destination


def _options(options: object) -> Mapping[str, str]:
    if not isinstance(options, Mapping):
        raise TypeError(f"the fixture `sink_options` gives an object of type {type(options).__name__}; return a dict")
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"the fixture `sink_options` has a {type(value).__name__} for option {name!r}; give the strings that "
                "a user gives Spark"
            )
    return options
