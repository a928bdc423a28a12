from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from asyncsink.json_text import encode_row, encode_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ('q"\\\n\x01', '"q\\"\\\\\\n\\u0001"'),
        ("é€", '"é€"'),
        (True, "true"),
        (-3, "-3"),
        (1.0, "1.0"),
        (1e300, "1e+300"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        (Decimal("1.10"), "1.10"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.0000001"), "0.0000001"),
        (Decimal("123456789012345678901234567890.12"), "123456789012345678901234567890.12"),
        (Decimal("NaN"), '"NaN"'),
        (b"abc", '"YWJj"'),
        (bytearray(b"\xff"), '"/w=="'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (time(1, 2, 3), '"01:02:03"'),
        (datetime(2026, 1, 2, 3, 4, 5), '"2026-01-02T03:04:05.000"'),
        (datetime(2026, 1, 2, 3, 4, 5, 120000, tzinfo=UTC), '"2026-01-02T03:04:05.120Z"'),
        (datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC), '"2026-01-02T03:04:05.123456Z"'),
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), '"2026-01-02T01:00:00.000Z"'),
        ([1, None, "x"], '[1,null,"x"]'),
        ([], "[]"),
        ({"a": None, "b": [{"c": None}]}, '{"b":[{}]}'),
        ({1: "x", False: "y"}, '{"1":"x","false":"y"}'),
        ({date(2026, 1, 2): 1}, '{"2026-01-02":1}'),
        ([(1.0, 2.0), (1.0, 4.0)], "[[1.0,2.0],[1.0,4.0]]"),
        ([("k", None)], '[["k",null]]'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert encode_value(value) == text
    json.loads(text)


class Weekday(int):
    """A subclass of a type that JSON has."""


def test_a_subclass_is_written_as_its_base() -> None:
    assert encode_value(Weekday(3)) == "3"


def test_a_row_is_a_line_without_its_null_fields() -> None:
    assert encode_row({"id": 1, "note": None, "text": "a\nb"}) == b'{"id":1,"text":"a\\nb"}'


@pytest.mark.parametrize("value", [timedelta(1), object(), {1, 2}, 1j])
def test_what_has_no_form_in_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="has no form in JSON; cast it to a string"):
        encode_row({"a": value})
