"""One PutRecords request of frames."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import ListBlock
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_kinesis.aggregation.answers import settle
from asyncsink_kinesis.aggregation.packing import pack
from asyncsink_kinesis.entry import KinesisEntry
from asyncsink_kinesis.put import send
from asyncsink_kinesis.wire import columns_of, places_in, result_of

if TYPE_CHECKING:
    from asyncsink_kinesis.client import KinesisClient
    from asyncsink_kinesis.options import KinesisOptions


async def put_frames(
    entries: RequestEntries[KinesisEntry], client: KinesisClient, options: KinesisOptions
) -> RequestResult:
    """Pack the rows of a request and send the frames; each row has the fate of its frame.

    :raises RequestError: the service refused the request, or what became of its rows cannot be read from the answer
    :raises OSError: the outcome is unknown; so does TimeoutError
    """
    assert client.shards is not None
    await client.shards.catch_up()
    data, keys, hash_keys = columns_of(entries.block)
    rows: list[Any] = [*zip(data, keys, repeat(None) if hash_keys is None else hash_keys, strict=False)]
    frames = pack(rows, client.shards, max_bytes=options.aggregation_max_size_in_bytes, route=entries.route)
    records = [KinesisEntry(*frame[:3]) for frame in frames]
    answer = await send(ListBlock(records, [0] * len(records)), client, options)
    return await settle(result_of(answer, len(frames)), places_in(answer), frames, rows, client.shards)
