"""The pages on Kinesis and Firehose: their jobs run, and what they say of options is so."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from asyncsink.dead_letters import read_dead_letters
from asyncsink_firehose import FirehoseSink
from asyncsink_kinesis import KinesisEntry, KinesisSink
from asyncsink_testing.aws import KinesisLocal, MotoServer, StoredRecord

DOCS = Path(__file__).resolve().parents[1]
KINESIS, FIREHOSE = ((DOCS / "how-to" / f"{name}.md").read_text() for name in ("kinesis", "firehose"))
POST = (DOCS / "tutorial" / "the-aws-posts-connector.md").read_text()
REGION = "eu-west-1"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "none of AWS's"}
FRAME = b"\xf3\x89\x9a\xc2"
"""What an aggregated record begins with."""


def programs(page: str) -> dict[str, str]:
    """The blocks with a file's name in their first line."""
    return dict(re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))


def of_flink(page: str) -> dict[str, str]:
    """The options of the page's SQL that stay."""
    [ddl] = re.findall(r"^```sql\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    found = dict(re.findall(r"'([^']+)' = '([^']+)'", ddl))
    return {key: value for key, value in found.items() if key not in ("connector", "format")}


def test_flinks_options_are_read_by_the_sink_of_kinesis() -> None:
    sink = KinesisSink.from_options(of_flink(KINESIS))
    assert sink.options.stream_arn == "arn:aws:kinesis:eu-west-1:123456789012:stream/clicks"
    assert (sink.options.role_external_id, sink.options.provider) == ("acme", "assume_role")
    assert (sink.config.max_in_flight_requests, sink.config.max_time_in_buffer_s) == (16, 5.0)


def test_flinks_options_are_read_by_the_sink_of_firehose() -> None:
    sink = FirehoseSink.from_options(of_flink(FIREHOSE))
    assert sink.options.stream.short_name == "clicks"
    assert sink.config.max_batch_size_in_bytes == 4 << 20


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("profile", "profile"),
        ("role", "assume_role"),
        ("role_of_a_profile", "assume_role"),
        ("chain", "assume_role"),
        ("web_identity", "web_identity_token"),
        ("environment", "env_var"),
        ("own", "custom"),
        ("keys", "basic"),
    ],
)
@pytest.mark.parametrize("stream", [{"stream": "clicks"}, {"deliveryStream": "clicks"}], ids=["kinesis", "firehose"])
def test_each_way_of_credentials_is_read(name: str, provider: str, stream: Mapping[str, str]) -> None:
    ways = {
        ast.unparse(each.targets[0]): ast.literal_eval(each.value)
        for each in ast.parse(programs(KINESIS)["credentials"]).body
        if isinstance(each, ast.Assign)
    }
    sink = KinesisSink if "stream" in stream else FirehoseSink
    assert sink.from_options({**stream, **ways[name]}).options.provider == provider


@pytest.fixture(scope="module")
def kinesis() -> Iterator[KinesisLocal]:
    with KinesisLocal(region=REGION) as running:
        yield running


def run(program: str, folder: Path, endpoint: str) -> None:
    """Run it where the service is at another address, as the environment says."""
    (folder / "program.py").write_text(f"{program}\nspark.stop()\n")
    environ = {"PYSPARK_PYTHON": sys.executable, **os.environ, **KEYS, "AWS_ENDPOINT_URL": endpoint}
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def arrived(folder: Path, *lines: Mapping[str, Any]) -> None:
    """What a stream of a page is to read."""
    (folder / "incoming").mkdir()
    (folder / "incoming" / "0.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def ids(records: list[StoredRecord]) -> list[int]:
    return sorted(json.loads(each.data)["id"] for each in records)


@pytest.mark.aws_service
@pytest.mark.timeout(300)
def test_the_jobs_of_kinesis_run_after_each_other(kinesis: KinesisLocal, tmp_path: Path) -> None:
    arrived(tmp_path, *({"id": each, "customer": "anne", "page": "/"} for each in (1, 2, 3)))
    kinesis.create_stream("clicks", 2)
    jobs = programs(KINESIS)
    awslabs = jobs["awslabs"].replace("https://kinesis.eu-west-1.amazonaws.com", kinesis.endpoint)
    moved = awslabs.replace('format("aws-kinesis")', 'format("asyncsink.kinesis")')
    assert moved != awslabs != jobs["awslabs"]
    run("".join([jobs["stream"], jobs["batch"], moved, jobs["aggregated"]]), tmp_path, kinesis.endpoint)
    records = kinesis.records("clicks")
    plain = [each for each in records if not each.data.startswith(FRAME)]
    assert ids(plain) == [1, 1, 2, 2, 3, 3, 4, 5]
    assert {each.partition_key for each in plain} == {"anne", "bob"}
    rows = unpacked([each for each in records if each.data.startswith(FRAME)])
    assert sorted(rows) == sorted((str(number), str(number % 7)) for number in range(2000))


def unpacked(frames: list[StoredRecord]) -> Iterator[tuple[str, str]]:
    """The rows of aggregated records, with their keys, as Amazon's own module finds them."""
    from aws_kinesis_agg.deaggregator import iter_deaggregate_records

    for frame in frames:
        told = {
            "ApproximateArrivalTimestamp": None,
            "Data": frame.data,
            "PartitionKey": frame.partition_key,
            "SequenceNumber": frame.sequence_number,
        }
        for each in iter_deaggregate_records([told], data_format="Boto3"):
            yield b64decode(each["kinesis"]["data"]).decode(), each["kinesis"]["partitionKey"]


@pytest.mark.aws_service
def test_letters_are_sent_again(kinesis: KinesisLocal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": kinesis.endpoint}.items():
        monkeypatch.setenv(name, value)
    kinesis.create_stream("letters")
    options = {"stream": "letters", "region": REGION, "maxRecordSizeInBytes": "10", "deadLetter.path": str(tmp_path)}

    async def refused() -> None:
        async with KinesisSink.from_options(options).open() as writer:
            await writer.write(KinesisEntry(b"larger than ten bytes", "anne"))

    anyio.run(refused)
    assert [letter.reason for letter in read_dead_letters(tmp_path)] == ["oversized"]
    names: dict[str, Any] = {"__name__": "page"}
    exec(programs(KINESIS)["again"], names)
    anyio.run(names["main"], "letters", str(tmp_path))
    assert [(each.data, each.partition_key) for each in kinesis.records("letters")] == [
        (b"larger than ten bytes", "anne")
    ]


@pytest.mark.aws_service
@pytest.mark.timeout(300)
def test_the_jobs_of_firehose_run_after_each_other(tmp_path: Path) -> None:
    arrived(tmp_path, *({"id": each, "page": "/"} for each in (1, 2, 3)))
    jobs = programs(FIREHOSE)
    with MotoServer() as moto:
        moto.create_delivery_stream("clicks")
        run((jobs["stream"] + jobs["batch"]).replace(REGION, moto.region), tmp_path, moto.endpoint)
        lines = b"".join(moto.delivered("clicks")).splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == [1, 2, 3, 4, 5]


@pytest.mark.aws_service
@pytest.mark.timeout(300)
def test_the_program_and_the_job_of_the_post_run(
    kinesis: KinesisLocal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    blocks = re.findall(r"^```python\n(.*?)^```$", POST, re.DOTALL | re.MULTILINE)
    program, job = blocks[-2:]
    names: dict[str, Any] = {"__name__": "page"}
    exec(program, names)
    kinesis.create_stream("events", 2)
    anyio.run(names["main"], "events", REGION, kinesis.endpoint)
    events = [ast.literal_eval(each.data.decode())["id"] for each in kinesis.records("events")]
    assert sorted(events) == list(range(1000))
    kinesis.create_stream("orders", 2)
    run(job.replace("eu-central-1", REGION), tmp_path, kinesis.endpoint)
    assert ids(kinesis.records("orders")) == list(range(1000))
