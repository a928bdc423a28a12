"""Exactly once on a real broker, which two clusters' names stand for."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from asyncsink import WriterInitContext
from asyncsink.transactions import Transaction
from asyncsink_testing.kafka import KafkaBroker
from asyncsink_testing.kafka.skipping import skipped_without_kafka

from .harness import expected
from .test_mock_clusters import Streams, batch

pytestmark = [pytest.mark.kafka_service, pytest.mark.timeout(120)]

TRANSACTION = Transaction("0123456789abcdef", 1)


def test_two_names_of_one_cluster_have_transactions_of_their_own(tmp_path: Path) -> None:
    with skipped_without_kafka(), KafkaBroker() as broker:
        broker.create_topic("both", 2)
        streams = Streams(tmp_path, "both", {"A": broker, "B": broker})
        streams.are_in("A", "B")
        sink = streams.sink(delivery_guarantee="exactly-once")

        async def use() -> None:
            committer = sink.create_committer()
            assert committer is not None
            await committer.check_destination()
            async with sink.create_writer(WriterInitContext(transaction=TRANSACTION)) as writer:
                await writer.write_batch(batch(expected(range(1000))))
                prepared = await writer.prepare_commit(True)
                assert {each.cluster.name: each.transaction.records for each in prepared} == {"A": 500, "B": 500}
                assert len({each.transaction.transactional_id for each in prepared}) == 2
            assert len(await committer.open_transactions(TRANSACTION)) == 2
            assert streams.read("A") == []
            await committer.check(prepared)
            assert await committer.commit(prepared) == []
            assert await committer.commit(prepared) == []
            await committer.sweep(TRANSACTION, ())
            await committer.aclose()

        anyio.run(use)
        assert sorted(each or b"" for each in streams.read("A")) == expected(range(1000))
