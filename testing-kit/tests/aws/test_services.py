"""kinesis-local and moto: they start, hold what they are sent, and end with whoever started them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from asyncsink_testing.aws import (
    AwsUnavailable,
    FirehoseDestinations,
    KinesisDestination,
    KinesisDestinations,
    KinesisLocal,
    MotoServer,
)
from asyncsink_testing.aws.kinesis_local import node, program
from asyncsink_testing.faults import Fault, Step

from .clients import client, refusal_of

pytestmark = [pytest.mark.aws_service, pytest.mark.timeout(180)]

ROWS = [b"%d\n" % number for number in range(6)]


@pytest.fixture(scope="module")
def kinesis_local() -> Iterator[KinesisLocal]:
    try:
        with KinesisLocal() as started:
            yield started
    except AwsUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def moto() -> Iterator[MotoServer]:
    try:
        with MotoServer() as started:
            yield started
    except AwsUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(params=["kinesis-local", "moto"])
def service(request: pytest.FixtureRequest) -> KinesisLocal | MotoServer:
    started: KinesisLocal | MotoServer = request.getfixturevalue(request.param.replace("-", "_"))
    return started


def test_a_stream_is_read_back_with_keys_and_in_the_order_of_its_shards(service: KinesisLocal | MotoServer) -> None:
    service.create_stream("several", 2)
    entries = [{"Data": each, "PartitionKey": "ab"[at % 2]} for at, each in enumerate(ROWS)]
    told = service.client.put_records(StreamName="several", Records=entries)["Records"]
    read = service.records("several")
    assert {(each.data, each.partition_key) for each in read} == {
        (each["Data"], each["PartitionKey"]) for each in entries
    }
    assert {each.sequence_number: each.shard_id for each in read} == {
        each["SequenceNumber"]: each["ShardId"] for each in told
    }
    for key in "ab":
        assert [each.data for each in read if each.partition_key == key] == ROWS["ab".index(key) :: 2]


def test_a_stream_is_read_on_when_it_has_been_split(kinesis_local: KinesisLocal) -> None:
    kinesis_local.create_stream("split", 1)
    send = kinesis_local.client
    send.put_record(StreamName="split", Data=b"before", PartitionKey="k")
    [shard] = send.list_shards(StreamName="split")["Shards"]
    send.split_shard(StreamName="split", ShardToSplit=shard["ShardId"], NewStartingHashKey=str(1 << 127))
    send.put_record(StreamName="split", Data=b"after", PartitionKey="k")
    assert [each.data for each in kinesis_local.records("split")] == [b"before", b"after"]


def test_a_scripted_kinesis_hands_on_what_is_to_be_stored(service: KinesisLocal | MotoServer) -> None:
    entries = [{"Data": each, "PartitionKey": "k"} for each in ROWS]
    opened = KinesisDestinations(service)

    async def run() -> None:
        async with opened() as destination:
            destination.script([Fault.FATAL, Step.partly(Fault.PARTLY_MIXED, 1, 4)])
            send = client("kinesis", destination.endpoint)
            stream = destination.names["stream"]
            refused = await run_sync(refusal_of, lambda: send.put_records(StreamName=stream, Records=entries))
            assert refused[0] == "AccessDeniedException"
            told = await run_sync(lambda: send.put_records(StreamName=stream, Records=entries))
            assert told["FailedRecordCount"] == 2
            numbered = [at for at, each in enumerate(told["Records"]) if "SequenceNumber" in each]
            assert numbered == [0, 2, 3, 5]
            again = {"StreamName": stream, "Records": [entries[1], entries[4]]}
            assert (await run_sync(lambda: send.put_records(**again)))["FailedRecordCount"] == 0
            assert len((await run_sync(lambda: send.list_shards(StreamName=stream)))["Shards"]) == 2
            assert [each.payload for each in await destination.received()] == [ROWS[at] for at in (0, 2, 3, 5, 1, 4)]
            assert [sorted(each.stored) for each in destination.requests] == [[], [0, 2, 3, 5], [0, 1]]

    anyio.run(run)


def test_destinations_of_one_stream_read_back_what_came_through_themselves(service: KinesisLocal | MotoServer) -> None:
    opened = KinesisDestinations(service)

    def send(destination: KinesisDestination, data: bytes) -> None:
        sender = client("kinesis", destination.endpoint)
        sender.put_record(StreamName=destination.names["stream"], PartitionKey="k", Data=data)

    async def run() -> None:
        async with opened() as first, opened() as second:
            for destination, data in ((first, b"1"), (second, b"2"), (first, b"3"), (first, b"3")):
                await run_sync(send, destination, data)
            assert [each.payload for each in await first.received()] == [b"1", b"3", b"3"]
            assert [each.payload for each in await second.received()] == [b"2"]
        async with opened() as third:
            assert await third.received() == []

    anyio.run(run)


def test_a_scripted_firehose_hands_on_what_is_to_be_delivered(moto: MotoServer) -> None:
    entries = [{"Data": each} for each in ROWS]

    async def run() -> None:
        async with FirehoseDestinations(moto)() as destination:
            destination.script([Step.partly(Fault.PARTLY_FAILED, 0)])
            send = client("firehose", destination.endpoint)
            name = destination.names["stream"]
            told = await run_sync(lambda: send.put_record_batch(DeliveryStreamName=name, Records=entries))
            assert told["FailedPutCount"] == 1
            assert told["RequestResponses"][0]["ErrorCode"] == "InternalFailure"
            assert sorted([each.payload for each in await destination.received()]) == ROWS[1:]
            described = await run_sync(lambda: send.describe_delivery_stream(DeliveryStreamName=name))
            assert described["DeliveryStreamDescription"]["DeliveryStreamType"] == "DirectPut"

    anyio.run(run)


def test_what_it_says_is_kept_in_its_folder(tmp_path: Path) -> None:
    with MotoServer(folder=tmp_path) as started:
        assert "Running on" in started.log()
    assert "Running on" in (tmp_path / "service.log").read_text()


def test_says_what_to_install_where_node_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AwsUnavailable, match="no node in PATH"):
        node()
    with pytest.raises(AwsUnavailable, match=r"no npm in PATH to fetch kinesis-local@\d.* with: install Node"):
        program(tmp_path / "cache")


def test_says_what_npm_said_where_it_fetches_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "npm").write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AwsUnavailable, match=r"npm did not fetch kinesis-local.*no network"):
        program(tmp_path / "cache")
    assert [each.name for each in (tmp_path / "cache").iterdir() if each.is_dir()] == []


@pytest.mark.usefixtures("kinesis_local")  # which has found out that it can run here
@pytest.mark.parametrize("kind", ["KinesisLocal", "MotoServer"])
def test_ends_with_whoever_started_it(tmp_path: Path, kind: str) -> None:
    program = (
        f"import os, pathlib, signal; from asyncsink_testing.aws import {kind};"
        f"started = {kind}(folder=pathlib.Path({json.dumps(str(tmp_path))})).__enter__();"
        "print(started.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90, check=False)
    assert parent.returncode == -9, parent.stderr
    child = subprocess.run(["tail", f"--pid={parent.stdout.strip()}", "-f", "/dev/null"], timeout=20, check=False)
    assert child.returncode == 0
