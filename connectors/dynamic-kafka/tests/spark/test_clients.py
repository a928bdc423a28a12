"""What Spark's workers keep from one micro-batch to the next."""

from __future__ import annotations

from typing import Any

import anyio

from asyncsink import WriterInitContext
from asyncsink.spark.clients import WorkerClients
from asyncsink_dynamic_kafka import DynamicKafkaSink

from .streams import Stream


def test_clients_and_discovery_are_kept_over_micro_batches(stream: Stream) -> None:
    connected = []

    class Counting(WorkerClients):
        def lease(self, fingerprint: str, connect: Any) -> Any:
            def counted() -> Any:
                connected.append(fingerprint.rpartition("/")[2])
                return connect()

            return super().lease(fingerprint, counted)

    async def use() -> None:
        async with anyio.create_task_group() as group:
            clients = Counting(group)
            for batch_id in range(3):
                sink = DynamicKafkaSink.from_options(stream.options)
                context = WriterInitContext(query_id="q", batch_id=batch_id, clients=clients)
                async with sink.create_writer(context) as writer:
                    await writer.write_many([b"%02d" % number for number in range(10 * batch_id, 10 * batch_id + 10)])
            group.cancel_scope.cancel()

    anyio.run(use)
    assert sorted(connected) == ["A", "B", "metadata"]
    assert stream.union() == [b"%02d" % number for number in range(30)]
