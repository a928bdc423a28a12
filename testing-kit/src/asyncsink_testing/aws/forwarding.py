"""Services of somebody else's behind a scripted server: what is to be stored is handed on, and read back from there."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from http.client import HTTPConnection
from itertools import count
from typing import Any, Protocol
from urllib.parse import urlsplit

import anyio
from anyio.to_thread import run_sync

from asyncsink_testing.aws.calls import CONTENT_TYPE, AwsCall
from asyncsink_testing.aws.destinations import FirehoseDestination, KinesisDestination
from asyncsink_testing.aws.fake import AwsFake
from asyncsink_testing.aws.firehose_fake import FirehoseFake
from asyncsink_testing.aws.kinesis_fake import KinesisFake
from asyncsink_testing.aws.kinesis_reader import KinesisReader
from asyncsink_testing.aws.moto_server import MotoServer
from asyncsink_testing.faults import Fault
from asyncsink_testing.http_server import Reaction

_ANSWER_S = 30.0
_UNSIGNED = "0" * 64


class KinesisService(Protocol):
    """:class:`KinesisLocal` and :class:`MotoServer` are such."""

    region: str

    @property
    def endpoint(self) -> str: ...

    @property
    def client(self) -> Any: ...

    def create_stream(self, name: str, shards: int = 1) -> None: ...


class _Forwarding(AwsFake):
    """The calls of a fake go on to a service at this endpoint, one at a time and in their order."""

    _endpoint: str
    _turn: anyio.Lock
    _alone: threading.Lock

    def describe(self, call: AwsCall) -> Reaction | None:
        return Reaction(later=partial(self._handed_on, call))

    def store(self, call: AwsCall, failed: Mapping[int, Fault]) -> Reaction:
        if len(failed) == len(self.records_in(call)):
            return super().store(call, failed)
        return Reaction(later=partial(self._store, call, failed))

    async def _store(self, call: AwsCall, failed: Mapping[int, Fault]) -> Reaction:
        if not failed:
            return self._sound(await self._handed_on(call))
        records = self.records_in(call)
        kept = [each for at, each in enumerate(records) if at not in failed]
        handed_on = AwsCall(call.target, call.operation, {**call.parameters, "Records": kept})
        answer = self._sound(await self._handed_on(handed_on))
        stored = iter(json.loads(answer.body)[self.results])
        told = [self.error(failed[at], each) if at in failed else next(stored) for at, each in enumerate(records)]
        return self.told(call, told)

    def _sound(self, answer: Reaction) -> Reaction:
        """What stands in the list of requests as stored is."""
        if answer.status != 200:
            raise RuntimeError(f"the service at {self._endpoint} did not store what it was handed: {answer.body!r}")
        return answer

    async def _handed_on(self, call: AwsCall) -> Reaction:
        async with self._turn:
            return await run_sync(self._forward, call)

    def _forward(self, call: AwsCall) -> Reaction:
        credential = f"AKIDEXAMPLE/20260101/{self.region}/{self.service}/aws4_request"
        headers = {
            "Content-Type": CONTENT_TYPE,
            "X-Amz-Target": f"{call.target}.{call.operation}",
            "X-Amz-Date": "20260101T000000Z",
            # The services read the region from it, and nothing else.
            "Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature={_UNSIGNED}",
        }
        address = urlsplit(self._endpoint)
        connecting = closing(HTTPConnection(str(address.hostname), address.port, timeout=_ANSWER_S))
        # moto gives two records that come at once the same sequence number, and keeps one of them.
        with self._alone, connecting as connection:
            connection.request("POST", "/", json.dumps(call.parameters), headers)
            answer = connection.getresponse()
            return Reaction(status=answer.status, headers={"Content-Type": CONTENT_TYPE}, body=answer.read())


class ForwardingKinesis(_Forwarding, KinesisFake):
    """A stream of another service behind this one's signatures, limits and faults.

    Several may stand before one stream at once: each reads back what it has handed on itself, by the places that the
    service has told.

    :param alone: of all that stand before this service
    """

    def __init__(self, service: KinesisService, name: str, alone: threading.Lock) -> None:
        super().__init__(name, region=service.region)
        self._endpoint, self._turn, self._alone = service.endpoint, anyio.Lock(), alone
        self._reader = KinesisReader(service.client, name, "LATEST")
        self._read: list[bytes] = []
        self._places: set[tuple[str, str]] = set()
        described = service.client.describe_stream_summary(StreamName=name)
        self._arn = str(described["StreamDescriptionSummary"]["StreamARN"])
        self.received = self._received

    @property
    def arn(self) -> str:
        return self._arn

    async def _received(self) -> Sequence[bytes]:
        async with self._turn:
            fresh = await run_sync(self._reader.fresh)
        self._read += [each.data for each in fresh if (each.shard_id, each.sequence_number) in self._places]
        return list(self._read)

    def _sound(self, answer: Reaction) -> Reaction:
        told = json.loads(super()._sound(answer).body)
        self._places.update((each["ShardId"], each["SequenceNumber"]) for each in told.get("Records", [told]))
        return answer


class ForwardingFirehose(_Forwarding, FirehoseFake):
    """A delivery stream of moto's behind this one's signatures, limits and faults.

    Every record has to end with a newline: by that they are told apart in the objects that are delivered.
    """

    def __init__(self, moto: MotoServer, name: str) -> None:
        super().__init__(name, region=moto.region)
        self._moto, self._endpoint = moto, moto.endpoint
        self._turn, self._alone = anyio.Lock(), threading.Lock()
        self.received = self._received

    async def _received(self) -> Sequence[bytes]:
        async with self._turn:
            objects = await run_sync(self._moto.delivered, self.name)
        return [line for each in objects for line in each.splitlines(keepends=True)]


class KinesisDestinations:
    """Opens destinations on one service, each of which sees what has come through itself.

    Give the object itself to the kit: it is the function that opens a destination. They share one stream, which takes
    most of a second to make.

    :param shards: of the stream
    """

    def __init__(self, service: KinesisService, shards: int = 2) -> None:
        self._service, self._name = service, f"rows-{uuid.uuid4().hex[:8]}"
        self._alone = threading.Lock()
        service.create_stream(self._name, shards)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[KinesisDestination]:
        fake = await run_sync(ForwardingKinesis, self._service, self._name, self._alone)
        async with KinesisDestination(fake).listening() as destination:
            yield destination


class FirehoseDestinations:
    """Likewise for moto's Firehose, each with a delivery stream that nobody has used before."""

    def __init__(self, moto: MotoServer) -> None:
        self._moto, self._numbers = moto, count(1)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[FirehoseDestination]:
        name = f"rows-{next(self._numbers)}-{uuid.uuid4().hex[:8]}"
        await run_sync(self._moto.create_delivery_stream, name)
        async with FirehoseDestination(ForwardingFirehose(self._moto, name)).listening() as destination:
            yield destination
