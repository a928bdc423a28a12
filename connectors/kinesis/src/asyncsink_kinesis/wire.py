"""PutRecords on the wire: the body of a request, and what an answer says of each record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from asyncsink.arrow import ArrowBlock
from asyncsink.blocks import EntryBlock
from asyncsink.errors import RequestError
from asyncsink.failures import Failure
from asyncsink.request import RequestResult
from asyncsink_aws.arn import StreamName
from asyncsink_aws.bodies import body_of
from asyncsink_kinesis.columns import DATA, HASH_KEY, KEY
from asyncsink_kinesis.entry import KinesisEntry
from asyncsink_kinesis.errors import UNREADABLE_ANSWER

# An error's message cannot hold this text: within a string of JSON its quotes are escaped.
_ALL_STORED = re.compile(rb'"FailedRecordCount"\s*:\s*0\s*[,}]')

_STORED: dict[str, Any] = {"FailedRecordCount": 0, "Records": ()}

Columns = tuple[Sequence[bytes], Sequence[str], Sequence[str | None] | None]
"""Payloads, partition keys and, if there are any, explicit hash keys of a request's records."""


class _Record(msgspec.Struct, gc=False):
    ErrorCode: str | None = None
    ErrorMessage: str | None = None
    ShardId: str | None = None
    SequenceNumber: str | None = None


class _Answer(msgspec.Struct, gc=False):
    Records: list[_Record]
    FailedRecordCount: int | None = None


_decode = msgspec.json.Decoder(_Answer).decode


def stream_parameters(stream: StreamName) -> dict[str, str]:
    """How a request names its stream."""
    return {"StreamName": stream.name} if stream.name is not None else {"StreamARN": str(stream.arn)}


def columns_of(block: EntryBlock[KinesisEntry]) -> Columns:
    """The parts of a block's records, each in a sequence of its own."""
    if isinstance(block, ArrowBlock):
        batch = block.batch
        hash_keys = batch.column(HASH_KEY).to_pylist() if batch.num_columns > HASH_KEY else None
        return batch.column(DATA).to_pylist(), batch.column(KEY).to_pylist(), hash_keys
    data, keys, hash_keys = zip(*block, strict=True)
    return data, keys, hash_keys if any(each is not None for each in hash_keys) else None


def ready_body(stream: Mapping[str, str], block: EntryBlock[KinesisEntry]) -> bytes:
    """The JSON body of a PutRecords request."""
    data, keys, hash_keys = columns_of(block)
    texts: dict[str, Sequence[str] | Sequence[str | None]] = {"PartitionKey": keys}
    if hash_keys is not None:
        texts["ExplicitHashKey"] = hash_keys
    return body_of(stream, data, texts)


def plain_records(block: EntryBlock[KinesisEntry]) -> list[dict[str, Any]]:
    """The records as botocore's own serializer takes them: what :func:`ready_body` says in JSON."""
    data, keys, hash_keys = columns_of(block)
    records: list[dict[str, Any]] = [
        {"Data": payload, "PartitionKey": key} for payload, key in zip(data, keys, strict=True)
    ]
    for record, hash_key in zip(records, hash_keys or (), strict=False):
        if hash_key is not None:
            record["ExplicitHashKey"] = hash_key
    return records


def decode_answer(body: bytes) -> dict[str, Any] | None:
    """An answer that stores every record, without its records: most are. None for every other."""
    return _STORED if _ALL_STORED.search(body) else _decoded(body)


def decode_places(body: bytes) -> dict[str, Any] | None:
    """An answer with shard and sequence number of each record, for who wants to know them."""
    return _decoded(body)


def _decoded(body: bytes) -> dict[str, Any] | None:
    try:
        answer = _decode(body)
    except msgspec.MsgspecError:
        return None  # botocore parses it, and says what is wrong with it
    return {"FailedRecordCount": answer.FailedRecordCount, "Records": answer.Records}


def result_of(answer: Mapping[str, Any], count: int) -> RequestResult:
    """What became of each of `count` records, by what botocore or :func:`decode_answer` made of an answer.

    The count of failures in an answer is not enough: what decides is the code of each record.

    :raises RequestError: the answer does not speak of every record, so that what became of them is unknown
    """
    if answer.get("Records") == ():  # botocore has copied our answer; its own are lists
        return RequestResult.OK
    records = answer.get("Records") or ()
    if len(records) != count:
        raise RequestError(UNREADABLE_ANSWER, f"the answer speaks of {len(records)} records where {count} were sent")
    failed = {index: failure for index, each in enumerate(records) if (failure := _failure(each)) is not None}
    if not failed and answer.get("FailedRecordCount"):
        raise RequestError(
            UNREADABLE_ANSWER,
            f"the answer says that {answer['FailedRecordCount']} records failed, and gives no code for any",
        )
    return RequestResult(failed) if failed else RequestResult.OK


def places_in(answer: Mapping[str, Any]) -> list[str | None]:
    """The shard of each record, None where it was refused; nothing in an answer that was not taken apart."""
    return [each.ShardId if isinstance(each, _Record) else each.get("ShardId") for each in answer.get("Records") or ()]


def _failure(record: Any) -> Failure | None:
    if isinstance(record, _Record):
        code, message = record.ErrorCode, record.ErrorMessage
    else:
        code, message = record.get("ErrorCode"), record.get("ErrorMessage")
    return Failure(code, message or "") if code else None
