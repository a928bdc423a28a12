"""What the real writer tells of itself."""

from __future__ import annotations

import threading

import anyio
import pytest

from asyncsink import WriterInitContext
from asyncsink.metrics import HistogramStatistics, Metrics
from asyncsink_testing import FakeDestination, FakeSink, Fault, Step
from asyncsink_testing.virtual_time import virtual

from .harness import entries, small


@virtual
async def test_a_writer_tells_what_became_of_every_request() -> None:
    metrics = Metrics()
    destination = FakeDestination([Step(latency_s=2.0), Step(Fault.THROTTLED, retry_after_s=1.0)])
    sink = FakeSink(destination, config=small())
    async with sink.create_writer(WriterInitContext(metric_group=metrics.group.add_group("fake"))) as writer:
        assert metrics.snapshot()["fake.currentSendTime"] is None
        await writer.write_many(entries(1, 3, size=10))
        await writer.write_many(entries(4, 6, size=10))
        await anyio.sleep(1.0)
        early = metrics.snapshot()
        await writer.flush(end_of_input=True)
    told = {name.removeprefix("fake."): value for name, value in metrics.snapshot().items()}
    assert (early["fake.numRecordsInFlight"], early["fake.numRecordsBuffered"]) == (3, 3)
    assert early["fake.numBytesUnacknowledged"] == 60
    assert (told["numRecordsIn"], told["numRecordsAcknowledged"], told["numRecordsUnacknowledged"]) == (6, 6, 0)
    assert (told["numRecordsOut"], told["numBytesOut"], told["numRequests"]) == (9, 90, 3)
    assert (told["numRecordsRetried"], told["numRecordsThrottled"], told["numRecordsSendErrors"]) == (3, 3, 3)
    assert told["numRequestsFailed"] == 1
    assert told["currentSendTime"] == 0.0
    assert told["batchFillRatio"] == HistogramStatistics(3, (1.0, 1.0, 1.0))
    assert told["queueTimeSeconds"].values == pytest.approx((0.0, 2.0, 3.0))
    assert told["requestTimeSeconds"].values == (0.0, 0.0, 2.0)


@virtual
async def test_without_a_registry_a_writer_measures_nothing() -> None:
    async with FakeSink(FakeDestination()).open(small()) as writer:
        await writer.write_many(entries(1, 3))
        assert writer._engine.metrics is None


@virtual
async def test_a_snapshot_may_be_taken_on_another_thread() -> None:
    metrics = Metrics()
    sink = FakeSink(FakeDestination(), config=small())
    async with sink.create_writer(WriterInitContext(metric_group=metrics.group)) as writer:
        await writer.write_many(entries(1, 3))
        await writer.flush(end_of_input=True)
        told = []
        thread = threading.Thread(target=lambda: told.append(metrics.snapshot()))
        thread.start()
        thread.join()
    assert told[0]["numRecordsAcknowledged"] == 3
