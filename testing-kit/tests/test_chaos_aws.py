"""Kill and replay: Kinesis and Firehose as processes that come back with what they had stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from asyncsink_testing.aws.boto import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from asyncsink_testing.aws.fake import REGION
from asyncsink_testing.chaos.log import LogReader
from asyncsink_testing.chaos.processes import kill_session
from asyncsink_testing.chaos.programs import Destination
from asyncsink_testing.chaos.targets import TARGETS

SINKS = ("kinesis", "firehose")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Destination]]:
    with ExitStack() as stack:

        def started(sink: str) -> Destination:
            destination = stack.enter_context(Destination(TARGETS[sink].service, tmp_path))
            destination.start()
            return destination

        yield started


def put(sink: str, endpoint: str, *records: bytes) -> None:
    keys = {"aws_access_key_id": ACCESS_KEY_ID, "aws_secret_access_key": SECRET_ACCESS_KEY}
    sender = boto3.client(sink, REGION, endpoint_url=endpoint, **keys)
    if sink == "kinesis":
        sender.put_records(StreamName="rows", Records=[{"Data": each, "PartitionKey": "k"} for each in records])
    else:
        sender.put_record_batch(DeliveryStreamName="rows", Records=[{"Data": each} for each in records])


@pytest.mark.parametrize("sink", SINKS)
def test_it_comes_back_to_its_endpoint_with_the_rows_that_it_had_acknowledged(
    start: Callable[[str], Destination], sink: str, tmp_path: Path
) -> None:
    destination, reader = start(sink), LogReader(tmp_path)
    endpoint = destination.endpoint()
    put(sink, endpoint, b'{"id": 1}\n{"id": 2}\n', b'{"id": 3}')
    assert [each["id"] for each in reader.fresh()] == [1, 2, 3]
    assert kill_session(destination.pid)
    destination.buried()
    destination.start()
    wait_for(endpoint, sink)
    assert [each["id"] for each in reader.everything()] == [1, 2, 3, 4]


def wait_for(endpoint: str, sink: str) -> None:
    """Its file tells the endpoint already: only a request tells that it listens there again."""
    for _ in range(200):
        try:
            put(sink, endpoint, b'{"id": 4}')
        except EndpointConnectionError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"{sink} does not listen at {endpoint} again")


@pytest.mark.parametrize("sink", SINKS)
def test_what_is_no_row_is_none_of_the_source(start: Callable[[str], Destination], sink: str, tmp_path: Path) -> None:
    put(sink, start(sink).endpoint(), b"no JSON\n17\n")
    assert LogReader(tmp_path).everything() == [{"id": None}, {"id": None}]


@pytest.mark.parametrize("sink", SINKS)
def test_the_sink_is_told_where_it_is_and_whose_keys_it_takes(sink: str) -> None:
    options = TARGETS[sink].options("http://127.0.0.1:1", "at-least-once")
    assert options["endpoint"] == "http://127.0.0.1:1"
    assert (options["stream"], options["region"], options["accessKeyId"]) == ("rows", REGION, ACCESS_KEY_ID)
