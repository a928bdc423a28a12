"""Signature Version 4, from the service's side: whether a request may come in.

The algorithm is AWS's "Create a signed AWS API request"; the sentences are those that the services answer.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote

from asyncsink_testing.aws.calls import refused
from asyncsink_testing.http_server import HttpRequest, Reaction

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,]+)/(?P<date>\d{8})/(?P<region>[^/,]+)/(?P<service>[^/,]+)/aws4_request,"
    r" ?SignedHeaders=(?P<headers>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


def signature_refusal(
    request: HttpRequest, service: str, region: str, secrets: Mapping[str, str] | None = None
) -> Reaction | None:
    """What the service answers to a request that is not signed, or not for it; None if it may come in.

    :param service: the name in the scope of the signature
    :param secrets: the secret access keys by the ids that are known. None believes every signature that has this
        service and this region in its scope
    """
    given = request.headers.get("authorization")
    if given is None:
        return refused("MissingAuthenticationTokenException", "Missing Authentication Token")
    found = _AUTHORIZATION.fullmatch(given)
    if found is None:
        return refused("IncompleteSignatureException", f"'{given[:20]}...' is no signature of AWS4-HMAC-SHA256", 403)
    if found["service"] != service:
        message = f"Credential should be scoped to correct service: '{service}'. "
        return refused("InvalidSignatureException", message)
    if found["region"] != region:
        return refused("InvalidSignatureException", "Credential should be scoped to a valid region. ")
    if secrets is None:
        return None
    if found["key"] not in secrets:
        return refused("UnrecognizedClientException", "The security token included in the request is invalid.")
    if not hmac.compare_digest(_signature(request, found, secrets[found["key"]]), found["signature"]):
        return refused("InvalidSignatureException", _MISMATCH)
    return None


def _signature(request: HttpRequest, found: re.Match[str], secret: str) -> str:
    path, _, query = request.path.partition("?")
    headers = "".join(
        f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in found["headers"].split(";")
    )
    canonical = "\n".join(
        [request.method, quote(path), query, headers, found["headers"], hashlib.sha256(request.body).hexdigest()]
    )
    scope = f"{found['date']}/{found['region']}/{found['service']}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    signed = "\n".join(["AWS4-HMAC-SHA256", request.headers.get("x-amz-date", ""), scope, digest])
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, signed.encode(), "sha256").hex()
