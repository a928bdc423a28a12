"""What users read when something is wrong: the line above ``SQLSTATE``, in batch jobs and in streams."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyspark.sql.datasource
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from asyncsink_testing.http_server import HttpRequest, Reaction, serving

HTTP, ANY, TOY = "asyncsink.http", "asyncsink", "asyncsink.toy"
BUG = r"; this is a bug of the connector or of asyncsink, please report it with this traceback"


class Case(NamedTuple):
    """One mistake: the door, the options, the columns, and the last line that is expected, as a class and a pattern."""

    door: str
    options: dict[str, Any]
    error: str
    text: str
    columns: tuple[str, ...] = ("id",)


PLANNING = {
    "unknown option": Case(
        HTTP,
        {"url": "{url}", "bearer_tokn": "hush"},
        "ConfigurationError",
        r"option 'bearer_tokn' is not known; did you mean 'bearerToken'\?",
    ),
    "missing option": Case(HTTP, {}, "ConfigurationError", r"option 'url' is missing: Address that requests go to.*"),
    "sink not named": Case(
        ANY,
        {"url": "{url}"},
        "ConnectorNotFoundError",
        r"option 'sink' is missing: .* \(installed: broken, counting, .*http, .*toy\)",
    ),
    "unknown connector": Case(
        ANY,
        {"sink": "nosuch"},
        "ConnectorNotFoundError",
        r"connector 'nosuch' is not installed \(installed: broken \(asyncsink-broken 1.0\), counting .*, http .*\); "
        r"to install it: pip install asyncsink-nosuch",
    ),
    "connector that fails to import": Case(
        ANY,
        {"sink": "broken"},
        "ConnectorLoadError",
        r"connector 'broken' from asyncsink-broken 1.0 failed to import: ModuleNotFoundError: No module named "
        r"'a_client_library_that_is_missing'; reinstall asyncsink-broken or disable it by ASYNCSINK_DISABLED=broken",
    ),
    "another connector than the format's": Case(
        HTTP,
        {"sink": "toy", "url": "{url}"},
        "ConfigurationError",
        r"option 'sink' = 'toy' contradicts format 'asyncsink.http'; leave the option out, or use .*",
    ),
    "wrong URL scheme": Case(
        HTTP,
        {"url": "ftp://example.com/rows"},
        "ConfigurationError",
        r"option 'url' = 'ftp://example.com/rows' has the scheme 'ftp'; it must be http or https, as in .*",
    ),
    "wrong value": Case(
        HTTP,
        {"url": "{url}", "maxBatchSize": "many"},
        "ConfigurationError",
        r"option 'maxbatchsize' = 'many' must be a whole number",
    ),
    "missing column": Case(
        TOY,
        {"folder": "{folder}"},
        "SchemaError",
        r"column 'id' is missing; found are name: add it by withColumn",
        ("'x' name",),
    ),
    "wrong column type": Case(
        HTTP,
        {"url": "{url}"},
        "SchemaError",
        r"column 'body' is of type bigint; a column of that name is the payload and must be string or binary: .*",
        ("id body",),
    ),
    "interval column": Case(
        HTTP,
        {"url": "{url}"},
        "SchemaError",
        r"column 'spans' is of type array<interval year>; interval year cannot be sent to a sink: "
        r"cast it to string or to a number, or drop the column",
        ("id", "array(INTERVAL '1' YEAR) spans"),
    ),
    "VARIANT column": Case(
        HTTP,
        {"url": "{url}"},
        "SchemaError",
        r"column 'v' is of type variant; variant cannot be sent to a sink: convert it by to_json, or drop the column",
        ("id", "parse_json('1') v"),
    ),
    "bug of a connector": Case(
        TOY,
        {"folder": "{folder}", "bug": "planning"},
        "AsyncSinkError",
        r"planning the write to 'asyncsink.toy' failed with KeyError: 'first line\\nsecond line'" + BUG,
    ),
}
NO_RETRY = {"retry.timeout": "100ms", "retry.initialBackoff": "1ms", "retry.maxBackoff": "10ms"}
TASKS = {
    "unreachable host": Case(
        HTTP,
        {"url": "{closed}", **NO_RETRY},
        "DestinationUnavailableError",
        r"the destination has taken nothing for .* \(retry\.timeout.* = 0.1\); the last failure was CONNECT: no "
        r"connection to host '127.0.0.1', port .*",
    ),
    "401": Case(HTTP, {"url": "{url}/401"}, "FatalRequestError", r".*401.*Check the options of credentials.*"),
    "400 for one poison row": Case(
        HTTP,
        {"url": "{url}/poison", "body": "single"},
        "RequestRejectedError",
        r".*400: Bad Request from POST http://.*/poison; the server says \"id 7 is poison\".*",
    ),
    "bug of a connector": Case(
        TOY, {"folder": "{folder}", "bug": "request"}, "FatalRequestError", r".*KeyError.*no such field.*"
    ),
    "end of the event loop": Case(
        TOY,
        {"folder": "{folder}", "bug": "exit"},
        "WriterFailedError",
        r"the event loop of this Python worker has ended with SystemExit: the client called sys.exit; Spark runs .*",
    ),
}


def react(request: HttpRequest) -> Reaction:
    if request.path == "/401":
        return Reaction.refuse(401)
    if request.path == "/poison" and request.body == b'{"id":7}':
        return Reaction.refuse(400, b"id 7 is poison")
    return Reaction.OK


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    with serving(react) as server:
        folder = str(tmp_path_factory.mktemp("toy"))
        yield {"url": server.url, "closed": f"http://127.0.0.1:{closed}", "folder": folder}


def last_line(error: BaseException) -> str:
    """The last line before ``SQLSTATE``; a batch job's own text ends with it where Spark adds none.

    For a stream PySpark 4.0 has stack traces of Java between the two.
    """
    return re.split("SQLSTATE|\n\tat ", str(error), maxsplit=1)[0].strip().splitlines()[-1]


def check(error: BaseException, case: Case) -> None:
    line = last_line(error)
    kind, _, text = line.partition(": ")
    assert kind == f"asyncsink.errors.{case.error}", line
    assert re.fullmatch(case.text, text), text
    told, _, plan = str(error).partition("=== Streaming Query ===")
    assert "hush" not in told
    # PySpark 4.0 adds the plan of a stream, with the value of an option whose name it does not take for a secret's.
    assert "hush" not in plan or not hasattr(pyspark.sql.datasource, "DataSourceStreamArrowWriter")


def options_of(case: Case, places: dict[str, str]) -> dict[str, Any]:
    return {key: value.format(**places) for key, value in case.options.items()}


@pytest.mark.parametrize("case", [*PLANNING.values(), *TASKS.values()], ids=[*PLANNING, *(f"task: {t}" for t in TASKS)])
def test_a_batch_job_ends_with_our_sentence(case: Case, spark: SparkSession, places: dict[str, str]) -> None:
    rows = spark.range(6, 8, 1, 1).selectExpr(*case.columns)
    with pytest.raises(PySparkException) as caught:
        rows.write.format(case.door).options(**options_of(case, places)).mode("append").save()
    check(caught.value, case)


STREAMED = {
    **PLANNING,
    **{f"task: {name}": case for name, case in TASKS.items()},
    "option of batch jobs": Case(
        TOY,
        {"folder": "{folder}", "STATE-LOCATION": "{folder}"},
        "ConfigurationError",
        r"option 'stateLocation' is for batch jobs; for a stream use ledgerLocation",
    ),
    "option of the door with a slip": Case(
        TOY,
        {"folder": "{folder}", "ledgerLocatoin": "{folder}"},
        "ConfigurationError",
        r"option 'ledgerlocatoin' is not known; did you mean 'ledgerLocation'\?",
    ),
}


@pytest.mark.parametrize("case", STREAMED.values(), ids=STREAMED)
def test_a_stream_ends_with_our_sentence(
    case: Case,
    lines: Callable[..., DataFrame],
    run_stream: Callable[..., None],
    places: dict[str, str],
) -> None:
    rows = lines([["7"]]).select(sf.col("value").cast("bigint").alias("id")).selectExpr(*case.columns)
    with pytest.raises(PySparkException) as caught:
        run_stream(rows, case.door, **options_of(case, places))
    check(caught.value, case)


def test_a_stream_takes_options_in_the_spellings_that_users_bring(
    lines: Callable[..., DataFrame], run_stream: Callable[..., None], toy_log: Callable[[], Any], tmp_path: Path
) -> None:
    rows = lines([["1", "2", "3"]]).select(sf.col("value").cast("bigint").alias("id"))
    run_stream(rows, TOY, FOLDER=str(tmp_path / "toy"), **{"sink.batch.max-size": 2, "Max_In_Flight_Requests": "1"})
    assert [len(each["rows"]) for each in toy_log() if "rows" in each] == [2, 1]


def test_overwrite_is_refused(spark: SparkSession, places: dict[str, str]) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.range(1).write.format(HTTP).option("url", places["url"]).mode("overwrite").save()
    assert last_line(caught.value) == (
        "asyncsink.errors.ConfigurationError: mode 'overwrite' would have to replace what 'http' holds, and it can "
        "only add; use mode('append')"
    )


def test_complete_is_refused_unless_it_is_allowed(
    lines: Callable[..., DataFrame], run_stream: Callable[..., None], toy_log: Callable[[], Any], tmp_path: Path
) -> None:
    counted = lines([["a", "b"]]).groupBy("value").count().selectExpr("count AS id")
    with pytest.raises(PySparkException) as caught:
        run_stream(counted, TOY, mode="complete", folder=str(tmp_path / "toy"))
    assert last_line(caught.value).startswith(
        "asyncsink.errors.ConfigurationError: outputMode 'complete' would send the whole result to 'toy' again"
    )
    allowed = {"folder": str(tmp_path / "toy"), "allowComplete": "true"}
    run_stream(counted, TOY, mode="complete", checkpoint="allowed", **allowed)
    assert sum(len(each.get("rows", ())) for each in toy_log()) == 2
