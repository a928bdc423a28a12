"""One PutRecords request: its body, its sending, and what its answer says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncsink.blocks import EntryBlock
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_aws.ready_bodies import ReadyBody
from asyncsink_aws.request_errors import as_request_error
from asyncsink_kinesis.entry import KinesisEntry
from asyncsink_kinesis.wire import places_in, plain_records, ready_body, result_of, stream_parameters

if TYPE_CHECKING:
    from asyncsink_kinesis.client import KinesisClient
    from asyncsink_kinesis.options import KinesisOptions


async def put_records(
    entries: RequestEntries[KinesisEntry], client: KinesisClient, options: KinesisOptions
) -> RequestResult:
    """Send the entries as they are, one record each.

    :raises RequestError: the service refused the request, or its answer cannot be read
    :raises OSError: the outcome is unknown; so does TimeoutError
    """
    if client.shards is not None:
        await client.shards.catch_up()
    answer = await send(entries.block, client, options)
    result = result_of(answer, len(entries))
    if client.shards is not None:
        client.shards.learned(places_in(answer))
    return result


async def send(block: EntryBlock[KinesisEntry], client: KinesisClient, options: KinesisOptions) -> Mapping[str, Any]:
    """Send these records and nothing more; raises as :func:`put_records` does.

    :returns: what botocore or the decoder of the answer made of it
    """
    stream = stream_parameters(options.stream)
    records: Any = ReadyBody(ready_body(stream, block)) if options.ready_bodies else plain_records(block)
    with as_request_error("kinesis", "PutRecords", options):
        answer: Mapping[str, Any] = await client.aws.put_records(**stream, Records=records)
    return answer
