"""What Kinesis' codes mean, beside those that every AWS service answers."""

from __future__ import annotations

from asyncsink_aws.errors import aws_errors

ACCESS_DENIED = "AccessDeniedException"
NO_SUCH_STREAM = "ResourceNotFoundException"
UNREADABLE_ANSWER = "UNREADABLE_ANSWER"
"""The answer does not speak of every record: whether they are stored is unknown."""

_KMS_KEY = "the KMS key that encrypts the stream"

ERRORS = aws_errors(
    throttled={"ProvisionedThroughputExceededException", "KMSThrottlingException"},
    retryable={"InternalFailureException", UNREADABLE_ANSWER},
    # Both may speak of one record, or of a request that is larger than the stream takes: halving it mends the one and
    # finds the other.
    rejected={"InvalidArgumentException"},
    fatal={
        NO_SUCH_STREAM: "Check streamName and region, or streamArn: there is no such stream in that account and region, "
        "or its KMS key is gone.",
        "KMSAccessDeniedException": f"Allow the sender kms:GenerateDataKey on {_KMS_KEY}.",
        "KMSDisabledException": f"Enable {_KMS_KEY}.",
        "KMSInvalidStateException": f"Bring {_KMS_KEY} into the state Enabled; it may be pending deletion.",
        "KMSNotFoundException": f"Encrypt the stream with a key that exists: {_KMS_KEY} was not found.",
        "KMSOptInRequired": "Subscribe the account to AWS KMS, which encrypts the stream.",
        "DryRunOperationException": "Ask who changes requests on their way: this one was marked as a rehearsal.",
    },
)
