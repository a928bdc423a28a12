"""What follows when the brokers do not accept any more who we are."""

from __future__ import annotations

import anyio
import pytest

from asyncsink.errors import RequestError
from asyncsink_kafka.client import connect
from asyncsink_kafka.client.handover import Handover
from asyncsink_testing.kafka import MockCluster

from .batches import Told, batch_of, config_of, left_running, options_for

pytestmark = pytest.mark.anyio


async def test_batches_under_way_and_later_ones_fail_with_the_refusal(handover: Handover) -> None:
    refusal = RequestError("SASL_AUTHENTICATION_FAILED", "no such user")
    codes: list[str] = []

    class Refuses(Told):
        def started(self, records: int, size_in_bytes: int) -> None:
            client._refuse(refusal)

    async def send(partition: int) -> None:
        with pytest.raises(RequestError, match="no such user") as caught:
            await client.send("t", partition, batch_of(["a"]))
        codes.append(caught.value.code)

    with MockCluster(topics={"t": 2}) as cluster, anyio.fail_after(5):
        async with connect(options_for(cluster.bootstrap), config_of(), handover) as client:
            await client.partitions("t")
            cluster.delay_answers(1, 60_000)
            client.observer = Refuses()
            async with anyio.create_task_group() as group:
                for partition in range(2):
                    group.start_soon(send, partition)
            await send(0)
            assert client.last_error == "SASL_AUTHENTICATION_FAILED: no such user"
            await client.abort()

    assert codes == ["SASL_AUTHENTICATION_FAILED"] * 3
    assert await left_running() == []
