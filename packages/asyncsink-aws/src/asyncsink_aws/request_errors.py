"""From what botocore raises to what the kernel knows: a request that failed, or a destination that is away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NoReturn

from asyncsink.errors import RequestError
from asyncsink.failures import FailureKind
from asyncsink_aws.errors import (
    CERTIFICATE,
    COMMON,
    CREDENTIALS_REFUSED,
    CREDENTIALS_UNAVAILABLE,
    EXPIRED,
    HINTS,
    INVALID_REQUEST,
    NO_CREDENTIALS,
    PROXY,
    plain_code,
)

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

    from asyncsink_aws.options import AwsOptions

_MOST_CHARACTERS = 500
"""Of what a service says: enough for its own sentences, too little for the page of a proxy."""

# To a signature that does not match AWS answers with what it has signed itself, headers included.
_CANONICAL: Final = re.compile(r"\s*The canonical string\b.*", re.IGNORECASE | re.DOTALL)
_TOKEN: Final = re.compile(r"(?<=x-amz-security-token)(\W{1,4})[^\s'\"<>&,;]+", re.IGNORECASE)


@contextmanager
def as_request_error(service: str, operation: str, options: AwsOptions) -> Iterator[None]:
    """Run one call of a client; what botocore raises becomes what the kernel judges.

    Messages name the operation, the stream, where it is, what the service says and the id of the request; never a key,
    a token or a payload. The remedy of a fatal code is in its table.

    :param operation: the API's name of it, such as ``"PutRecords"``
    :raises RequestError: the service refuses the request, or it cannot be signed, made or trusted
    :raises OSError: there is no connection, or it broke: whether the request is stored is unknown
    :raises TimeoutError: the service did not answer in time
    """
    # Whoever calls has a client, so that botocore is loaded already.
    from botocore.exceptions import BotoCoreError, ClientError

    call = f"{operation} of {_where(service, options)}"
    try:
        yield
    except ClientError as error:
        can_change = options.access_key_id is None
        raise _refusal(error, call, operation, can_change) from _without_token(error)
    except BotoCoreError as error:
        _raise_for(error, call)


def _where(service: str, options: AwsOptions) -> str:
    """The stream, if the options name one, and the endpoint or region."""
    stream = getattr(options, "stream", None)
    named = service if stream is None else f"{service} stream {getattr(stream, 'short_name', stream)!r}"
    if options.endpoint is not None:
        # Without what may stand before or after the host: an endpoint can carry a password.
        return f"{named} at {_host(options.endpoint)}"
    return f"{named} in {options.default_region or 'the region of the environment'}"


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]


def _refusal(error: ClientError, call: str, operation: str, can_change: bool) -> RequestError:
    """The error for an answer of the service, or of the one that was asked for credentials on the way to it.

    :param can_change: whether the credentials come from where others may replace them
    """
    response: Mapping[str, Any] = error.response
    metadata = response.get("ResponseMetadata", {})
    said, status = response.get("Error", {}), metadata.get("HTTPStatusCode")
    told, code = str(said.get("Code") or ""), plain_code(str(said.get("Code") or ""), status)
    hint = HINTS.get(code)
    text = _masked(str(said.get("Message") or response.get("message") or "")).strip()[:_MOST_CHARACTERS]
    if error.operation_name != operation:
        call, code = f"{error.operation_name} for {call}", _credentials_code(code, can_change)
    parts = [f"{call} failed"]
    if told and code not in told:
        parts.append(f" with {told}")
    parts.append(f': "{text}"' if text else "")
    if request_id := metadata.get("RequestId"):
        parts.append(f" (request {request_id})")
    parts.append(f". {hint}" if hint else "")
    return RequestError(code, "".join(parts), _retry_after_s(metadata.get("HTTPHeaders", {})))


def _without_token(error: ClientError) -> ClientError:
    """The error, to be chained to; a copy if it has said a session's token, since tracebacks are shown whole."""
    said = error.response.get("Error", {})
    message = str(said.get("Message", ""))
    if _masked(message) == message:
        return error
    response: Any = {**error.response, "Error": {**said, "Message": _masked(message)}}
    return type(error)(response, error.operation_name).with_traceback(error.__traceback__)


def _masked(said: str) -> str:
    return _TOKEN.sub(r"\1***", _CANONICAL.sub("", said))


def _credentials_code(code: str, can_change: bool) -> str:
    """What a refusal by STS or SSO means for the request that could not be signed."""
    kind = COMMON.kind_of(code)
    # What has expired may be rotated a little later, and is read again for the next try; a clock stays wrong.
    if code in EXPIRED:
        return CREDENTIALS_UNAVAILABLE if can_change else CREDENTIALS_REFUSED
    if code == "IDPCommunicationError" or kind is FailureKind.THROTTLED:
        return CREDENTIALS_UNAVAILABLE
    return CREDENTIALS_UNAVAILABLE if kind is FailureKind.RETRYABLE and code not in HINTS else CREDENTIALS_REFUSED


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds for which the service asks to be left alone: by AWS' header in ms, or by HTTP's in seconds."""
    for name, per_s in (("x-amz-retry-after", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / per_s
        except (KeyError, ValueError):  # it is not there, or a date, which AWS does not send
            continue
        if isfinite(seconds) and seconds > 0:
            return seconds
    return None


def _raise_for(error: BotoCoreError, call: str) -> NoReturn:
    """Raise what stands for an error of botocore's own: there was no answer.

    What is none of these is a bug, or a setting that botocore refuses: it stays as it is, and is fatal.
    """
    from botocore import exceptions as known

    if isinstance(error, known.ReadTimeoutError | known.ConnectTimeoutError):
        raise TimeoutError(f"{call}: no answer in time. {_sentence(error)}") from error
    for kinds, judge in _judges():
        if isinstance(error, kinds):
            made = judge(error, call)
            if made is error:
                break
            raise made from error
    raise error


def _judges() -> list[tuple[tuple[type[BotoCoreError], ...], Callable[[BotoCoreError, str], Exception]]]:
    from botocore import exceptions as known

    return [
        ((known.SSLError,), _of_tls),
        ((known.ProxyConnectionError,), _of_proxy),
        ((known.HTTPClientError,), _of_connection),
        ((known.ConnectionError, known.ResponseStreamingError, known.IncompleteReadError), _lost),
        ((known.NoCredentialsError, known.PartialCredentialsError, known.NoAuthTokenError), _with(NO_CREDENTIALS)),
        ((known.SSOError, known.LoginError, known.TokenRetrievalError), _with(CREDENTIALS_REFUSED)),
        ((known.CredentialRetrievalError, known.MetadataRetrievalError), _with(CREDENTIALS_UNAVAILABLE)),
        (
            (known.EndpointProviderError, known.BaseEndpointResolverError, known.InvalidEndpointConfigurationError),
            _with(INVALID_REQUEST),
        ),
    ]


def _with(code: str) -> Callable[[BotoCoreError, str], Exception]:
    return lambda error, call: RequestError(code, f"{call} could not be made: {_sentence(error)}")


def _lost(error: BotoCoreError, call: str) -> Exception:
    return ConnectionError(f"{call}: {_sentence(error)}. Check region, endpoint and the network if this goes on")


def _of_connection(error: BotoCoreError, call: str) -> Exception:
    """An HTTP client's error; botocore has put it around whatever its client raised, a bug included."""
    from botocore.exceptions import ConnectionClosedError

    inner = error.kwargs.get("error")
    if isinstance(error, ConnectionClosedError) or isinstance(inner, OSError | TimeoutError):
        return _lost(error, call)
    return _lost(error, call) if type(inner).__module__.partition(".")[0] == "aiohttp" else error


def _of_tls(error: BotoCoreError, call: str) -> Exception:
    """A handshake that failed; only a certificate that is not trusted stays so."""
    import ssl

    inner = error.kwargs.get("error")
    cause = getattr(inner, "certificate_error", getattr(inner, "os_error", inner))
    if isinstance(cause, ssl.CertificateError):
        return RequestError(CERTIFICATE, f"{call} could not be made: {_sentence(error)}")
    return _lost(error, call)


def _of_proxy(error: BotoCoreError, call: str) -> Exception:
    """A proxy that is away, or that refuses; botocore masks the password in its address."""
    status = getattr(error.kwargs.get("error"), "status", None)
    if status is not None and 400 <= status < 500 and status not in (408, 429):
        return RequestError(PROXY, f"{call}: {_sentence(error)}: it answers {status}")
    return _lost(error, call)


def _sentence(error: BaseException) -> str:
    return str(error).strip().rstrip(".")[:_MOST_CHARACTERS]
