"""A class of checks that lacks something says so before any check is run, and none of its checks can be taken away."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from reference import CAPABILITIES, reference_destination

from asyncsink_testing import SinkConformance
from asyncsink_testing.conformance.suite import check_suite
from asyncsink_testing.conformance.trial import OpenDestination


def open_destination() -> AbstractAsyncContextManager[Any]:
    return reference_destination()


class Complete(SinkConformance):
    __test__ = False
    connector = "parrot"
    capabilities = CAPABILITIES

    @pytest.fixture
    def destination(self) -> OpenDestination:
        return open_destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {}


def test_a_class_that_says_all_that_is_asked_is_accepted() -> None:
    class TestParrot(Complete):
        waived = {"answer-lost": "It has no answers."}  # noqa: RUF012 - as an author writes it

    check_suite(TestParrot)
    assert TestParrot.__test__


def test_a_class_is_collected_unless_it_says_that_it_is_but_a_base() -> None:
    class Base(Complete):
        __test__ = False

    class OfParrot(Base):
        pass

    assert (SinkConformance.__test__, Base.__test__, OfParrot.__test__) == (False, False, True)
    assert SinkConformance.test_conformance.__test__  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"waived": {"answer-lots": "It has none."}}, "waives 'answer-lots'.* did you mean 'answer-lost'"),
        ({"waived": {"zzzz": "It has none."}}, "waives 'zzzz'.* the checks are .*answer-lost"),
        ({"waived": {"answer-lost": " "}}, "waives 'answer-lost' without a reason"),
        ({"waived": {"answer-lost": None}}, "waives 'answer-lost' without a reason"),
        ({"waived": ["answer-lost"]}, "Parrots.waived is no mapping"),
        ({"test_conformance": None}, "Parrots replaces test_conformance"),
        ({"test_conformance": lambda self: None}, "Parrots replaces test_conformance"),
    ],
)
def test_a_class_that_takes_checks_away_cannot_be_made(body: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        type("Parrots", (Complete,), body)


def test_a_base_beside_the_kits_cannot_take_the_checks_away() -> None:
    without = type("Without", (), {"test_conformance": None})
    with pytest.raises(TypeError, match="Parrots replaces test_conformance"):
        type("Parrots", (without, Complete), {})


def test_checks_that_are_taken_away_later_are_missed() -> None:
    class Parrots(Complete):
        pass

    Parrots.test_conformance = None  # type: ignore[method-assign, assignment]
    with pytest.raises(TypeError, match="Parrots replaces test_conformance"):
        check_suite(Parrots)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"connector": ""}, "Parrots does not name its connector; .*__test__ = False"),
        ({"connector": None}, "Parrots does not name its connector"),
        ({"capabilities": None}, "Parrots does not say what connector 'parrot' can do; .*Capabilities"),
        ({"capabilities": {"idempotent": True}}, "Parrots does not say what connector 'parrot' can do"),
        ({"destination_level": "cloud"}, "destination_level = 'cloud'; it is one of 'in process', 'wire', 'service'"),
        ({"destination": lambda self: open_destination}, "Parrots.destination is no fixture; .*@pytest.fixture"),
        ({"sink_options": {"url": "{endpoint}"}}, "Parrots.sink_options is no fixture; .*@pytest.fixture"),
    ],
)
def test_a_class_without_a_fact_or_a_fixture_is_refused(body: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        check_suite(type("Parrots", (Complete,), body))


@pytest.mark.parametrize("missing", ["connector", "capabilities"])
def test_a_class_that_leaves_out_a_fact_is_refused(missing: str) -> None:
    body = {"connector": "parrot", "capabilities": CAPABILITIES}
    del body[missing]
    with pytest.raises(TypeError, match=r"Parrots does not (name|say)"):
        check_suite(type("Parrots", (SinkConformance,), body))


@pytest.mark.parametrize("missing", ["destination", "sink_options"])
def test_a_class_that_overrides_no_fixture_is_refused(missing: str) -> None:
    fixtures = {name: vars(Complete)[name] for name in ("destination", "sink_options") if name != missing}
    body = {"connector": "parrot", "capabilities": CAPABILITIES, **fixtures}
    with pytest.raises(TypeError, match=f"Parrots has no fixture '{missing}' of its own"):
        check_suite(type("Parrots", (SinkConformance,), body))


@pytest.mark.parametrize(
    ("destination", "options", "told"),
    [
        ("opened", {}, "`destination` gives an object of type str; it has to return the function"),
        (open_destination(), {}, "`destination` gives .* without calling it"),
        (open_destination, [], "`sink_options` gives an object of type list; return a dict"),
        (open_destination, {"port": 8080}, "`sink_options` has a int for option 'port'"),
    ],
)
def test_a_fixture_that_gives_the_wrong_thing_is_named(destination: Any, options: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        Complete().test_conformance(None, destination, options)  # type: ignore[arg-type]
