"""The other doors to a sink: SQL, tables, foreachBatch, registration by hand, and Spark Connect."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from asyncsink import ConfigurationError
from asyncsink.spark import foreach_batch, register
from asyncsink_http import HttpSink
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction, serving

HTTP = "asyncsink.http"
Lines = Callable[[Sequence[Sequence[str]]], DataFrame]


def stored(server: FaultyHttpServer) -> list[Any]:
    """The rows of every stored request."""
    return [row for request in server.stored for row in json.loads(request.body)]


def in_a_thread(call: Callable[[], object]) -> BaseException | None:
    """What it raised in a thread that did not make the session."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


# ---- by hand -------------------------------------------------------------------------------------------------


def test_register_lets_a_thread_that_did_not_make_the_session_write_by_name(spark: SparkSession) -> None:
    with serving() as server:

        def write() -> None:
            spark.range(0, 2, 1, 1).write.format(HTTP).option("url", server.url).mode("append").save()

        without = in_a_thread(write)
        assert "DATA_SOURCE_NOT_FOUND" in str(without)

        def register_and_write() -> None:
            register(spark)
            write()

        assert in_a_thread(register_and_write) is None
        assert [row["id"] for row in stored(server)] == [0, 1]


def test_register_names_what_is_installed_and_may_be_called_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {"asyncsink", HTTP, "asyncsink.toy", "asyncsink.broken"}
    assert installed <= set(register(spark))
    assert register(spark) == register(spark.newSession())
    monkeypatch.setenv("ASYNCSINK_DISABLED", "toy")
    assert "asyncsink.toy" not in register(spark)


# ---- foreachBatch --------------------------------------------------------------------------------------------


def keys(server: FaultyHttpServer) -> dict[str, bytes]:
    """Each idempotency key without the digest behind it, and its row."""
    return {request.headers["idempotency-key"].rpartition("/")[0]: request.body for request in server.received}


def run_foreach(stream: DataFrame, function: Callable[..., None], tmp_path: Path, mode: str = "append") -> Any:
    writer = stream.writeStream.foreachBatch(function).outputMode(mode).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    return query


def test_foreach_batch_writes_what_an_update_has_changed(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        counts = lines([["a", "b"], ["b"]]).groupBy("value").count().selectExpr("value AS k", "count AS n")
        run_foreach(counts, foreach_batch(HttpSink(url=server.url)), tmp_path, "update")
        rows = stored(server)
        assert sorted((row["k"], row["n"]) for row in rows) == [("a", 1), ("b", 1), ("b", 2)]
        assert rows[-1] == {"k": "b", "n": 2}


def test_a_replayed_batch_of_foreach_batch_gives_its_rows_the_same_ids(lines: Lines, tmp_path: Path) -> None:
    healthy = threading.Event()

    def refuse_row_3(request: HttpRequest) -> Reaction:
        return Reaction.refuse(400) if request.body == b"3" and not healthy.is_set() else Reaction.OK

    with serving(refuse_row_3) as server:
        stream, sink = lines([["0", "1"], ["2", "3"]]), HttpSink(url=server.url, body="single")
        with pytest.raises(PySparkException, match="RequestRejectedError"):
            run_foreach(stream, foreach_batch(sink), tmp_path)
        assert set(keys(server).values()) == {b"0", b"1", b"2", b"3"}
        healthy.set()
        query = run_foreach(stream, foreach_batch(sink), tmp_path)
        assert keys(server) == {f"{query.id}/{row // 2}/-/0/{row % 2}": b"%d" % row for row in range(4)}
        assert Counter(request.body for request in server.stored)[b"3"] == 1


def test_calls_for_one_batch_have_ids_of_their_own_which_a_replay_repeats(lines: Lines, tmp_path: Path) -> None:
    failed = threading.Event()

    with serving() as server:
        sink = HttpSink(url=server.url, body="single")

        def write_twice(rows: DataFrame, batch: int) -> None:
            foreach_batch(sink)(rows, batch)
            foreach_batch(sink)(rows.selectExpr("concat('x', value) value"), batch)
            if not failed.is_set():
                failed.set()
                raise RuntimeError("the driver dies after its rows are stored")

        stream = lines([["0"]])
        with pytest.raises(PySparkException, match="the driver dies"):
            run_foreach(stream, write_twice, tmp_path)
        query = run_foreach(stream, write_twice, tmp_path)
        assert keys(server) == {f"{query.id}/0/-/0/0": b"0", f"{query.id}/0.1/-/0/0": b"x0"}
        assert Counter(request.body for request in server.stored) == {b"0": 2, b"x0": 2}


def test_a_name_stands_for_the_query(lines: Lines, tmp_path: Path) -> None:
    with serving() as server:
        sink = HttpSink(url=server.url, body="single")
        run_foreach(lines([["0"]]), foreach_batch(sink, name="orders"), tmp_path)
        assert keys(server) == {"orders/0/-/0/0": b"0"}


@pytest.mark.parametrize("name", ["", " orders", "orders ", "or\nders", "or\tders", "bestellungen-für", "or\x7fders"])
def test_a_name_that_no_header_can_carry_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="of foreach_batch begins the idempotency ids") as caught:
        foreach_batch(HttpSink(url="http://127.0.0.1:9/"), name=name)
    assert repr(name) in str(caught.value)


def test_foreach_batch_takes_options_of_batch_jobs_alone_and_says_so_at_once() -> None:
    sink = HttpSink(url="http://127.0.0.1:9/")
    foreach_batch(sink, name="all orders, 2nd run", state_location="s3://bucket/folder")
    for options, text in [
        ({"checkpointLocation": "a"}, "option 'checkpointLocation' is for streams; for a batch job use stateLocation"),
        ({"statLocation": "a"}, "option 'statLocation' is not known; did you mean 'stateLocation'"),
        ({"outputMode": "update"}, "option 'outputMode' is none of"),
    ]:
        with pytest.raises(ConfigurationError, match=text):
            foreach_batch(sink, **options)


# ---- SQL and tables ------------------------------------------------------------------------------------------


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """A table over the HTTP connector, with columns and without options: Spark keeps those to itself."""
    spark.sql("CREATE TABLE events (id BIGINT, name STRING) USING asyncsink.http")
    yield "events"
    spark.sql("DROP TABLE events")


@pytest.fixture
def server() -> Iterator[FaultyHttpServer]:
    with serving() as server:
        yield server


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO events WITH ('url' = '{url}') VALUES (0, 'n0'), (1, 'n1')",
        "INSERT INTO events WITH ('url' = '{url}') SELECT id, concat('n', id) FROM range(2)",
        "INSERT INTO events WITH ('url' = '{url}') (name, id) SELECT concat('n', id), id FROM range(2)",
    ],
)
def test_sql_inserts_into_a_table_with_options_at_the_insert(
    statement: str, spark: SparkSession, table: str, server: FaultyHttpServer
) -> None:
    spark.sql(statement.format(url=server.url))
    assert sorted(stored(server), key=lambda row: row["id"]) == [{"id": 0, "name": "n0"}, {"id": 1, "name": "n1"}]


def test_sql_inserts_into_a_temporary_view_which_keeps_its_options(
    spark: SparkSession, server: FaultyHttpServer
) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW event_view (id BIGINT) USING asyncsink OPTIONS (sink 'http', url '{server.url}')")
    try:
        spark.sql("INSERT INTO event_view SELECT id FROM range(3)")
        assert sorted(row["id"] for row in stored(server)) == [0, 1, 2]
    finally:
        spark.catalog.dropTempView("event_view")


def test_what_spark_does_not_allow_in_sql_is_an_error(
    spark: SparkSession, table: str, server: FaultyHttpServer
) -> None:
    url = server.url
    for statement, text in {
        f"CREATE TABLE no_columns USING asyncsink.http OPTIONS (url '{url}')": "schema is not implemented",
        f"CREATE TABLE kept (id BIGINT) USING asyncsink.http AS SELECT 1 id WITH ('url' = '{url}')": "SYNTAX_ERROR",
        f"CREATE TABLE filled USING asyncsink.http OPTIONS (url '{url}') AS SELECT 1 id": "option 'url' is missing",
        f"INSERT OVERWRITE events WITH ('url' = '{url}') VALUES (1, 'a')": r"use mode\('append'\)",
        "INSERT INTO events VALUES (1, 'a')": "option 'url' is missing",
        "SELECT * FROM events": "reader is not implemented",
    }.items():
        with pytest.raises(PySparkException, match=text):
            spark.sql(statement).collect()
        spark.sql("DROP TABLE IF EXISTS filled")
    assert server.received == []


def test_tables_are_written_by_name_in_batch(spark: SparkSession, table: str, server: FaultyHttpServer) -> None:
    rows = spark.range(0, 1, 1, 1)
    named = rows.selectExpr("id", "'saved' name").write.format(HTTP).option("url", server.url)
    named.mode("append").saveAsTable("events")
    rows.selectExpr("id", "'appended' name").writeTo("events").option("url", server.url).append()
    rows.write.format(HTTP).option("url", server.url).mode("append").saveAsTable("new_events")
    spark.sql("DROP TABLE new_events")
    assert stored(server) == [{"id": 0, "name": "saved"}, {"id": 0, "name": "appended"}, {"id": 0}]


def test_tables_are_written_by_name_in_streams(
    lines: Lines, table: str, server: FaultyHttpServer, tmp_path: Path
) -> None:
    rows = lines([["a"], ["b"]]).selectExpr("7L id", "value name")
    writer = rows.writeStream.option("url", server.url).option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).toTable("events").awaitTermination()
    assert [row["name"] for row in stored(server)] == ["a", "b"]


def test_available_now_sends_what_is_there_and_ends(lines: Lines, server: FaultyHttpServer, tmp_path: Path) -> None:
    rows = lines([["1"], ["2"], ["3"]])
    for _ in range(2):
        writer = rows.writeStream.format(HTTP).option("url", server.url)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        assert query.exception() is None
    assert stored(server) == [1, 2, 3]


# ---- Spark Connect -------------------------------------------------------------------------------------------

CONNECT = """
import sys
from queue import Queue
from pyspark.sql import SparkSession
from asyncsink.spark import ProgressListener, foreach_batch, register
from asyncsink_http import HttpSink

url, folder = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert "connect" in type(spark).__module__
sink = HttpSink(url=url, bearer_token="hushhush", body="single")
sink.write(spark.range(0, 2, 1, 1))
sink.with_converter(lambda row: f"own {row['id']}").write(spark.range(0, 1, 1, 1))
assert "asyncsink.http" in register(spark)
spark.range(10, 11, 1, 1).write.format("asyncsink.http").option("url", url).mode("append").save()

def run(writer):
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert query.exception() is None

lines, told = spark.readStream.text(folder + "/lines"), Queue()
spark.streams.addListener(ProgressListener(folder + "/first", told.put))
run(sink.write_stream(lines, checkpointLocation=folder + "/first"))
assert told.get(timeout=60).rows == 1
each = foreach_batch(HttpSink(url=url, body="single").with_converter(lambda row: "each " + row["value"]), name="q")
run(lines.writeStream.foreachBatch(each).option("checkpointLocation", folder + "/second"))
spark.stop()
"""


@pytest.mark.timeout(300)
def test_every_door_works_on_spark_connect(site: Path, server: FaultyHttpServer, tmp_path: Path) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "0.txt").write_text("line\n")
    # A process of its own: one cannot hold both kinds of session. It starts the server beside it.
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, server.url, str(tmp_path)],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(request.body for request in server.stored) == [
        b'[{"id":10}]', b"each line", b"line", b"own 0", b'{"id":0}', b'{"id":1}',
    ]  # fmt: skip
    ids = {request.body: request.headers["idempotency-key"] for request in server.stored}
    assert ids[b"each line"].startswith("q/0/-/0/0/")
    assert ids[b"line"].split("/")[1:4] == ["0", "0", "0"]
    assert "hushhush" not in done.stdout + done.stderr
