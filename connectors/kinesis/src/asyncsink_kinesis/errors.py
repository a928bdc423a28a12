"""What Kinesis' codes mean, beside those that every AWS service answers."""

from __future__ import annotations

from asyncsink_aws.errors import aws_errors

ACCESS_DENIED = "AccessDeniedException"
NO_SUCH_STREAM = "ResourceNotFoundException"
UNREADABLE_ANSWER = "UNREADABLE_ANSWER"
"""The answer does not speak of every record: whether they are stored is unknown."""
UNEXPECTED_SHARD = "UnexpectedShard"
"""An aggregated record has landed where consumers drop rows of it; of a request, where nobody knows which of them."""

ERRORS = aws_errors(
    retryable={UNREADABLE_ANSWER, UNEXPECTED_SHARD},
    # It may speak of one record, or of a request that is larger than the stream takes: halving mends the one and finds
    # the other.
    rejected={"InvalidArgumentException"},
    fatal={
        NO_SUCH_STREAM: "Check streamName and region, or streamArn: there is no such stream in that account and "
        "region.",
        "DryRunOperationException": "Ask who changes requests on their way: this one was marked as a rehearsal.",
    },
)
"""Throttled by index are a shard's limit and KMS; all other codes are common to AWS."""
