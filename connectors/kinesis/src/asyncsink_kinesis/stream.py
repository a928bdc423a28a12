"""What a stream says of itself when a writer begins: whether it is there, and how large its records may be."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncsink.errors import DestinationUnavailableError, FatalRequestError
from asyncsink_aws.describing import ask, settled
from asyncsink_kinesis.errors import ACCESS_DENIED, ERRORS, NO_SUCH_STREAM

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

    from asyncsink_kinesis.options import KinesisOptions

logger = logging.getLogger(__name__)

POLL_S = 1.0
"""Time between two looks at a stream that is being made; the service answers 20 a second for the whole account."""


class StreamDescription(NamedTuple):
    """What DescribeStreamSummary says; None where it does not say, or was not allowed to."""

    max_record_size_in_bytes: int | None = None


async def describe(
    client: AioBaseClient, options: KinesisOptions, wait_s: float, poll_s: float = POLL_S
) -> StreamDescription:
    """The stream, once it can be written to. Without permission, or without an answer, it stays unknown.

    :param wait_s: how long to wait for a stream that is being made
    :raises FatalRequestError: there is no such stream, it is being deleted, or the sender is not known
    :raises DestinationUnavailableError: it is still being made after `wait_s`
    """
    look, named = partial(_summary, client, options), _named(client, options)
    try:
        summary = await settled(look, _is_being_made, timeout_s=wait_s, poll_s=poll_s)
    except TimeoutError:
        raise DestinationUnavailableError(
            f"{named} cannot be written to after {wait_s:g} s: it is still being made; try again later, or raise "
            "retry.timeout"
        ) from None
    if summary is None:
        return StreamDescription()
    if summary["StreamStatus"] == "DELETING":
        raise FatalRequestError(f"{named} is being deleted. {ERRORS.remedy(NO_SUCH_STREAM)}")
    return _description(summary)


def _is_being_made(summary: Mapping[str, Any]) -> bool:
    return bool(summary["StreamStatus"] == "CREATING")


async def _summary(client: AioBaseClient, options: KinesisOptions) -> Mapping[str, Any] | None:
    """The stream's summary; None where there is none to be had and a writer may still work."""
    from asyncsink_kinesis.wire import stream_parameters

    answer = await ask(
        partial(client.describe_stream_summary, **stream_parameters(options.stream)),
        ("kinesis", "DescribeStreamSummary", options),
        _named(client, options),
        ERRORS,
        denied=(ACCESS_DENIED,),
        log_unknown=partial(_log_unknown, client, options),
    )
    return None if answer is None else answer["StreamDescriptionSummary"]


def _log_unknown(client: AioBaseClient, options: KinesisOptions, error: Exception) -> None:
    logger.info(
        "%s was not described (%s), so records of more than 1 MiB are refused unless maxRecordSizeInBytes is raised; "
        "allow kinesis:DescribeStreamSummary to have its limit read",
        _named(client, options),
        error,
    )


def _named(client: AioBaseClient, options: KinesisOptions) -> str:
    return f"stream {options.stream.short_name!r} in region {client.meta.region_name!r}"


def _description(summary: Mapping[str, Any]) -> StreamDescription:
    limit_in_kib = summary.get("MaxRecordSizeInKiB")
    return StreamDescription(None if limit_in_kib is None else int(limit_in_kib) * 1024)
