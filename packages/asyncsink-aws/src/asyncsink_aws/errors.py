"""What the codes mean that every AWS service answers, and those of our own where there is no answer.

Source: "Common errors" of AWS' API references, and the codes that AWS' own clients repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asyncsink.failures import ErrorTable

NO_CREDENTIALS = "NO_CREDENTIALS"
"""There is nothing to sign a request with."""
CREDENTIALS_REFUSED = "CREDENTIALS_REFUSED"
"""Who hands out credentials (STS, SSO) refuses to."""
CREDENTIALS_UNAVAILABLE = "CREDENTIALS_UNAVAILABLE"
"""Who hands out credentials cannot be reached, or has failed."""
CERTIFICATE = "CERTIFICATE"
"""The TLS certificate of the endpoint is not trusted."""
PROXY = "PROXY"
"""The proxy refuses the connection."""
INVALID_REQUEST = "INVALID_REQUEST"
"""botocore refuses to make the request, such as for a region that has no endpoint."""

_KEYS = (
    "Check the credentials: accessKeyId, secretAccessKey and sessionToken belong together, and the key is active; in "
    "the chain of the environment an older key may come first."
)
_CLOCK = "Set the clock of the machine that sends, by NTP: a signature is good for 5 to 15 minutes."
_PERMISSION = "Allow the action named above on the stream in the policy of the sender, and in that of the stream."
_KMS_KEY = "the KMS key that encrypts the stream"
_ADDRESS = "Check endpoint and region: what answers there is not the service that was called."

_THROTTLED = {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "KMSThrottlingException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "429",
}
_RETRYABLE = {
    "InternalError",
    "InternalFailure",
    "InternalFailureException",
    "InternalServerError",
    "InternalServerException",
    "InternalServiceError",
    "InternalServiceException",
    "RequestTimeout",
    "RequestTimeoutException",
    "ResourceInUseException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "408",
    *map(str, range(500, 600)),
    CREDENTIALS_UNAVAILABLE,
}
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
"""Credentials whose time is up: new ones are looked for before the request is repeated."""
_LATE = {"RequestExpired", "RequestTimeTooSkewed"}
"""A signature that was too old when it arrived."""
_REJECTED = {
    "413",
    "PayloadTooLargeException",
    "RequestEntityTooLarge",
    "RequestEntityTooLargeException",
    "SerializationException",
    "ValidationError",
    "ValidationException",
}
_FATAL = {
    **dict.fromkeys(("AccessDenied", "AccessDeniedException", "NotAuthorized", "UnauthorizedAccess"), _PERMISSION),
    **dict.fromkeys(
        ("AuthFailure", "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidToken"),
        f"{_KEYS} A key of another partition (China, GovCloud) is not known here.",
    ),
    **dict.fromkeys(
        ("InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature", "IncompleteSignatureException"),
        f"{_KEYS} If the service speaks of time: {_CLOCK} With endpoint, give its region as well.",
    ),
    **dict.fromkeys(
        ("MissingAuthenticationToken", "MissingAuthenticationTokenException"),
        f"{_ADDRESS} A proxy may have taken the signature away.",
    ),
    **dict.fromkeys(("InvalidAction", "UnknownOperationException", "404", "405"), _ADDRESS),
    **dict.fromkeys(("OptInRequired", "SubscriptionRequiredException"), "Subscribe the account to the service."),
    "AccountProblem": "Ask AWS support what is wrong with the account.",
    "401": _KEYS,
    "403": f"{_PERMISSION} A firewall or a VPC endpoint's policy may have answered in place of the service.",
    "407": "Check proxyUsername and proxyPassword.",
    "ResourceNotFoundException": "Check the stream's name and region, or its ARN: it does not exist in that account "
    "and region.",
    "KMSAccessDeniedException": f"Allow the sender kms:GenerateDataKey on {_KMS_KEY}.",
    "KMSDisabledException": f"Enable {_KMS_KEY}.",
    "KMSInvalidStateException": f"Bring {_KMS_KEY} into the state Enabled; it may be pending deletion.",
    "KMSNotFoundException": f"Check {_KMS_KEY}: it does not exist any more.",
    "KMSOptInRequired": "Subscribe the account to AWS KMS.",
    NO_CREDENTIALS: "Give accessKeyId and secretAccessKey, profile or roleArn, or let the machines on which tasks run "
    "have credentials: environment variables, a shared profile, a role of the instance or container.",
    CREDENTIALS_REFUSED: "Check roleArn and roleExternalId, and that the role's trust policy names who assumes it and "
    "that this one may sts:AssumeRole; renew a token that has expired (for SSO: aws sso login).",
    CERTIFICATE: "Check the host in endpoint, or name the authority that signed the certificate by caBundle.",
    PROXY: "Check proxy, proxyUsername and proxyPassword.",
    INVALID_REQUEST: "Check region, endpoint, fips, dualStack and the stream's name or ARN.",
}

HINTS: Mapping[str, str] = {
    **dict.fromkeys(_LATE, _CLOCK),
    **dict.fromkeys(EXPIRED, "New credentials are looked for; those given as options are never renewed."),
}
"""What to say of codes that are repeated, and may go on failing until somebody does something."""

COMMON = ErrorTable.of(throttled=_THROTTLED, retryable=_RETRYABLE | EXPIRED | _LATE, rejected=_REJECTED, fatal=_FATAL)
"""The codes of every service. Throttled, rejected and fatal ones say that nothing of the request was stored."""


def aws_errors(
    *,
    throttled: Iterable[str] = (),
    retryable: Iterable[str] = (),
    rejected: Iterable[str] = (),
    fatal: Mapping[str, str] | None = None,
) -> ErrorTable:
    """The table of one service: the common codes and its own, which take precedence.

    :raises ValueError: an own code is named twice
    """
    own = ErrorTable.of(throttled=throttled, retryable=retryable, rejected=rejected, fatal=fatal)
    named = own.throttled | own.retryable | own.rejected | own.fatal.keys()
    return ErrorTable.of(
        throttled=own.throttled | (COMMON.throttled - named),
        retryable=own.retryable | (COMMON.retryable - named),
        rejected=own.rejected | (COMMON.rejected - named),
        fatal={**{code: remedy for code, remedy in COMMON.fatal.items() if code not in named}, **own.fatal},
    )


def plain_code(code: str, status: int | None = None) -> str:
    """A code as tables name it: without a model's name before it, and that of the status if it says nothing itself.

    ``com.amazonaws.kinesis.v20131202#ResourceNotFoundException:http://...`` is ``ResourceNotFoundException``. A code
    that no table knows, of a status that says throttled or failed, becomes the status: a new code is no new meaning.
    """
    plain = code.split(":", 1)[0].rpartition("#")[2]
    if status is None or (plain and (COMMON.kind_of(plain) is not None or not (status == 429 or status >= 500))):
        return plain
    return str(status)
