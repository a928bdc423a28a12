"""Writers on their way to the tasks, and the rows that each PySpark gives them there."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from asyncsink.errors import ConnectorLoadError
from asyncsink.spark.batch import BatchWriter
from asyncsink.spark.planning import Plan, plan
from asyncsink.spark.stream import StreamWriter
from asyncsink.spark.versions import Need, check, needed, packed, unpacked
from asyncsink_testing.http_server import serving

CORE = Need("asyncsink-core", "asyncsink", version("asyncsink-core"))
TOY = Need("asyncsink-toy", "asyncsink_toy", "1.0")
IDS = t.StructType([t.StructField("id", t.LongType(), False)])
# Types of every kind; a text that is no UTF-8 would not come through were it handed over as a Python string.
COLUMNS = (
    "cast(value AS BIGINT) id",
    "array(timestamp_seconds(1761437400.000001), NULL) seen",
    "timestamp_ntz'2025-10-26 02:10:00' local",
    "date'2025-10-26' day",
    "cast(1.10 AS DECIMAL(20, 2)) price",
    "cast(X'61ff' AS STRING) text",
    "X'00ff' raw",
    "map('a', named_struct('x', 1, 'y', array(1.5D, double('NaN'))), 'b', NULL) nested",
    "cast(NULL AS STRING) nothing",
    "NULL void",
    "cast(1 AS TINYINT) small",
    "true flag",
)


@pytest.fixture
def planned(site: Path) -> Plan:
    return plan("toy", {"folder": "f"}, IDS, overwrite=False, streaming=False)


@pytest.mark.parametrize("kind", [BatchWriter, StreamWriter])
def test_a_writer_arrives_with_its_plan(kind: type[BatchWriter] | type[StreamWriter], planned: Plan) -> None:
    arrived: Any = pickle.loads(pickle.dumps(kind(planned)))
    found, sent = arrived._plan, planned
    assert type(arrived) is kind
    assert (found.run_id, found.sink.options) == (sent.run_id, getattr(sent.sink, "options"))  # noqa: B009


def test_what_a_program_has_defined_goes_along_whole(planned: Plan) -> None:
    class Own:
        number = 3

    unpickle, arguments = packed(BatchWriter(planned), {"own": Own()}, planned.sink)
    assert unpickle(*arguments).own.number == 3


def test_kernel_and_connector_are_needed_in_the_versions_that_the_driver_has(planned: Plan) -> None:
    assert needed("asyncsink_toy") == (CORE, TOY)


def test_a_sink_that_nobody_has_installed_needs_the_kernel_only() -> None:
    assert needed("__main__") == (CORE,)


def test_what_is_missing_or_of_another_version_is_named_at_once() -> None:
    other = CORE._replace(version="0.0.1")
    missing = Need("asyncsink-none", "asyncsink_none", "2.0")
    with pytest.raises(ConnectorLoadError) as caught:
        check([other, missing])
    told = f": asyncsink-core is {CORE.version} (driver: 0.0.1) and asyncsink-none is not installed (driver: 2.0); "
    assert f"{told}install asyncsink-core==0.0.1 asyncsink-none==2.0 for that interpreter" in str(caught.value)


def test_a_module_that_is_there_without_being_installed_is_taken_as_it_is() -> None:
    check([CORE, Need("asyncsink-copied", "json", "1.0")])


def test_what_cannot_be_loaded_is_told_in_one_line() -> None:
    with pytest.raises(ConnectorLoadError, match=r"interpreter .*: UnpicklingError: .*; install what the driver has"):
        unpacked([CORE], b"no pickle")


def test_a_stream_gives_a_sink_the_same_bytes_as_a_batch_job(
    lines: Callable[[Sequence[Sequence[str]]], DataFrame], run_stream: Callable[..., None], tmp_path: Path
) -> None:
    stream = lines([["1", "2", "3"]])
    with serving() as server:
        run_stream(stream.selectExpr(*COLUMNS), "asyncsink.http", url=server.url)
        of_stream = [request.body for request in server.stored]
    rows = stream.sparkSession.read.text(str(tmp_path / "lines")).selectExpr(*COLUMNS)
    with serving() as server:
        rows.write.format("asyncsink.http").option("url", server.url).mode("append").save()
        of_batch = [request.body for request in server.stored]
    assert of_stream == of_batch
    assert [row["id"] for body in of_stream for row in json.loads(body)] == [1, 2, 3]
