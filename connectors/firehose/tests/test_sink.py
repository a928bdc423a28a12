"""The sink with the kernel's writer against a stream that misbehaves: what arrives, and what is said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from asyncsink import Column, ConversionError, OversizedEntryError, Schema, WriteContext, read_dead_letters
from asyncsink.dead_letters import DeadLetterFiles, as_state, entries_of
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction
from asyncsink_testing.aws import FirehoseFake, answered, refused
from asyncsink_testing.aws.calls import call_of
from asyncsink_testing.aws.fake import data_in
from asyncsink_testing.http_server import ReactionRule

from .streams import sink_to, writing

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("ready_bodies", [True, False])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def rows_of(records: Iterable[bytes]) -> Counter[int]:
    return Counter(json.loads(line)["id"] for record in records for line in record.splitlines())


def records_in(request: HttpRequest) -> list[bytes]:
    call = call_of(request)
    assert call is not None
    return [data_in(record) for record in call.parameters["Records"]]


def is_put(request: HttpRequest) -> bool:
    return request.headers["x-amz-target"] == "Firehose_20150804.PutRecordBatch"


def puts(server: FaultyHttpServer) -> list[list[bytes]]:
    return [records_in(request) for request in server.received if is_put(request)]


def failing(stream: FirehoseFake, records: Iterable[int], code: str = "InternalFailure") -> ReactionRule:
    """Of the first request these records fail; all else is stored."""
    failed = set(records)
    seen: list[HttpRequest] = []

    def rule(request: HttpRequest) -> Reaction:
        if not is_put(request) or seen:
            return stream.react(request)
        seen.append(request)
        results = [
            {"ErrorCode": code, "ErrorMessage": "No."} if at in failed else {"RecordId": f"{at}"}
            for at in range(len(records_in(request)))
        ]
        stream.records += [record for at, record in enumerate(records_in(request)) if at not in failed]
        return answered({"FailedPutCount": len(failed), "RequestResponses": results})

    return rule


@BOTH
async def test_each_row_is_a_record_of_its_own_in_requests_of_500(ready_bodies: bool) -> None:
    stream = FirehoseFake()
    async with FaultyHttpServer(stream.react) as server:
        async with writing(server, ready_bodies=ready_bodies) as writer:
            await writer.write_many([{"id": number} for number in range(1200)])
    assert rows_of(stream.records) == Counter(range(1200))
    assert sorted(map(len, puts(server))) == [200, 500, 500]
    assert stream.records[0] == b'{"id":0}\n'


@BOTH
async def test_only_the_records_that_failed_go_again(ready_bodies: bool) -> None:
    stream = FirehoseFake()
    async with FaultyHttpServer(failing(stream, [1, 4])) as server:
        async with writing(server, {"max_in_flight_requests": 1}, ready_bodies=ready_bodies) as writer:
            await writer.write_many([{"id": number} for number in range(6)])
    assert rows_of(stream.records) == Counter(range(6))
    assert [len(records) for records in puts(server)] == [6, 2]


@BOTH
async def test_a_packed_record_that_failed_goes_again_with_all_its_rows(ready_bodies: bool) -> None:
    stream = FirehoseFake()
    options = {"packing": "rows", "packed_record_rows": 3, "ready_bodies": ready_bodies}
    async with FaultyHttpServer(failing(stream, [1], "ServiceUnavailableException")) as server:
        async with writing(server, {"max_in_flight_requests": 1}, **options) as writer:
            await writer.write_many([{"id": number} for number in range(8)])
            await writer.flush(end_of_input=True)
            assert writer.statistics().acknowledged == 8
    assert rows_of(stream.records) == Counter(range(8))
    assert [[record.count(b"\n") for record in records] for records in puts(server)] == [[3, 3, 2], [3]]
    assert puts(server)[1] == [b'{"id":3}\n{"id":4}\n{"id":5}\n']


async def test_a_packed_request_of_unknown_outcome_goes_again_as_the_same_records() -> None:
    stream, lost = FirehoseFake(), [Reaction.drop_before_storing(), Reaction.refuse(500), Reaction.drop_after_storing()]

    def rule(request: HttpRequest) -> Reaction:
        return lost.pop() if lost and is_put(request) else stream.react(request)

    async with FaultyHttpServer(rule) as server:
        async with writing(server, {"max_in_flight_requests": 1}, packing="rows", packed_record_rows=3) as writer:
            await writer.write_many([{"id": number} for number in range(8)])
    assert rows_of(stream.records) == Counter(range(8))
    assert len(puts(server)) == 4
    assert all(records == puts(server)[0] for records in puts(server))


@pytest.mark.parametrize("packing", ["none", "rows"])
async def test_rows_of_an_arrow_batch_arrive_as_those_of_a_program(packing: str) -> None:
    stream = FirehoseFake()
    numbers = [*range(2500)]
    async with FaultyHttpServer(stream.react) as server:
        sink = sink_to(server, packing=packing)
        converter = sink.converter(Schema((Column("id", "bigint"),)))
        async with sink.open() as writer:
            for start in range(0, len(numbers), 1000):
                batch = pa.record_batch({"id": pa.array(numbers[start : start + 1000], pa.int64())})
                await writer.write_block(converter.apply_batch(batch, WriteContext()))
    assert rows_of(stream.records) == Counter(numbers)
    assert all(len(records) <= 500 for records in puts(server))
    if packing == "rows":
        assert [len(records) for records in puts(server)] == [5]


async def test_large_requests_stay_within_the_services_limits_and_fill_them() -> None:
    stream, row = FirehoseFake(), {"id": 1, "text": "x" * 99_000}
    async with FaultyHttpServer(stream.react) as server:
        async with writing(server, packing="rows") as writer:
            await writer.write_many([row] * 100)
    assert rows_of(stream.records) == Counter({1: 100})
    assert not [request for request in server.received if not request.stored]
    assert max(sum(map(len, records)) for records in puts(server)) > 4_000_000


async def test_a_row_larger_than_a_record_is_refused_with_its_size_and_the_limit() -> None:
    stream = FirehoseFake()
    async with FaultyHttpServer(stream.react) as server:
        async with writing(server, packing="rows", packed_record_size=5 * 1024) as writer:
            await writer.write(b"x" * 1_023_999)
            with pytest.raises(OversizedEntryError, match=r"1024001.*1024000"):
                await writer.write(b"x" * 1_024_000)
            with pytest.raises(ConversionError, match="delimiter"):
                await writer.write(b"a\nb")
    assert [*map(len, stream.records)] == [1_024_000]


@pytest.mark.parametrize("packing", ["none", "rows"])
async def test_one_row_at_fault_is_found_and_can_be_sent_again(tmp_path: Path, packing: str) -> None:
    stream = FirehoseFake()

    def rule(request: HttpRequest) -> Reaction:
        if is_put(request) and any(b'"id":7}' in record for record in records_in(request)):
            return refused("InvalidArgumentException", "The record is not what the stream takes.")
        return stream.react(request)

    async with FaultyHttpServer(rule) as server:
        kept = {"on_rejected": "dead_letter", "dead_letters": DeadLetterFiles(str(tmp_path))}
        sink = sink_to(server, kept, packing=packing)
        async with sink.open() as writer:
            await writer.write_many([{"id": number} for number in range(20)])
    assert rows_of(stream.records) == Counter(set(range(20)) - {7})
    [letter] = read_dead_letters(tmp_path)
    assert letter.code == "InvalidArgumentException"
    assert entries_of([letter], sink) == [b'{"id":7}\n']
    async with FaultyHttpServer(stream.react) as server:
        mended = sink_to(server, packing=packing)
        async with mended.open(states=[as_state([letter], mended)]) as writer:
            await writer.flush(end_of_input=True)
    assert rows_of(stream.records) == Counter(range(20))
