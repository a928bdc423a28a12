"""The map of a stream's shards, over a client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from asyncsink.errors import DestinationUnavailableError, FatalRequestError, RequestError
from asyncsink.failures import FailureKind
from asyncsink_aws.request_errors import as_request_error
from asyncsink_kinesis.errors import ACCESS_DENIED, ERRORS
from asyncsink_kinesis.shards.shard import Shard, open_shards
from asyncsink_kinesis.shards.shard_map import REFRESH_TIMEOUT_S, ShardMap
from asyncsink_kinesis.wire import stream_parameters

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

    from asyncsink_kinesis.options import KinesisOptions

POLL_S = 1.0
"""Time between two attempts; many tasks may begin at once, and an account has 1 000 listings a second."""


async def read_shards(
    client: AioBaseClient, options: KinesisOptions, wait_s: float, poll_s: float = POLL_S
) -> ShardMap:
    """The shards of the stream that `options` name, for a writer that cannot do without.

    :param wait_s: for how long to try
    :raises FatalRequestError: they may not be listed, or there is no such stream; names the remedy
    :raises DestinationUnavailableError: there is no answer after `wait_s`
    """

    async def list_open() -> Sequence[Shard]:
        with as_request_error("kinesis", "ListShards", options):
            return await open_shards(client.list_shards, stream_parameters(options.stream))

    failure: Exception | None = None
    with anyio.move_on_after(wait_s):
        while True:
            try:
                with anyio.fail_after(REFRESH_TIMEOUT_S):
                    return await ShardMap.read(list_open)
            except (RequestError, OSError, ValueError) as error:
                failure = _unless_fatal(error, options)
            await anyio.sleep(poll_s)
    raise DestinationUnavailableError(
        f"the shards of stream {options.stream.short_name!r} could not be listed within {wait_s:g} s: {failure}"
    ) from failure


def _unless_fatal(error: Exception, options: KinesisOptions) -> Exception:
    """The error, if another attempt may go better.

    :raises FatalRequestError: it will not
    """
    if not isinstance(error, RequestError) or ERRORS.kind_of(error.code) in (
        FailureKind.THROTTLED,
        FailureKind.RETRYABLE,
    ):
        return error
    remedy = ERRORS.remedy(error.code)
    if error.code == ACCESS_DENIED:
        asked = "aggregation=kpl" if options.aggregation == "kpl" else "perShardLimits"
        remedy = f"Allow the sender kinesis:ListShards, or do without {asked}, which needs it."
    raise FatalRequestError(f"{str(error).rstrip('.')}. {remedy}") from error
