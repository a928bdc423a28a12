"""What botocore raises becomes what the kernel judges, in words that help and tell no secrets."""

from __future__ import annotations

import ssl
import traceback
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from aiohttp import ClientConnectorCertificateError, ClientConnectorSSLError, ClientHttpProxyError
from aiohttp.client_reqrep import ConnectionKey
from botocore import exceptions as boto
from botocore.exceptions import ClientError

from asyncsink import RequestError
from asyncsink.failures import FailureKind
from asyncsink_aws import errors
from asyncsink_aws.errors import COMMON
from asyncsink_aws.options import AwsOptions
from asyncsink_aws.request_errors import as_request_error
from asyncsink_testing import FaultyHttpServer, Reaction

OPTIONS = AwsOptions(region="eu-west-1", access_key_id="AKIDEXAMPLE", secret_access_key="c2VjcmV0")


def refused(
    code: str,
    message: str = "",
    status: int = 400,
    operation: str = "PutRecords",
    headers: Mapping[str, str] | None = None,
) -> ClientError:
    response: dict[str, Any] = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"RequestId": "id-1", "HTTPStatusCode": status, "HTTPHeaders": headers or {}},
    }
    return ClientError(response, operation)


def mapped(error: BaseException, options: AwsOptions = OPTIONS) -> BaseException:
    """What becomes of an error that a call raises."""
    try:
        with as_request_error("kinesis", "PutRecords", options):
            raise error
    except Exception as made:
        return made


def request_error(error: BaseException) -> RequestError:
    made = mapped(error)
    assert isinstance(made, RequestError)
    assert made.__cause__ is error
    return made


def test_a_refusal_names_operation_region_and_request() -> None:
    made = request_error(refused("ResourceNotFoundException", "Stream clicks under account 123456789012 not found."))
    assert str(made) == (
        "ResourceNotFoundException: PutRecords of kinesis in eu-west-1 failed: "
        '"Stream clicks under account 123456789012 not found." (request id-1)'
    )


MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)
CANONICAL = (
    "\n\nThe Canonical String for this request should have been\n'POST\n/\n\ncontent-type:application/x-amz-json-1.1\n"
    "host:kinesis.eu-west-1.amazonaws.com\nx-amz-date:20261122T050000Z\nx-amz-security-token:IQoJb3JpZ2luX2Vj==\n"
    "x-amz-target:Kinesis_20131202.PutRecords\n\ncontent-type;host\ne3b0c4'\n\nThe String-to-Sign should have been\n"
    "'AWS4-HMAC-SHA256\n20261122T050000Z'\n"
)


@pytest.mark.parametrize(
    "answer", [MISMATCH + CANONICAL, f"{MISMATCH} <pre>X-Amz-Security-Token: IQoJb3JpZ2luX2Vj==</pre>"]
)
@pytest.mark.parametrize("operation", ["PutRecords", "AssumeRole"])
def test_a_token_that_an_answer_quotes_is_in_no_traceback(answer: str, operation: str) -> None:
    made = mapped(refused("InvalidSignatureException", answer, operation=operation))
    assert MISMATCH in str(made)
    shown = "".join(traceback.format_exception(made))
    assert "IQoJb3JpZ2luX2Vj" not in shown
    assert "the direct cause" in shown, "the error of botocore is chained to"
    assert "in mapped" in shown


def test_a_call_without_an_error_stays_as_it_is() -> None:
    with as_request_error("kinesis", "PutRecords", OPTIONS):
        done = True
    assert done


def test_an_endpoint_is_named_without_what_stands_around_its_host() -> None:
    options = AwsOptions(region="eu-west-1", endpoint="http://localhost:4567/path")
    assert "PutRecords of kinesis at localhost:4567 failed" in str(mapped(refused("InternalFailure"), options))


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ProvisionedThroughputExceededException", 400, FailureKind.THROTTLED),
        ("ThrottlingException", 400, FailureKind.THROTTLED),
        ("AnotherKindOfThrottling", 429, FailureKind.THROTTLED),
        ("InternalFailure", 500, FailureKind.RETRYABLE),
        ("BrandNewFailure", 500, FailureKind.RETRYABLE),
        ("", 503, FailureKind.RETRYABLE),
        ("com.amazon.coral.service#ServiceUnavailable", 503, FailureKind.RETRYABLE),
        ("ExpiredTokenException", 400, FailureKind.RETRYABLE),
        ("RequestExpired", 400, FailureKind.RETRYABLE),
        ("ValidationException", 400, FailureKind.REJECTED),
        ("413", 413, FailureKind.REJECTED),
        ("AccessDeniedException", 400, FailureKind.FATAL),
        ("", 403, FailureKind.FATAL),
        ("KMSDisabledException", 400, FailureKind.FATAL),
    ],
)
def test_a_refusal_has_the_kind_of_its_code(code: str, status: int, kind: FailureKind) -> None:
    assert COMMON.kind_of(request_error(refused(code, "no", status)).code) is kind


def test_a_code_that_became_its_status_is_told_all_the_same() -> None:
    assert "failed with BrandNewFailure: " in str(request_error(refused("BrandNewFailure", "no", 500)))


@pytest.mark.parametrize(("code", "words"), [("RequestExpired", "Set the clock"), ("ExpiredToken", "never renewed")])
def test_what_may_go_on_failing_says_what_helps(code: str, words: str) -> None:
    assert words in str(request_error(refused(code)))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"x-amz-retry-after": "250"}, 0.25),
        ({"x-amz-retry-after": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Sun, 22 Nov 2026 05:00:00 GMT"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_a_service_may_ask_to_be_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    assert request_error(refused("SlowDown", headers=headers)).retry_after_s == seconds


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("AccessDenied", 403, errors.CREDENTIALS_REFUSED),
        ("InvalidIdentityToken", 400, errors.CREDENTIALS_REFUSED),
        ("RequestExpired", 400, errors.CREDENTIALS_REFUSED),
        ("ExpiredToken", 403, errors.CREDENTIALS_UNAVAILABLE),
        ("ExpiredTokenException", 400, errors.CREDENTIALS_UNAVAILABLE),
        ("Throttling", 400, errors.CREDENTIALS_UNAVAILABLE),
        ("InternalFailure", 500, errors.CREDENTIALS_UNAVAILABLE),
        ("IDPCommunicationError", 400, errors.CREDENTIALS_UNAVAILABLE),
    ],
)
def test_a_refusal_by_the_token_service_is_about_credentials(code: str, status: int, expected: str) -> None:
    options = AwsOptions(region="eu-west-1", profile="team")
    made = mapped(refused(code, "User is not allowed", status, operation="AssumeRole"), options)
    assert isinstance(made, RequestError)
    assert made.code == expected
    assert f"AssumeRole for PutRecords of kinesis in eu-west-1 failed with {code}" in str(made)


def test_a_token_that_has_expired_is_fatal_where_it_was_given_as_an_option() -> None:
    error = refused("ExpiredToken", "The token has expired", 403, operation="AssumeRole")
    given = mapped(error)
    found = mapped(error, AwsOptions(region="eu-west-1", profile="team"))
    assert isinstance(given, RequestError)
    assert isinstance(found, RequestError)
    assert (given.code, found.code) == (errors.CREDENTIALS_REFUSED, errors.CREDENTIALS_UNAVAILABLE)
    assert str(found).endswith("New credentials are looked for; those given as options are never renewed.")


@pytest.mark.parametrize(
    ("error", "expected", "kind"),
    [
        (boto.NoCredentialsError(), errors.NO_CREDENTIALS, FailureKind.FATAL),
        (
            boto.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"),
            errors.NO_CREDENTIALS,
            FailureKind.FATAL,
        ),
        (boto.UnauthorizedSSOTokenError(), errors.CREDENTIALS_REFUSED, FailureKind.FATAL),
        (
            boto.CredentialRetrievalError(provider="custom", error_msg="down"),
            errors.CREDENTIALS_UNAVAILABLE,
            FailureKind.RETRYABLE,
        ),
        (
            boto.MetadataRetrievalError(error_msg="timed out"),
            errors.CREDENTIALS_UNAVAILABLE,
            FailureKind.RETRYABLE,
        ),
        (boto.EndpointResolutionError(msg="Invalid Configuration"), errors.INVALID_REQUEST, FailureKind.FATAL),
    ],
)
def test_a_request_that_cannot_be_made_has_a_code_of_its_own(
    error: boto.BotoCoreError, expected: str, kind: FailureKind
) -> None:
    made = request_error(error)
    assert (made.code, COMMON.kind_of(made.code)) == (expected, kind)


def test_a_certificate_that_is_not_trusted_is_fatal() -> None:
    key = ConnectionKey("host", 443, True, True, None, None, None)
    untrusted = ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("self-signed certificate"))
    made = request_error(boto.SSLError(endpoint_url="https://host/", error=untrusted))
    assert (made.code, COMMON.kind_of(made.code)) == (errors.CERTIFICATE, FailureKind.FATAL)


def test_a_handshake_that_broke_is_an_outage() -> None:
    key = ConnectionKey("host", 443, True, True, None, None, None)
    broken = ClientConnectorSSLError(key, ssl.SSLError("UNEXPECTED_EOF_WHILE_READING"))
    assert isinstance(mapped(boto.SSLError(endpoint_url="https://host/", error=broken)), OSError)


@pytest.mark.parametrize(("status", "kind"), [(407, RequestError), (503, OSError)])
def test_a_proxy_may_refuse_or_be_away(status: int, kind: type[Exception]) -> None:
    nobody: Any = None
    refusal = ClientHttpProxyError(nobody, (), status=status, message="no")
    error = boto.ProxyConnectionError(proxy_url="http://***:***@proxy:3128", error=refusal)
    assert isinstance(mapped(error), kind)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (boto.EndpointConnectionError(endpoint_url="https://host/", error=OSError("down")), ConnectionError),
        (boto.ConnectTimeoutError(endpoint_url="https://host/", error=OSError()), TimeoutError),
        (boto.ReadTimeoutError(endpoint_url="https://host/", error=OSError()), TimeoutError),
        (boto.ConnectionClosedError(endpoint_url="https://host/", request=None, error=OSError()), ConnectionError),
        (boto.HTTPClientError(error=ConnectionResetError("reset")), ConnectionError),
    ],
)
def test_no_answer_is_an_outage(error: boto.BotoCoreError, kind: type[Exception]) -> None:
    made = mapped(error)
    assert isinstance(made, kind)
    assert COMMON.kind_of_exception(made) is FailureKind.RETRYABLE
    assert "PutRecords of kinesis in eu-west-1" in str(made)


@pytest.mark.parametrize("error", [boto.HTTPClientError(error=ValueError("a bug")), KeyError("a bug")])
def test_a_bug_stays_what_it_is(error: Exception) -> None:
    assert mapped(error) is error
    assert COMMON.kind_of_exception(error) is FailureKind.FATAL


def test_a_page_in_place_of_an_answer_is_cut() -> None:
    made = request_error(refused("403", "<html>" + "x" * 5_000, 403))
    assert len(str(made)) < 700


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("reaction", "kind"),
    [
        (Reaction.refuse(400, b'{"__type":"com.amazonaws#AccessDeniedException","Message":"no"}'), RequestError),
        (Reaction.refuse(503, b"<html>busy</html>"), RequestError),
        (Reaction.drop_before_storing(), ConnectionError),
        (Reaction.partial_answer(), ConnectionError),
        (Reaction.hang(), TimeoutError),
    ],
)
async def test_every_end_of_a_call_on_the_wire_is_known(reaction: Reaction, kind: type[Exception]) -> None:
    async with FaultyHttpServer([reaction]) as server:
        made = get_session().create_client(
            "kinesis",
            region_name="eu-west-1",
            endpoint_url=server.url,
            aws_access_key_id=OPTIONS.access_key_id,
            aws_secret_access_key=OPTIONS.secret_access_key,
            config=AioConfig(read_timeout=0.5, retries={"mode": "standard", "total_max_attempts": 1}),
        )
        async with made as client:
            with anyio.fail_after(30), pytest.raises(kind) as caught, as_request_error("kinesis", "PutRecord", OPTIONS):
                await client.put_record(StreamName="clicks", Data=b"a payload", PartitionKey="a key")
    for secret in ("AKIDEXAMPLE", "c2VjcmV0", "a payload", "YSBwYXlsb2Fk", "a key"):
        assert secret not in str(caught.value)
    known = COMMON.kind_of(caught.value.code) if isinstance(caught.value, RequestError) else FailureKind.RETRYABLE
    assert known is not None
