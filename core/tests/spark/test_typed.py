"""Sinks that a program has made: batch jobs, streams, converters of the program's own."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from asyncsink import AsyncSinkWriterConfig, ConfigurationError, SchemaError
from asyncsink.spark.typed import SinkDataSource
from asyncsink_http import HttpSink
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving

Lines = Callable[[Sequence[Sequence[str]]], DataFrame]
Log = Callable[[], list[dict[str, Any]]]


def stored(server: FaultyHttpServer) -> list[Any]:
    """The rows of every stored request, in the order of arrival."""
    return [row for request in server.stored for row in json.loads(request.body)]


def run(stream: Any, tmp_path: Path) -> Any:
    """Write what a stream holds by now, going on as users do; the query, which has ended."""
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def test_a_sink_writes_a_dataframe_with_its_own_options_and_config(spark: SparkSession) -> None:
    with serving() as server:
        config = AsyncSinkWriterConfig(max_batch_size=3, max_in_flight_requests=1)
        sink = HttpSink(url=server.url, bearer_token="hushhush", config=config)
        for _ in range(2):
            sink.write(spark.range(0, 7, 1, 1))
        assert [row["id"] for row in stored(server)] == [*range(7), *range(7)]
        assert [len(json.loads(request.body)) for request in server.stored] == [3, 3, 1] * 2
        assert {request.headers["authorization"] for request in server.stored} == {"Bearer hushhush"}


def test_a_sink_writes_a_stream_which_goes_on_from_its_checkpoint_by_name_too(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        stream = lines([[f"{row}"] for row in range(3)])
        sink = HttpSink(url=server.url, bearer_token="hushhush")
        first = run(sink.write_stream(stream), tmp_path)
        (tmp_path / "lines" / "999.txt").write_text("3\n")
        again = run(HttpSink(url=server.url, bearer_token="hushhush").write_stream(stream), tmp_path)
        (tmp_path / "lines" / "9999.txt").write_text("4\n")
        by_name = run(stream.writeStream.format("asyncsink.http").option("url", server.url), tmp_path)
        assert stored(server) == [0, 1, 2, 3, 4]
        assert first.id == again.id == by_name.id
        told = "".join(query.lastProgress.json for query in (first, again))
        assert "hushhush" not in told


def test_options_of_the_door_are_given_as_keywords_in_any_spelling(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        rows = lines([["1"], ["2"]]).groupBy("value").count().selectExpr("value AS k", "count AS n")
        stream = HttpSink(url=server.url).write_stream(
            rows, checkpoint_location=str(tmp_path / "checkpoint"), allow_complete=True
        )
        stream.outputMode("complete").trigger(availableNow=True).start().awaitTermination()
        assert (tmp_path / "checkpoint" / "commits").is_dir()
        assert sorted(row["k"] for row in stored(server)) == ["1", "1", "2"]


def test_a_thread_that_did_not_make_the_session_writes_too(spark: SparkSession) -> None:
    failures: list[BaseException] = []

    def write(sink: HttpSink) -> None:
        try:
            sink.write(spark.range(0, 2, 1, 1))
        except BaseException as error:
            failures.append(error)

    with serving() as server:
        thread = threading.Thread(target=write, args=[HttpSink(url=server.url)])
        thread.start()
        thread.join()
        assert failures == []
        assert [row["id"] for row in stored(server)] == [0, 1]


def registered(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, *sinks: Any) -> list[type[SinkDataSource]]:
    """The data sources by which Spark is told of these sinks."""
    sources: list[type[SinkDataSource]] = []
    registration = type(spark.dataSource)
    register = registration.register

    def note(self: Any, source: Any) -> None:
        sources.append(source)
        register(self, source)

    with monkeypatch.context() as patch:
        patch.setattr(registration, "register", note)
        for sink in sinks:
            sink.write(spark.range(0))
    return sources


def test_the_name_of_a_format_tells_sinks_apart_and_gives_nothing_away(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://127.0.0.1:9/"
    sinks = [
        HttpSink(url=url, bearer_token="secret"),
        HttpSink(url=url, bearer_token="secret"),
        HttpSink(url=url, bearer_token="another"),
        HttpSink(url=url, bearer_token="secret", config=AsyncSinkWriterConfig(max_batch_size=7)),
        HttpSink(url=url, bearer_token="secret").with_converter(lambda row: {"a": row["id"]}),
        HttpSink(url=url, bearer_token="secret").with_converter(lambda row: {"b": row["id"]}),
    ]
    names = [source.name() for source in registered(spark, monkeypatch, *sinks)]
    assert all(re.fullmatch(r"asyncsink\.http\.[0-9a-f]{12}", name) for name in names)
    assert names[0] == names[1]
    assert len(set(names)) == 5
    # Anybody could try out passwords on a plain digest.
    assert sinks[0].options.fingerprint()[:12] not in names[0]


def test_tasks_learn_the_default_parallelism_of_the_session(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = registered(spark, monkeypatch, HttpSink(url="http://127.0.0.1:9/"))
    writer: Any = source({}).writer(spark.range(0).schema, overwrite=False)
    assert writer._plan.parallelism == spark.sparkContext.defaultParallelism == 2


def test_a_sink_that_no_module_has_is_written_to_as_well(
    spark: SparkSession, toy_log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from asyncsink_toy import ToySink

    class OrdersSink(ToySink):
        def size_in_bytes(self, entry: str) -> int:
            return 1

    sink = OrdersSink(folder=str(tmp_path / "toy"))
    sink.write(spark.range(0, 3, 1, 1))
    assert [len(line["rows"]) for line in toy_log() if "rows" in line] == [3]
    sources = registered(spark, monkeypatch, sink, ToySink(folder=str(tmp_path / "toy")))
    assert [source.name().rpartition(".")[0] for source in sources] == ["asyncsink.orders-sink", "asyncsink.toy"]


def test_what_is_wrong_is_raised_as_it_is_before_spark_is_asked(spark: SparkSession) -> None:
    sink, lock = HttpSink(url="http://127.0.0.1:9/"), threading.Lock()
    with pytest.raises(ConfigurationError, match="option 'statLocation' is not known; did you mean 'stateLocation'"):
        sink.write(spark.range(1), statLocation="s3://bucket/folder")
    with pytest.raises(SchemaError, match="column 'body' is of type bigint"):
        sink.write(spark.range(1).withColumnRenamed("id", "body"))
    with pytest.raises(SchemaError, match="column 'span' is of type interval"):
        sink.write_stream(spark.readStream.format("rate").load().selectExpr("INTERVAL '1' YEAR span"))
    with pytest.raises(ConfigurationError, match="HttpSink cannot be pickled, as Spark does: TypeError"):
        sink.with_converter(lambda row: (row, lock)).write(spark.range(1))


FOLDER = "somewhere"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"checkpointLocation": FOLDER}, "'checkpointLocation' is for streams; for a batch job use stateLocation"),
        ({"ledgerLocation": FOLDER}, "'ledgerLocation' is for streams"),
        ({"allowComplete": True}, "'allowComplete' is for streams"),
        ({"query_name": "orders"}, "'query_name' is none of .*; call queryName()"),
        (
            {"stateLocation": FOLDER, "state_location": "elsewhere"},
            "two names of 'stateLocation' with different values",
        ),
        ({"converter": "toy_converters:whisper"}, "module 'toy_converters' has no 'whisper'"),
    ],
)
def test_options_of_a_batch_job_that_cannot_be_meant_are_refused_before_spark_is_asked(
    spark: SparkSession, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigurationError, match=text):
        HttpSink(url="http://127.0.0.1:9/").write(spark.range(1), **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stateLocation": FOLDER}, "'stateLocation' is for batch jobs; for a stream use ledgerLocation"),
        ({"outputMode": "complete"}, "'outputMode' is none of .*; call outputMode"),
        ({"path": FOLDER}, "'path' is none of .*; the sink knows where it writes"),
        ({"sink": "http"}, "'sink' is none of .*; the sink is here already"),
        (
            {"checkpointLocation": FOLDER, "checkpoint_location": "elsewhere"},
            "two names of 'checkpointLocation' with different values",
        ),
    ],
)
def test_options_of_a_stream_that_cannot_be_meant_are_refused_before_spark_is_asked(
    spark: SparkSession, options: dict[str, Any], text: str
) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value")
    with pytest.raises(ConfigurationError, match=text):
        HttpSink(url="http://127.0.0.1:9/").write_stream(stream, **options)


# ---- converters of one's own ---------------------------------------------------------------------------------


def test_a_function_makes_payloads_of_rows(spark: SparkSession) -> None:
    def payload(row: Mapping[str, Any]) -> dict[str, Any]:
        return {"twice": row["id"] * 2, "tags": row["tags"]}

    with serving() as server:
        rows = spark.range(0, 3, 1, 1).selectExpr("id", "map('k', id) tags")
        HttpSink(url=server.url).with_converter(payload).write(rows)
        assert stored(server) == [{"twice": 2 * row, "tags": {"k": row}} for row in range(3)]


def test_a_function_keeps_the_ids_of_rows(spark: SparkSession) -> None:
    with serving() as server:
        sink = HttpSink(url=server.url, body="single").with_converter(lambda row: f"row {row['id']}")
        sink.write(spark.range(0, 3, 1, 1))
        assert sorted(request.body for request in server.stored) == [b"row 0", b"row 1", b"row 2"]
        places = {request.headers["idempotency-key"].split("/")[3]: request.body for request in server.stored}
        assert places == {"0": b"row 0", "1": b"row 1", "2": b"row 2"}


def test_rows_for_which_a_function_raises_are_failures_of_conversion(spark: SparkSession) -> None:
    def inverse(row: Mapping[str, Any]) -> dict[str, float]:
        return {"inverse": 4 / row["id"]}

    with serving() as server:
        rows = spark.range(0, 3, 1, 1)
        sink = HttpSink(url=server.url).with_converter(inverse)
        with pytest.raises(PySparkException, match="inverse could not convert element 0: ZeroDivisionError"):
            sink.write(rows)
        config = AsyncSinkWriterConfig(on_rejected="drop")
        HttpSink(url=server.url, config=config).with_converter(inverse).write(rows)
        assert stored(server) == [{"inverse": 4.0}, {"inverse": 2.0}]


def test_a_row_that_python_cannot_hold_concerns_it_alone(spark: SparkSession) -> None:
    with serving() as server:
        rows = spark.range(0, 3, 1, 1).selectExpr("id", "if(id = 1, cast(X'61ff' AS STRING), 'fine') text")
        config = AsyncSinkWriterConfig(on_rejected="drop")
        HttpSink(url=server.url, config=config).with_converter(dict.copy).write(rows)
        assert [row["id"] for row in stored(server)] == [0, 2]


def test_a_format_takes_a_function_by_its_import_path(spark: SparkSession, toy_log: Log, tmp_path: Path) -> None:
    rows = spark.range(0, 2, 1, 1).selectExpr("concat('word', id) word")
    toy = {"folder": str(tmp_path / "toy"), "converter": "toy_converters:shout"}
    rows.write.format("asyncsink.toy").options(**toy).mode("append").save()
    (entries,) = [line["rows"] for line in toy_log() if "rows" in line]
    assert [entry.partition("=")[2] for entry in entries] == ["WORD0", "WORD1"]
    with pytest.raises(PySparkException, match="shout could not convert element 0: ValueError: not that word"):
        rows.selectExpr("'unspeakable' word").write.format("asyncsink.toy").options(**toy).mode("append").save()


def test_columns_are_checked_by_the_converter_that_an_option_names(spark: SparkSession) -> None:
    rows = spark.range(0, 1, 1, 1).selectExpr("'tea' word", "id body")
    with serving() as server:
        sink = HttpSink(url=server.url)
        with pytest.raises(SchemaError, match="column 'body' is of type bigint"):
            sink.write(rows)
        sink.write(rows, converter="toy_converters:shout")
        assert stored(server) == [{"id": "TEA"}]


def test_a_format_takes_a_class_by_its_import_path_in_a_stream(
    lines: Lines, run_stream: Callable[..., None], toy_log: Log, tmp_path: Path
) -> None:
    stream = lines([["a"], ["b"]]).selectExpr("value", "1 AS one")
    run_stream(stream, "asyncsink.toy", folder=str(tmp_path / "toy"), Converter="toy_converters:Columns")
    entries = [entry for line in toy_log() for entry in line.get("rows", [])]
    assert sorted(entries) == ["value,one ['a', 1] of 0", "value,one ['b', 1] of 0"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("toy_converters", "'toy_converters' is no import path; write it as 'package.module:Name'"),
        ("toy_convertors:shout", "'toy_convertors:shout' failed to import: ModuleNotFoundError"),
        ("toy_converters:whisper", "module 'toy_converters' has no 'whisper'"),
        ("toy_converters:Unfinished", "converter Unfinished is abstract; define its method apply"),
        ("toy_converters:annotations", "is neither an ElementConverter nor a function"),
    ],
)
def test_a_converter_that_is_none_is_refused_when_the_job_is_planned(
    path: str, text: str, spark: SparkSession, toy_log: Log, tmp_path: Path
) -> None:
    toy = {"folder": str(tmp_path / "toy"), "converter": path}
    with pytest.raises(PySparkException, match=rf"asyncsink\.errors\.ConfigurationError: .*{text}"):
        spark.range(1).write.format("asyncsink.toy").options(**toy).mode("append").save()
    assert toy_log() == []


def test_a_replayed_micro_batch_of_a_typed_sink_gives_its_rows_the_same_ids(lines: Lines, tmp_path: Path) -> None:
    healthy = threading.Event()

    def refuse_row_1(request: HttpRequest) -> Reaction:
        return Reaction.refuse(400) if request.body == b"1" and not healthy.is_set() else Reaction.OK

    with serving(refuse_row_1) as server:
        stream = lines([["0", "1"]])
        with pytest.raises(PySparkException, match="RequestRejectedError"):
            run(HttpSink(url=server.url, body="single").write_stream(stream), tmp_path)
        healthy.set()
        run(HttpSink(url=server.url, body="single").write_stream(stream), tmp_path)
        keys = {request.headers["idempotency-key"] for request in server.received}
        assert len(keys) == 2
        assert {key.split("/")[1] for key in keys} == {"0"}
