"""Rows that the option ignoreCodes gives up, over real sockets: acknowledged, and counted by their writer."""

from __future__ import annotations

import pytest

from asyncsink.metrics import Metrics
from asyncsink_http import HttpSink
from asyncsink_testing import FaultyHttpServer, Reaction

pytestmark = pytest.mark.anyio


async def test_each_writer_counts_the_rows_that_it_has_given_up() -> None:
    groups = [Metrics().group, Metrics().group]
    async with FaultyHttpServer([Reaction.refuse(404), Reaction.OK, Reaction.refuse(404)]) as server:
        options = {"url": server.url, "ignoreCodes": "404", "maxBatchSize": "5", "maxInFlightRequests": "1"}
        sink = HttpSink.from_options(options)
        for group, rows in zip(groups, (10, 3), strict=True):
            async with sink.open(metric_group=group) as writer:
                await writer.write_many([{"id": number} for number in range(rows)])
                await writer.flush(end_of_input=True)
                assert writer.statistics().acknowledged == rows
    assert [group.counter("ignoredRows").count for group in groups] == [5, 3]
