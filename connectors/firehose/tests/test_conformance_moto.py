"""The conformance kit against moto's Firehose, behind the faults of the fake: for the lane of services."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial

import pytest
from anyio import to_thread

from asyncsink_firehose import FirehoseSink
from asyncsink_testing import Destination
from asyncsink_testing.aws import AwsUnavailable, FirehoseDestinations, MotoServer

from .conformance import FirehoseConformance
from .streams import KEYS

pytestmark = pytest.mark.aws_service


@pytest.fixture(scope="module")
def moto() -> Iterator[MotoServer]:
    with ExitStack() as stack:
        try:
            yield stack.enter_context(MotoServer())
        except AwsUnavailable as reason:
            pytest.skip(str(reason))


class Destinations:
    """Opens delivery streams of moto's, and takes each away again: an account may have 50."""

    def __init__(self, moto: MotoServer) -> None:
        self._moto, self._destinations = moto, FirehoseDestinations(moto)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Destination]:
        async with self._destinations() as destination:
            yield destination
        await to_thread.run_sync(
            partial(self._moto.firehose.delete_delivery_stream, DeliveryStreamName=destination.fake.name)
        )


@pytest.fixture(scope="module")
def destinations(moto: MotoServer) -> Destinations:
    return Destinations(moto)


class TestFirehoseMoto(FirehoseConformance):
    destination_level = "service"

    @pytest.fixture
    def destination(self, destinations: Destinations) -> Destinations:
        return destinations


@pytest.mark.parametrize("packing", ["none", "rows"])
def test_every_row_is_a_line_of_what_is_delivered(moto: MotoServer, packing: str) -> None:
    stream = f"lines-{packing}"
    moto.create_delivery_stream(stream)
    sink = FirehoseSink(delivery_stream=stream, packing=packing, endpoint=moto.endpoint, region=moto.region, **KEYS)
    with sink.open_blocking() as writer:
        for number in range(2000):
            writer.write({"id": number})
    delivered = [line for each in moto.delivered(stream) for line in each.splitlines()]
    assert Counter(json.loads(line)["id"] for line in delivered) == Counter(range(2000))
