"""What a writer is lent: the connection to the service, and what the stream has told of itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asyncsink_aws.client import connect
from asyncsink_kinesis.shards.reading import read_shards
from asyncsink_kinesis.stream import StreamDescription, describe
from asyncsink_kinesis.strict_order import SequenceNumbers
from asyncsink_kinesis.wire import decode_answer, decode_places

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

    from asyncsink.config import AsyncSinkWriterConfig
    from asyncsink_kinesis.options import KinesisOptions
    from asyncsink_kinesis.shards.shard_map import ShardMap


@dataclass(frozen=True)
class KinesisClient:
    """A client of one stream.

    :ivar aws: the client of aiobotocore
    :ivar stream: what the stream told when the client was made
    :ivar shards: its shards and their ranges of hash keys, where `per_shard_limits` or `aggregation` ask for them
    :ivar sequence_numbers: the last of each key, for ``ordering=strict``
    """

    aws: AioBaseClient
    stream: StreamDescription
    shards: ShardMap | None = None
    sequence_numbers: SequenceNumbers = field(default_factory=SequenceNumbers)


@asynccontextmanager
async def opened(options: KinesisOptions, config: AsyncSinkWriterConfig) -> AsyncIterator[KinesisClient]:
    """A client of the stream that `options` name, once it can be written to; raises as :func:`describe` does."""
    decode = decode_places if options.by_shard else decode_answer
    async with connect(
        options,
        "kinesis",
        max_in_flight=config.max_in_flight_requests,
        ready_bodies=decode if options.ready_bodies else None,
    ) as aws:
        stream = await describe(aws, options, config.retry.timeout_s)
        shards = await read_shards(aws, options, config.retry.timeout_s) if options.by_shard else None
        yield KinesisClient(aws, stream, shards)
