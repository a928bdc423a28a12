"""What the checks of the kit cannot know: this connector's columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from asyncsink_cloudwatch import CloudWatchSink

from asyncsink import Column, Schema, SchemaError, WriteContext

SINK = CloudWatchSink(namespace="Shop/Orders", region="eu-central-1")


def converted(row: dict[str, Any]) -> dict[str, Any]:
    datum: dict[str, Any] = json.loads(SINK.converter(None).apply(row, WriteContext()))
    return datum


def test_a_row_becomes_a_metric_datum() -> None:
    moment = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
    row = {"name": "latency", "value": Decimal("1.5"), "unit": "Seconds", "timestamp": moment}
    assert converted({**row, "dimensions": [("shop", "berlin")]}) == {
        "MetricName": "latency",
        "Value": 1.5,
        "Unit": "Seconds",
        "Timestamp": "2026-05-04T12:30:00+00:00",
        "Dimensions": [{"Name": "shop", "Value": "berlin"}],
    }


def test_what_is_null_is_left_out() -> None:
    row = {"name": "orders", "value": 3, "unit": None, "timestamp": None, "dimensions": None}
    assert converted(row) == {"MetricName": "orders", "Value": 3.0, "Dimensions": []}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "many"])
def test_a_value_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"float"):
        converted({"name": "latency", "value": value})


@pytest.mark.parametrize(
    ("columns", "named"), [(["name"], "value"), (["name", "value", "colour"], "colour"), (["Name", "value"], "Name")]
)
def test_columns_that_are_missing_or_unknown_are_named(columns: list[str], named: str) -> None:
    with pytest.raises(SchemaError, match=f"columns .*{named}.* are missing or unknown"):
        SINK.converter(Schema(tuple(Column(name, "string") for name in columns)))
