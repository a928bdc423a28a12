"""What Firehose's codes mean: those that every AWS service has, and its own."""

from __future__ import annotations

from typing import Final

from asyncsink.errors import RequestError
from asyncsink_aws.errors import aws_errors

NOT_DIRECT_PUT: Final = "NOT_DIRECT_PUT"
"""Of a stream that something else feeds; the service's own code says it of rows at fault as well."""
INCOMPLETE_ANSWER: Final = "INCOMPLETE_ANSWER"
"""An answer of status 200 that does not tell what became of every record."""

# Firehose says InvalidArgumentException of this, which otherwise speaks of the records.
_OF_THE_STREAM: Final = "not permitted on"

ERRORS: Final = aws_errors(
    throttled={"ServiceUnavailableException", "LimitExceededException"},
    retryable={INCOMPLETE_ANSWER},
    rejected={"InvalidArgumentException"},
    fatal={
        "ResourceNotFoundException": "Check deliveryStream, region and the account of the credentials: there is no "
        "delivery stream of this name.",
        NOT_DIRECT_PUT: "The delivery stream is fed by something else and takes no rows from here: write to what feeds "
        "it, or name a delivery stream whose source is Direct PUT.",
        "InvalidSourceException": "The delivery stream decompresses what CloudWatch Logs sends and takes nothing else: "
        "turn its decompression off, or name another delivery stream.",
        "InvalidKMSResourceException": "Firehose may not use the key that encrypts the delivery stream: enable the "
        "key, or allow Firehose and the writer kms:GenerateDataKey on it, or turn the stream's encryption off.",
    },
)


def refined(error: RequestError) -> RequestError:
    """The error with a code of its own where Firehose's does not tell the stream's fault from the records'."""
    if error.code == "InvalidArgumentException" and _OF_THE_STREAM in error.message:
        return RequestError(NOT_DIRECT_PUT, error.message)
    return error
