"""``ordering=strict``: the records of a key one after the other, each bound to the one before it.

With ``ordering=key`` a key's records are sent in order; the service numbers them by the time at which they reach it,
though, and a connection that is slow may let a repetition arrive late. ``SequenceNumberForOrdering`` of PutRecord makes
the number of each record larger than that of the one before. A request then holds one record, so that a second has as
many records as requests are under way in the time of an answer: 50 of them and 10 ms make 5 000, and of one key 100.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncsink.errors import RequestError
from asyncsink.request import RequestEntries, RequestResult
from asyncsink_aws.request_errors import as_request_error
from asyncsink_kinesis.entry import KinesisEntry
from asyncsink_kinesis.wire import stream_parameters

if TYPE_CHECKING:
    from asyncsink_kinesis.client import KinesisClient
    from asyncsink_kinesis.options import KinesisOptions

_REFUSED = "InvalidArgumentException"


class SequenceNumbers:
    """The last sequence number of each key, of the `most` keys that were used last.

    A key that has been forgotten, as all are in another process, begins anew: what it sent before is in the stream by
    then.
    """

    __slots__ = ("_found", "_most")

    def __init__(self, most: int = 65_536) -> None:
        self._found: dict[str, str] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._found)

    def last(self, key: str) -> str | None:
        return self._found.get(key)

    def learn(self, key: str, number: str) -> None:
        """Keep the number of a record that is stored, unless a later one of its key is known: answers may be late."""
        before = self._found.pop(key, None)
        self._found[key] = number if before is None or int(number) > int(before) else before
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]

    def forget(self, key: str) -> None:
        self._found.pop(key, None)


async def put_in_order(
    entries: RequestEntries[KinesisEntry], client: KinesisClient, options: KinesisOptions
) -> RequestResult:
    """Send one record, behind the last one of its key.

    :raises RequestError: the service refused it
    :raises OSError: the outcome is unknown; so does TimeoutError
    """
    if client.shards is not None:
        await client.shards.catch_up()
    [entry] = entries
    numbers, key = client.sequence_numbers, entry.partition_key
    last = numbers.last(key)
    try:
        answer = await _put(entry, last, client, options)
    except RequestError as error:
        if last is None or error.code != _REFUSED:
            raise
        # Perhaps for the number: of a stream that was deleted and made anew since. Without it the answer is about the
        # record itself.
        numbers.forget(key)
        answer = await _put(entry, None, client, options)
    numbers.learn(key, answer["SequenceNumber"])
    if client.shards is not None:
        client.shards.learned([answer["ShardId"]])
    return RequestResult.OK


async def _put(entry: KinesisEntry, last: str | None, client: KinesisClient, options: KinesisOptions) -> dict[str, Any]:
    parameters: dict[str, Any] = {"Data": entry.data, "PartitionKey": entry.partition_key}
    if entry.explicit_hash_key is not None:
        parameters["ExplicitHashKey"] = entry.explicit_hash_key
    if last is not None:
        parameters["SequenceNumberForOrdering"] = last
    with as_request_error("kinesis", "PutRecord", options):
        answer: dict[str, Any] = await client.aws.put_record(**stream_parameters(options.stream), **parameters)
    return answer
