"""The tables of codes: one kind for each, and a remedy for what no retry can mend."""

from __future__ import annotations

import pytest

from asyncsink.failures import FailureKind
from asyncsink_aws import errors
from asyncsink_aws.errors import COMMON, HINTS, aws_errors, plain_code

KINDS = {
    FailureKind.THROTTLED: [
        "429",
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
    ],
    FailureKind.RETRYABLE: [
        "408",
        *map(str, range(500, 600)),
        "ExpiredToken",
        "ExpiredTokenException",
        "InternalError",
        "InternalFailure",
        "InternalFailureException",
        "InternalServerError",
        "InternalServerException",
        "InternalServiceError",
        "InternalServiceException",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "RequestTimeout",
        "RequestTimeoutException",
        "ResourceInUseException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "TokenRefreshRequired",
        errors.CREDENTIALS_UNAVAILABLE,
    ],
    FailureKind.REJECTED: [
        "413",
        "PayloadTooLargeException",
        "RequestEntityTooLarge",
        "RequestEntityTooLargeException",
        "SerializationException",
        "ValidationError",
        "ValidationException",
    ],
    FailureKind.FATAL: [
        "401",
        "403",
        "404",
        "405",
        "407",
        "AccessDenied",
        "AccessDeniedException",
        "AccountProblem",
        "AuthFailure",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidAction",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "InvalidToken",
        "KMSAccessDeniedException",
        "KMSDisabledException",
        "KMSInvalidStateException",
        "KMSNotFoundException",
        "KMSOptInRequired",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotAuthorized",
        "OptInRequired",
        "ResourceNotFoundException",
        "SignatureDoesNotMatch",
        "SubscriptionRequiredException",
        "UnauthorizedAccess",
        "UnknownOperationException",
        "UnrecognizedClientException",
        errors.NO_CREDENTIALS,
        errors.CREDENTIALS_REFUSED,
        errors.CERTIFICATE,
        errors.PROXY,
        errors.INVALID_REQUEST,
    ],
}


def test_each_common_code_has_its_kind() -> None:
    assert {kind: sorted(codes) for kind, codes in KINDS.items()} == {
        FailureKind.THROTTLED: sorted(COMMON.throttled),
        FailureKind.RETRYABLE: sorted(COMMON.retryable),
        FailureKind.REJECTED: sorted(COMMON.rejected),
        FailureKind.FATAL: sorted(COMMON.fatal),
    }
    assert all(COMMON.kind_of(code) is kind for kind, codes in KINDS.items() for code in codes)


def test_every_remedy_is_a_sentence_of_what_to_do() -> None:
    for code, remedy in [*COMMON.fatal.items(), *HINTS.items()]:
        assert (remedy[0].isupper(), remedy[-1], "  " in remedy) == (True, ".", False), code


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "policy"),
        ("InvalidSignatureException", "clock"),
        ("UnrecognizedClientException", "accessKeyId"),
        ("ResourceNotFoundException", "region"),
        ("KMSDisabledException", "Enable"),
        ("NO_CREDENTIALS", "roleArn"),
        ("CREDENTIALS_REFUSED", "trust policy"),
    ],
)
def test_a_remedy_names_what_the_user_changes(code: str, words: str) -> None:
    assert words in COMMON.remedy(code)


def test_a_clock_that_is_wrong_is_named_for_a_request_that_is_too_old() -> None:
    assert "clock" in HINTS["RequestExpired"]


def test_a_service_has_the_common_codes_and_its_own() -> None:
    table = aws_errors(throttled=["Busy"], retryable=["Odd"], rejected=["Poison"], fatal={"Gone": "Look for it."})
    assert {code: table.kind_of(code) for code in ("Busy", "Odd", "Poison", "Gone", "SlowDown", "403")} == {
        "Busy": FailureKind.THROTTLED,
        "Odd": FailureKind.RETRYABLE,
        "Poison": FailureKind.REJECTED,
        "Gone": FailureKind.FATAL,
        "SlowDown": FailureKind.THROTTLED,
        "403": FailureKind.FATAL,
    }
    assert table.remedy("Gone") == "Look for it."


def test_what_a_service_says_of_a_common_code_takes_precedence() -> None:
    table = aws_errors(
        throttled=["ServiceUnavailableException"],
        retryable=["ResourceNotFoundException"],
        fatal={"ValidationException": "Wait.", "AccessDeniedException": "Ask."},
    )
    assert table.kind_of("ServiceUnavailableException") is FailureKind.THROTTLED
    assert table.kind_of("ResourceNotFoundException") is FailureKind.RETRYABLE
    assert table.kind_of("ValidationException") is FailureKind.FATAL
    assert table.remedy("AccessDeniedException") == "Ask."


def test_a_service_names_each_of_its_codes_once() -> None:
    with pytest.raises(ValueError, match=r"codes \['Busy'\] are of more than one kind"):
        aws_errors(throttled=["Busy"], retryable=["Busy"])


@pytest.mark.parametrize(
    ("code", "status", "plain"),
    [
        ("com.amazonaws.kinesis.v20131202#ResourceNotFoundException", 400, "ResourceNotFoundException"),
        ("com.amazon.coral.service#InternalFailure", 500, "InternalFailure"),
        ("AccessDeniedException:http://internal.amazon.com/coral/", 400, "AccessDeniedException"),
        ("ThrottlingException", 400, "ThrottlingException"),
        ("ServiceUnavailableException", 503, "ServiceUnavailableException"),
        ("BrandNewException", 400, "BrandNewException"),
        ("BrandNewException", 503, "503"),
        ("BrandNewException", 429, "429"),
        ("", 502, "502"),
        ("", 403, "403"),
        ("503", 503, "503"),
        ("com.amazon#SlowDown", None, "SlowDown"),
    ],
)
def test_a_code_is_what_tables_name(code: str, status: int | None, plain: str) -> None:
    assert plain_code(code, status) == plain
