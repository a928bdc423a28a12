"""What a letter is, and how it is made of entries and elements."""

from __future__ import annotations

import json
import logging
import pickle
from base64 import b64decode
from collections import namedtuple
from dataclasses import FrozenInstanceError, dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink import BytesSerializer
from asyncsink.dead_letters import SCHEMA_VERSION, DeadLetter, DeadLetterMaker, DeadLetterReason
from asyncsink.dead_letters.element import element_as_json
from asyncsink_testing import FakeDestination, FakeSink

from .letters import CONTEXT, any_letter, letter


class KeptSink(FakeSink):
    """A fake sink whose entries are bytes that can be kept."""

    entry_serializer = BytesSerializer()


def maker(kind: type[FakeSink] = KeptSink) -> DeadLetterMaker:
    return DeadLetterMaker(kind(FakeDestination()), CONTEXT, "q/7/3/", lambda: 99)


@given(any_letter)
def test_the_texts_of_a_letter_are_well_formed_and_survive_a_pickle(made: DeadLetter) -> None:
    for each in (made.code, made.message, made.connector, made.element or "", made.route or ""):
        assert each.encode("utf-8").decode("utf-8") == each
    assert pickle.loads(pickle.dumps(made)) == made


def test_halves_of_a_character_are_joined_and_a_lone_one_is_escaped() -> None:
    assert letter(message="\ud83d\ude00 \udc80").message == "\U0001f600 \\udc80"


def test_a_letter_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        letter().code = "200"  # type: ignore[misc]


def test_a_letter_with_an_entry_says_where_it_comes_from() -> None:
    made = maker().of_entry(
        b"\xff", DeadLetterReason.EXHAUSTED, "500", "again", sequence=12, attempts=3, first_failed_at=42, route="orders"
    )
    assert made == DeadLetter(
        schema_version=SCHEMA_VERSION,
        reason=DeadLetterReason.EXHAUSTED,
        code="500",
        message="again",
        entry=b"\xff",
        entry_version=1,
        element=None,
        idempotency_id="q/7/3/12",
        attempts=3,
        first_failed_at=42,
        last_failed_at=99,
        connector=f"{KeptSink.__module__}.KeptSink",
        route="orders",
        query_id="q",
        batch_id=7,
        writer_id=3,
        attempt=1,
    )


def test_a_letter_with_an_element_has_no_entry_and_was_never_sent() -> None:
    made = maker().of_element({"n": b"\x00"}, "KeyError", "no column 'body'", sequence=5)
    assert (made.entry, made.entry_version, made.attempts) == (None, None, 0)
    assert made.reason is DeadLetterReason.CONVERSION
    assert made.element == '{"n": {"$base64": "AA=="}}'
    assert (made.idempotency_id, made.first_failed_at, made.last_failed_at) == ("q/7/3/5", 99, 99)


def test_an_entry_without_a_place_has_no_id_and_a_route_that_is_no_text_is_described() -> None:
    made = maker().of_entry(b"", DeadLetterReason.OVERSIZED, "Oversized", "too large", route=("eu", 1))
    assert (made.idempotency_id, made.route) == (None, "('eu', 1)")


def test_without_a_serializer_the_entry_is_kept_as_json() -> None:
    made = maker(FakeSink).of_entry(b"a", DeadLetterReason.REJECTED, "400", "")
    assert (made.entry, made.entry_version, made.element) == (None, None, '{"$base64": "YQ=="}')


def test_an_entry_that_its_serializer_refuses_is_kept_as_json_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(BytesSerializer):
        def serialize(self, value: Any) -> bytes:
            raise TypeError("secret payload")

    class BrokenSink(FakeSink):
        entry_serializer = Broken()

    making = maker(BrokenSink)
    with caplog.at_level(logging.WARNING):
        made = [making.of_entry(each, DeadLetterReason.REJECTED, "400", "") for each in (1, 2)]
    assert [each.element for each in made] == ["1", "2"]
    assert [each.entry_version for each in made] == [None, None]
    assert len(caplog.records) == 1
    assert "TypeError" in caplog.text
    assert "secret" not in caplog.text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_an_element_of_plain_values_is_its_json(value: Any) -> None:
    text = element_as_json(value)
    assert text.isascii()
    assert json.loads(text) == value


@given(st.binary())
def test_bytes_in_an_element_are_base64(data: bytes) -> None:
    assert b64decode(json.loads(element_as_json([data]))[0]["$base64"]) == data


@dataclass
class Order:
    number: int
    day: date


Point = namedtuple("Point", ["x", "y"])


class Row(tuple[Any, ...]):
    """Named as Spark's Row names its fields."""

    __fields__ = ("a", "b")


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (Order(1, date(2024, 2, 29)), {"number": 1, "day": "2024-02-29"}),
        (Point(1, [2]), {"x": 1, "y": [2]}),
        (Row((1, None)), {"a": 1, "b": None}),
        ((), []),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05+00:00"),
        (time(1, 2), "01:02:00"),
        (float("nan"), {"$repr": "nan"}),
        (Decimal("1.50"), {"$repr": "Decimal('1.50')"}),
        ({1: 2}, {"1": 2}),
        (Order, {"$repr": repr(Order)}),
    ],
)
def test_an_element_becomes_an_object_an_iso_text_or_is_described(element: object, expected: object) -> None:
    assert json.loads(element_as_json(element)) == expected


def test_an_element_that_contains_itself_is_described() -> None:
    element: list[Any] = []
    element.append(element)
    assert json.loads(element_as_json(element)) == {"$repr": "[[...]]"}


def test_an_element_that_cannot_even_be_described_is_named_by_its_type() -> None:
    class Hostile(SimpleNamespace):
        def __repr__(self) -> str:
            raise RuntimeError("no")

    text = json.loads(element_as_json(Hostile()))["$repr"]
    assert text.endswith("Hostile, whose repr raised RuntimeError>")
