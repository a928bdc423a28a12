"""What a writer is lent: the connection to the service, and what the stream has told of itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asyncsink_aws.client import connect
from asyncsink_aws.ready_bodies import register
from asyncsink_kinesis.stream import StreamDescription, describe
from asyncsink_kinesis.wire import decode_answer, decode_places

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

    from asyncsink.config import AsyncSinkWriterConfig
    from asyncsink_kinesis.options import KinesisOptions
    from asyncsink_kinesis.shards import ShardMap


@dataclass(frozen=True)
class KinesisClient:
    """A client of one stream.

    :ivar aws: the client of aiobotocore
    :ivar stream: what the stream told when the client was made
    :ivar shards: its shards and their ranges of hash keys, where `per_shard_limits` or `aggregation` ask for them
    :ivar ready_bodies: whether requests go past botocore's serializer and parser
    """

    aws: AioBaseClient
    stream: StreamDescription
    shards: ShardMap | None = None
    ready_bodies: bool = True


@asynccontextmanager
async def opened(
    options: KinesisOptions, config: AsyncSinkWriterConfig, *, ready_bodies: bool = True
) -> AsyncIterator[KinesisClient]:
    """A client of the stream that `options` name, once it can be written to; raises as :func:`describe` does.

    :param ready_bodies: False has botocore build every request and parse every answer
    """
    async with connect(options, "kinesis", max_in_flight=config.max_in_flight_requests, ready_bodies=False) as aws:
        if ready_bodies:
            places = options.per_shard_limits or options.strict_ordering
            register(aws, "kinesis", "PutRecords", decode_places if places else decode_answer)
        stream = await describe(aws, options, config.retry.timeout_s)
        yield KinesisClient(aws, stream, None, ready_bodies)
