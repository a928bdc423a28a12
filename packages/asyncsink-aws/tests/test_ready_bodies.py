"""Ready bodies on the wire, through aiobotocore: what arrives, what comes back, and what botocore still does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError

from asyncsink import ConfigurationError
from asyncsink_aws.bodies import Texts, body_of
from asyncsink_aws.ready_bodies import ReadyBody, register
from asyncsink_testing import FaultyHttpServer, HttpRequest, Reaction
from asyncsink_testing.aws import KinesisFake

pytestmark = pytest.mark.anyio

STORED = {"FailedRecordCount": 0}
SESSION = get_session()  # which keeps the services' models, read once


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # aiohttp's


def decode(body: bytes) -> dict[str, Any] | None:
    return dict(STORED) if b'"FailedRecordCount": 0' in body or b'"FailedRecordCount":0' in body else None


@asynccontextmanager
async def connected(
    reaction: Callable[[HttpRequest], Reaction], *, service: str = "kinesis", ready: bool = True, **config: Any
) -> AsyncIterator[tuple[list[HttpRequest], Any]]:
    """A client, and what has arrived of its requests."""
    requests: list[HttpRequest] = []

    def react(request: HttpRequest) -> Reaction:
        requests.append(request)
        return reaction(request)

    async with FaultyHttpServer(react) as server:
        made = SESSION.create_client(
            service,
            region_name="us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="c2VjcmV0",
            config=AioConfig(
                **{"parameter_validation": False, "retries": {"mode": "standard", "total_max_attempts": 1}, **config}
            ),
        )
        async with made as client:
            if ready:
                register(client, "kinesis", "PutRecords", decode)
            yield requests, client


def answered(body: bytes, status: int = 200) -> Callable[[HttpRequest], Reaction]:
    return lambda request: Reaction(status=status, body=body, headers={"x-amzn-RequestId": "id-1"})


def body(count: int = 2, size: int = 3) -> bytes:
    return body_of({"StreamName": "clicks"}, [b"x" * size] * count, {"PartitionKey": ["a"] * count})


async def test_the_service_stores_what_a_ready_body_holds() -> None:
    fake = KinesisFake("clicks", secrets={"AKIDEXAMPLE": "c2VjcmV0"})  # which checks that the whole body is signed
    async with connected(fake.react) as (_, client):
        answer = await client.put_records(StreamName="clicks", Records=ReadyBody(body()))
    assert {**STORED, "ResponseMetadata": answer["ResponseMetadata"]} == answer
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert [(record.data, record.partition_key) for record in fake.records] == [(b"xxx", "a")] * 2


async def test_a_ready_body_is_the_request_that_botocore_makes() -> None:
    records = [{"Data": b"\x00\xff", "PartitionKey": "ü"}, {"Data": b"2", "PartitionKey": "b", "ExplicitHashKey": "7"}]
    texts: dict[str, Texts] = {"PartitionKey": ["ü", "b"], "ExplicitHashKey": [None, "7"]}
    ready = body_of({"StreamName": "clicks"}, [b"\x00\xff", b"2"], texts)
    async with connected(answered(b'{"FailedRecordCount":0,"Records":[]}')) as (requests, client):
        await client.put_records(StreamName="clicks", Records=ReadyBody(ready))
        await client.put_records(StreamName="clicks", Records=records)
        ours, botocore = requests
    assert json.loads(ours.body) == json.loads(botocore.body)
    changing = {"content-length", "authorization", "x-amz-date", "amz-sdk-invocation-id"}
    assert {name: value for name, value in ours.headers.items() if name not in changing} == {
        name: value for name, value in botocore.headers.items() if name not in changing
    }
    assert ours.body == ready


async def test_an_answer_that_says_stored_is_not_parsed() -> None:
    spoilt = b'{"FailedRecordCount":0,"Records":[this is no JSON'
    async with connected(answered(spoilt)) as (_, client):
        answer = await client.put_records(StreamName="clicks", Records=ReadyBody(body()))
    assert {"FailedRecordCount", "ResponseMetadata"} == answer.keys()


async def test_what_decode_leaves_alone_is_parsed_by_botocore() -> None:
    mixed = b'{"FailedRecordCount":1,"Records":[{"SequenceNumber":"1","ShardId":"s"},{"ErrorCode":"InternalFailure"}]}'
    async with connected(answered(mixed)) as (_, client):
        answer = await client.put_records(StreamName="clicks", Records=ReadyBody(body()))
    assert (answer["FailedRecordCount"], answer["Records"][1]["ErrorCode"]) == (1, "InternalFailure")


async def test_an_error_stays_botocores() -> None:
    refusal = b'{"__type":"com.amazonaws.kinesis#ResourceNotFoundException","message":"no \\"FailedRecordCount\\":0"}'
    async with connected(answered(refusal, 400)) as (_, client):
        with pytest.raises(client.exceptions.ResourceNotFoundException) as caught:
            await client.put_records(StreamName="clicks", Records=ReadyBody(body()))
    assert isinstance(caught.value, ClientError)
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"


async def test_other_operations_and_lists_go_as_ever() -> None:
    fake = KinesisFake("clicks")
    async with connected(fake.react) as (_, client):
        await client.put_record(StreamName="clicks", Data=b"one", PartitionKey="a")
        answer = await client.put_records(StreamName="clicks", Records=[{"Data": b"two", "PartitionKey": "b"}])
    assert answer["FailedRecordCount"] == 0
    assert [record.data for record in fake.records] == [b"one", b"two"]


@pytest.mark.parametrize("count", [1, 5])
async def test_a_body_of_megabytes_goes_without_a_warning(count: int) -> None:
    ready = body(count, 1_000_000)
    fake = KinesisFake("clicks")  # which checks the signature
    async with connected(fake.react) as (requests, client):
        assert (await client.put_records(StreamName="clicks", Records=ReadyBody(ready)))["FailedRecordCount"] == 0
        assert requests[0].body == ready


async def test_bodies_of_calls_at_once_stay_apart() -> None:
    async with connected(answered(b'{"FailedRecordCount":0}')) as (requests, client):

        async def send(number: int) -> None:
            ready = body_of({"StreamName": "clicks"}, [b"%d" % number], {"PartitionKey": ["a"]})
            await client.put_records(StreamName="clicks", Records=ReadyBody(ready))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(send, number)
        sent = {request.body for request in requests}
    assert sent == {body_of({"StreamName": "clicks"}, [b"%d" % each], {"PartitionKey": ["a"]}) for each in range(20)}


async def test_a_client_that_was_not_prepared_refuses_a_ready_body() -> None:
    async with connected(answered(b"{}"), ready=False) as (requests, client):
        with pytest.raises(TypeError, match="ReadyBody"):
            await client.put_records(StreamName="clicks", Records=ReadyBody(body()))
        assert not requests


async def test_a_client_of_another_service_is_refused() -> None:
    async with connected(answered(b"{}"), service="firehose", ready=False) as (_, client):
        with pytest.raises(
            ConfigurationError, match="ready bodies for kinesis were to be registered on a client of fi"
        ):
            register(client, "kinesis", "PutRecords", decode)


async def test_an_operation_without_records_is_refused() -> None:
    async with connected(answered(b"{}"), ready=False) as (_, client):
        with pytest.raises(ConfigurationError, match="sends kinesis's PutRecord by the protocol json, and"):
            register(client, "kinesis", "PutRecord", decode)


def test_the_text_of_a_ready_body_shows_no_payload() -> None:
    assert repr(ReadyBody(b'{"secret":1}')) == "<ReadyBody of 12 bytes>"


async def test_botocore_emits_the_events_that_ready_bodies_hang_on() -> None:
    """If this fails, botocore has changed its events: see what the module ready_bodies asks of each."""
    seen: list[tuple[str, set[str]]] = []

    def note(event_name: str, **given: Any) -> None:
        seen.append((event_name, set(given)))

    async with connected(answered(b'{"FailedRecordCount":0,"Records":[]}'), ready=False) as (_, client):
        for event in ("provide-client-params", "before-call", "request-created", "before-parse"):
            client.meta.events.register(f"{event}.kinesis.PutRecords", note)
        await client.put_records(StreamName="clicks", Records=[{"Data": b"1", "PartitionKey": "a"}])
    needed = [
        ("provide-client-params.kinesis.PutRecords", {"params", "context"}),
        ("before-call.kinesis.PutRecords", {"params", "context"}),
        ("request-created.kinesis.PutRecords", {"request"}),  # where it is signed, with the body that it has by then
        ("before-parse.kinesis.PutRecords", {"response_dict", "customized_response_dict"}),
    ]
    assert [name for name, _ in seen] == [name for name, _ in needed]
    assert [needs - given for (_, given), (_, needs) in zip(seen, needed, strict=True)] == [set()] * 4
