"""Topics that cannot be looked at, or not yet, and rows that name their own."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from asyncsink import DestinationUnavailableError, RequestError
from asyncsink.errors import FatalRequestError
from asyncsink_kafka import KafkaRecord
from asyncsink_testing.virtual_time import virtual

from .harness import PARTITIONS, FakeClient, expected, records, writer_of


class Blocked(FakeClient):
    """Answers nothing about a topic but refusals, so many times."""

    def __init__(self, code: str, times: int) -> None:
        super().__init__()
        self.code, self.times = code, times

    async def partitions(self, topic: str, partition: int = 0) -> tuple[int, Sequence[int]]:
        if self.times:
            self.times -= 1
            raise RequestError(self.code, "not now")
        return PARTITIONS, range(PARTITIONS)


@virtual
async def test_a_topic_that_may_not_be_seen_fails_with_the_remedy() -> None:
    with pytest.raises(FatalRequestError, match=r"'orders'.*TOPIC_AUTHORIZATION_FAILED.*\. Allow the user"):
        async with writer_of(Blocked("TOPIC_AUTHORIZATION_FAILED", 1)) as writer:
            await writer.write(b"a")


@virtual
async def test_what_may_pass_is_asked_again() -> None:
    client = Blocked("NETWORK_EXCEPTION", 20)
    async with writer_of(client) as writer:
        await writer.write(b"a")
    assert client.values == [b"a"]


@virtual
async def test_brokers_that_say_nothing_of_a_topic_for_too_long_are_unavailable() -> None:
    began_s = anyio.current_time()
    with pytest.raises(DestinationUnavailableError, match=r"topic 'orders' for 10 s .*retry.timeout"):
        async with writer_of(Blocked("NETWORK_EXCEPTION", 10**6)) as writer:
            await writer.write(b"a")
    assert anyio.current_time() - began_s < 12


@virtual
async def test_records_that_name_their_topics_go_there_in_order() -> None:
    client = FakeClient()
    client.topics = dict.fromkeys(["a", "b"], 1)
    async with writer_of(client, topic=None) as writer:
        for number in range(300):
            await writer.write(KafkaRecord(value=b"%06d" % number, topic="ab"[number % 2], timestamp=number))
    for topic in "ab":
        assert [each.value for each in client.stored[topic, 0]] == expected(range("ab".index(topic), 300, 2))
        assert [each.timestamp for each in client.stored[topic, 0]] == [*range("ab".index(topic), 300, 2)]


@virtual
async def test_a_records_own_partition_is_kept() -> None:
    client = FakeClient()
    async with writer_of(client) as writer:
        for each in records(range(10), partition=2):
            await writer.write(each)
    assert [each.value for each in client.stored["orders", 2]] == expected(range(10))


@virtual
async def test_the_client_is_told_which_partition_rows_ask_for_as_it_may_be_new() -> None:
    client = FakeClient()
    client.topics["orders"] = 9
    async with writer_of(client) as writer:
        await writer.write_many([*records([1], partition=8), *records([2], partition=3)])
    assert client.highest == 8
    assert [each.value for each in client.stored["orders", 8]] == expected([1])
