"""What is decided before the first task starts; no Spark session is needed for it."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark.sql.datasource
import pytest
from pyspark.sql import types as t

from asyncsink.context import Column, Schema
from asyncsink.errors import AsyncSinkError, ConfigurationError, ConnectorLoadError, FatalRequestError, SchemaError
from asyncsink.plugins import ConnectorInfo, hookimpl, register, unregister
from asyncsink.sink import Sink
from asyncsink.spark import AsyncSinkDataSource, ConnectorDataSource
from asyncsink.spark.columns import schema_of
from asyncsink.spark.commit import TaskCommit, commits, log_progress, summed
from asyncsink.spark.planning import Plan, plan
from asyncsink.spark.sentences import ours

IDS = t.StructType([t.StructField("id", t.LongType(), False)])


def planned(options: Mapping[str, str], struct: t.StructType = IDS, **flags: bool) -> Plan:
    given: dict[str, bool] = {"overwrite": False, "streaming": False, **flags}
    return plan("toy", {"folder": "f", **options}, struct, **given)


def test_columns_keep_order_types_and_nullability() -> None:
    inner = t.StructType([t.StructField("a", t.ArrayType(t.DecimalType(10, 2)))])
    struct = t.StructType(
        [t.StructField("id", t.LongType(), False), t.StructField("m", t.MapType(t.StringType(), inner))]
    )
    assert schema_of(struct) == Schema(
        (Column("id", "bigint", False), Column("m", "map<string,struct<a:array<decimal(10,2)>>>", True))
    )


def test_a_collation_is_no_type_of_its_own_and_names_with_punctuation_are_quoted() -> None:
    text = t.StringType("UTF8_LCASE")
    inner = t.StructType([t.StructField("a,b(c)", text), t.StructField("d`:", t.LongType()), t.StructField("e", text)])
    struct = t.StructType(
        [t.StructField("s", text), t.StructField("m", t.MapType(text, t.ArrayType(text))), t.StructField("x", inner)]
    )
    assert [column.type for column in schema_of(struct).columns] == [
        "string",
        "map<string,array<string>>",
        "struct<`a,b(c)`:string,`d``:`:bigint,e:string>",
    ]


@pytest.mark.parametrize(
    "kind", [t.DayTimeIntervalType(), t.YearMonthIntervalType(), t.CalendarIntervalType(), t.VariantType()], ids=str
)
@pytest.mark.parametrize("wrap", ["plain", "array", "map key", "map value", "struct"])
def test_intervals_and_variants_are_refused_at_any_depth(kind: t.DataType, wrap: str) -> None:
    wrapped = {
        "plain": kind,
        "array": t.ArrayType(kind),
        "map key": t.MapType(kind, t.StringType()),
        "map value": t.MapType(t.StringType(), t.ArrayType(kind)),
        "struct": t.StructType([t.StructField("inner", kind)]),
    }[wrap]
    with pytest.raises(SchemaError, match=f"^column 'c' is of type .*; {kind.simpleString()} cannot be sent"):
        schema_of(t.StructType([t.StructField("id", t.LongType()), t.StructField("c", wrapped)]))


def test_a_plan_can_be_pickled_and_keeps_its_run_id(site: Path) -> None:
    made: Any = planned({})
    copy: Any = pickle.loads(pickle.dumps(made))
    assert (copy.run_id, copy.schema, copy.sink.options) == (made.run_id, made.schema, made.sink.options)
    assert planned({}).run_id != made.run_id


@pytest.mark.parametrize("streaming", [False, True])
def test_replacing_is_refused(site: Path, streaming: bool) -> None:
    with pytest.raises(ConfigurationError, match=r"use (mode|outputMode)\('append'\)"):
        planned({}, overwrite=True, streaming=streaming)


@pytest.mark.parametrize("key", ["allowcomplete", "allow_complete", "allow-complete"])
def test_complete_can_be_allowed_for_streams_alone(site: Path, key: str) -> None:
    assert planned({key: "true"}, overwrite=True, streaming=True).connector == "toy"
    with pytest.raises(ConfigurationError, match="outputMode 'complete'"):
        planned({key: "false"}, overwrite=True, streaming=True)
    with pytest.raises(ConfigurationError, match=f"'{key}' = 'perhaps' must be true or false"):
        planned({key: "perhaps"}, overwrite=True, streaming=True)
    with pytest.raises(ConfigurationError, match="option 'allowComplete' is for streams"):
        planned({key: "true"})


@pytest.mark.parametrize("spelling", ["TOY", "t-oy", "to_y"])
def test_a_connector_has_one_name_however_it_is_spelled(site: Path, spelling: str) -> None:
    made = plan(spelling, {"folder": "f"}, IDS, overwrite=False, streaming=False)
    assert made.connector == "toy"
    with pytest.raises(ConfigurationError, match="send the whole result to 'toy' again"):
        plan(spelling, {"folder": "f"}, IDS, overwrite=True, streaming=True)


def test_a_connector_that_is_asked_for_by_a_short_name_keeps_its_own(site: Path) -> None:
    class Plugin:
        @hookimpl
        def asyncsink_connector(self) -> ConnectorInfo:
            return ConnectorInfo(
                "long-toy", "asyncsink_toy:ToySink", "asyncsink_toy:ToyOptions", 1, short_names=("lt",)
            )

    register(Plugin(), "long-toy")
    try:
        assert plan("LT", {"folder": "f"}, IDS, overwrite=False, streaming=False).connector == "long-toy"
    finally:
        unregister("long-toy")


def test_an_option_without_effect_is_refused(site: Path) -> None:
    for name, streaming, text in [
        ("stateLocation", True, "is for batch jobs; for a stream use ledgerLocation"),
        ("ledgerLocation", False, "is for streams; for a batch job use stateLocation"),
        ("checkpointLocation", False, "is for streams; for a batch job use stateLocation"),
    ]:
        with pytest.raises(ConfigurationError, match=f"option '{name}' {text}"):
            planned({name: "somewhere"}, streaming=streaming)


def test_a_sink_that_cannot_be_made_of_options_is_refused() -> None:
    class Plugin:
        @hookimpl
        def asyncsink_connector(self) -> ConnectorInfo:
            return ConnectorInfo("plain", f"{Sink.__module__}:Sink", "asyncsink.options:ConnectorOptions", 1)

    register(Plugin(), "plain")
    try:
        with pytest.raises(
            ConnectorLoadError, match="connector 'plain' has the sink Sink, which cannot be made of opt"
        ):
            plan("plain", {}, IDS, overwrite=False, streaming=False)
    finally:
        unregister("plain")


def test_an_older_pyspark_is_refused_by_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pyspark.sql.datasource, "DataSourceArrowWriter")
    monkeypatch.setattr(pyspark, "__version__", "4.0.0.dev1")
    with pytest.raises(ConfigurationError, match=r"PySpark 4\.0\.0\.dev1 is too old for asyncsink, which needs 4\.0"):
        AsyncSinkDataSource({"sink": "toy"}).writer(IDS, False)


def test_doors_have_the_names_that_spark_looks_for() -> None:
    class Toy(ConnectorDataSource):
        connector = "toy"

    assert (Toy.name(), AsyncSinkDataSource.name()) == ("asyncsink.toy", "asyncsink")


def test_errors_of_ours_leave_as_they_are_but_in_one_line() -> None:
    with pytest.raises(FatalRequestError, match=r"^the server says busy, come back$"), ours("writing"):
        raise FatalRequestError("the server says busy,\n  come back")


def test_any_other_error_becomes_the_cause_of_ours() -> None:
    with (
        pytest.raises(AsyncSinkError, match=r"^writing failed with KeyError: 'a'; this is a bug") as caught,
        ours("writing"),
    ):
        raise KeyError("a")
    assert type(caught.value) is AsyncSinkError
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_commit_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    tasks: list[Any] = [
        TaskCommit(0, rows_in=2, rows=2, requests=1, bytes=20, seconds=0.5),
        None,
        TaskCommit(1, rows_in=3, rows=3, requests=2, retried=4, throttled=5, bytes=30, seconds=0.25),
    ]
    with caplog.at_level(logging.INFO, "asyncsink.spark"):
        log_progress(summed("toy", 7, commits([pickle.loads(pickle.dumps(task)) for task in tasks])))
    assert caplog.text.strip().endswith(
        "asyncsink.toy batch 7: 5 rows (50 bytes) stored by 3 requests of 2 tasks; 4 entries sent again, 5 throttled; "
        "slowest task 0.500 s"
    )
    assert len(caplog.messages) == 1
