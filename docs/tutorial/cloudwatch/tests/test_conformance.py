"""The conformance kit against moto, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from asyncsink_testing import Capabilities, SinkConformance

CHARACTERS = 1024
"""The most that the value of a dimension may have."""


class TestCloudWatch(SinkConformance):
    connector = "cloudwatch"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="none",
        partial_failure=False,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state=True,
        commits=False,
        max_batch_entries=1000,
        max_batch_bytes=1_000_000,
        max_record_bytes=40_000,
        client_modules=("aiobotocore", "botocore", "aiohttp"),
    )

    tuning: ClassVar = {**SinkConformance.tuning, "requestTimeout": "2s"}  # moto takes its time

    @pytest.fixture
    def destination(self, moto: Any) -> object:
        return moto.destination

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"namespace": "Conformance", "region": "eu-central-1", "endpoint": "{endpoint}"}

    def element(self, row: dict[str, Any]) -> Mapping[str, Any]:
        """A metric of its own for each row; the text, as ASCII, in as many dimensions as it needs."""
        text = json.dumps(row["text"]) if row["text"] else ""
        pieces = [text[start : start + CHARACTERS] for start in range(0, len(text), CHARACTERS)]
        dimensions = {f"text-{number:02}": piece for number, piece in enumerate(pieces)}
        return {"name": f"{row['id']}/{row['key']}", "value": 1.0, "dimensions": dimensions}

    def spark_columns(self, frame: Any) -> Any:
        from pyspark.sql.functions import concat_ws, create_map, lit, udf

        name, text = concat_ws("/", "id", "key").alias("name"), udf(json.dumps)("text")
        return frame.select(name, lit(1.0).alias("value"), create_map(lit("text-00"), text).alias("dimensions"))

    def row(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        number, _, key = payload["MetricName"].partition("/")
        pieces = {each["Name"]: each["Value"] for each in payload.get("Dimensions", ())}
        text = "".join(pieces[name] for name in sorted(pieces))
        return {"id": int(number), "key": key, "text": json.loads(text) if text else ""}
