"""The listing of the shards that take records."""

from __future__ import annotations

import anyio

from asyncsink_kinesis.shards.shard import open_shards

from .streams import Pages, described, evenly


def test_every_page_is_read_and_closed_shards_are_left_out() -> None:
    parent, first, second, third = *evenly(1), *evenly(3, first=1)
    pages = Pages([described(parent, closed=True), described(third)], [described(first)], [described(second)])

    found = anyio.run(lambda: open_shards(pages, {"StreamName": "orders"}))

    assert found == [first, second, third]


def test_a_token_is_given_without_the_stream_that_it_stands_for() -> None:
    pages = Pages([described(evenly(1)[0])], [])

    anyio.run(lambda: open_shards(pages, {"StreamARN": "arn:aws:kinesis:eu-west-1:1:stream/orders"}))

    first, second = pages.asked
    assert first["StreamARN"]
    assert first["ShardFilter"] == {"Type": "AT_LATEST"}
    assert second == {"NextToken": "page 1"}
