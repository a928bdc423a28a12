"""The delivery stream as Firehose describes it: whether it takes what is sent, before anything is."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from asyncsink.errors import DestinationUnavailableError, FatalRequestError
from asyncsink_aws.describing import ask, settled
from asyncsink_firehose.errors import ERRORS
from asyncsink_firehose.options import FirehoseOptions

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

logger = logging.getLogger(__name__)

_POLL_S: Final = 2.0  # DescribeDeliveryStream may be called five times a second by a whole account
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "NotAuthorized", "UnauthorizedAccess"})
_DIRECT_PUT: Final = "DirectPut"
_FED_BY: Final = {
    "KinesisStreamAsSource": "a Kinesis stream; write to that one, with asyncsink-kinesis",
    "MSKAsSource": "a topic of Amazon MSK; write to that one, with asyncsink-kafka",
    "DatabaseAsSource": "a database; write to that one",
}


class DeliveryStream(NamedTuple):
    """What Firehose tells of a stream.

    :param fed_by: ``DirectPut``, or what else feeds it
    :param encryption: the state of its encryption at rest, such as ``ENABLED``; None where nothing is told of it
    :param why: what it says of a failure
    """

    arn: str
    status: str
    fed_by: str
    encryption: str | None
    why: str

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> DeliveryStream:
        """Read the answer to DescribeDeliveryStream."""
        told = answer["DeliveryStreamDescription"]
        encryption = told.get("DeliveryStreamEncryptionConfiguration") or {}
        failure = told.get("FailureDescription") or encryption.get("FailureDescription") or {}
        why = ": ".join(failure[name] for name in ("Type", "Details") if failure.get(name))
        fed_by = told.get("DeliveryStreamType", _DIRECT_PUT)
        status = told["DeliveryStreamStatus"]
        return cls(told.get("DeliveryStreamARN", ""), status, fed_by, encryption.get("Status"), why)


async def check_stream(
    client: AioBaseClient, options: FirehoseOptions, *, timeout_s: float, poll_s: float = _POLL_S
) -> None:
    """See that the stream is there, takes direct puts and is the one that is meant; wait while it is being created.

    Where Firehose does not say, for want of permission or since it is busy, the check is left out with one line in the
    log: the first request tells then.

    :param timeout_s: how long to wait for a stream that is being created
    :raises FatalRequestError: the stream cannot be written to, or the caller cannot call; says what to do
    :raises DestinationUnavailableError: it was still being created at the end of `timeout_s`
    """
    look = partial(_described, client, options)
    try:
        stream = await settled(look, lambda told: told.status == "CREATING", timeout_s=timeout_s, poll_s=poll_s)
    except TimeoutError:
        raise DestinationUnavailableError(
            f"delivery stream {options.stream.short_name!r} was not there to be written to within retry.timeout = "
            f"{timeout_s} s: it is still being created; see it in the console, and start again"
        ) from None
    if stream is not None:
        _check(stream, options)


async def _described(client: AioBaseClient, options: FirehoseOptions) -> DeliveryStream | None:
    name = options.stream.short_name
    answer = await ask(
        partial(client.describe_delivery_stream, DeliveryStreamName=name, Limit=1),
        ("firehose", "DescribeDeliveryStream", options),
        f"delivery stream {name!r}",
        ERRORS,
        denied=_DENIED,
        log_unknown=partial(_log_unchecked, name),
    )
    return None if answer is None else DeliveryStream.of(answer)


def _check(stream: DeliveryStream, options: FirehoseOptions) -> None:
    name = options.stream.short_name
    why = f" ({stream.why})" if stream.why else ""
    if options.stream.arn is not None and stream.arn != options.stream.arn:
        raise FatalRequestError(
            f"deliveryStream = {options.stream.arn} is not what the credentials lead to, which is {stream.arn}: "
            "Firehose takes the names of one's own streams only. Set roleArn to a role in the account of the stream."
        )
    if stream.fed_by != _DIRECT_PUT:
        feeder = _FED_BY.get(stream.fed_by, f"{stream.fed_by}; write to that one")
        raise FatalRequestError(
            f"delivery stream {name!r} takes no rows from here, as it is fed by {feeder}, or name a delivery stream "
            "whose source is Direct PUT."
        )
    if stream.status != "ACTIVE":
        raise FatalRequestError(
            f"delivery stream {name!r} is {stream.status}{why} and takes no rows: create it again, or name another one."
        )
    if stream.encryption not in (None, "ENABLED", "DISABLED"):
        logger.warning(
            "delivery stream %r: its encryption at rest is %s%s; rows that are sent meanwhile may be kept unencrypted",
            name,
            stream.encryption,
            why,
        )


def _log_unchecked(name: str, error: Exception) -> None:
    logger.info(
        "delivery stream %r did not describe itself (%s); allow firehose:DescribeDeliveryStream to have it checked "
        "before rows are sent",
        name,
        error,
    )
