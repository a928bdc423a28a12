"""A Kinesis, a token service and both metadata services in one real HTTP server."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from asyncsink_aws import AwsOptions
from asyncsink_aws.client import connect
from asyncsink_testing.http_server import FaultyHttpServer, HttpRequest, Reaction

CONTAINER_PATH = "/container/credentials"

_CREDENTIALS = (
    "<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s3cret</SecretAccessKey>"
    "<SessionToken>token-of-{key}</SessionToken><Expiration>{expires}</Expiration>"
)


class AwsStub:
    """Issues the keys K1, K2 ... in order, valid for `life`, and takes every key but those in `expired`."""

    def __init__(self) -> None:
        self.url = ""
        self.life = timedelta(hours=1)
        self.expired: set[str] = set()
        self.signed_by: list[str] = []
        """The access keys of the requests to Kinesis."""
        self.tokens: list[str | None] = []
        """Their session tokens."""
        self.asked: list[dict[str, str]] = []
        """The requests to the token service, each with its signing key as ``by`` and its user agent as ``agent``."""
        self.issued = 0
        self.metadata_outages = 0
        """How many of the next requests to the metadata service of the instance fail."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[AwsStub]:
        async with FaultyHttpServer(self.answer) as server:
            self.url = server.url
            yield self

    def options(self, **values: Any) -> AwsOptions:
        return AwsOptions(region="eu-west-1", endpoint=self.url, **values)

    def answer(self, request: HttpRequest) -> Reaction:
        if "x-amz-target" in request.headers:
            return self._kinesis(request)
        if request.path.startswith(CONTAINER_PATH):
            return Reaction(body=self._issue_as_json())
        if request.path.startswith("/latest/"):
            if self.metadata_outages > 0:
                self.metadata_outages -= 1
                return Reaction.refuse(503)
            return Reaction(body=self._instance(request))
        return self._sts(request)

    def _kinesis(self, request: HttpRequest) -> Reaction:
        key = _signed_by(request)
        self.signed_by.append(key or "")
        self.tokens.append(request.headers.get("x-amz-security-token"))
        if key in self.expired:
            said = {"__type": "ExpiredTokenException", "message": "The security token included has expired"}
            return Reaction.refuse(400, json.dumps(said).encode())
        return Reaction(body=b'{"FailedRecordCount":0,"Records":[]}')

    def _sts(self, request: HttpRequest) -> Reaction:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        by = _signed_by(request) or ""
        self.asked.append({**form, "by": by, "agent": request.headers["user-agent"]})
        if by in self.expired:
            said = "<Code>ExpiredToken</Code><Message>The security token included has expired</Message>"
            return Reaction.refuse(403, f"<ErrorResponse><Error>{said}</Error></ErrorResponse>".encode())
        action, credentials = form["Action"], _CREDENTIALS.format(**self._issue())
        xml = f"<{action}Response><{action}Result><Credentials>{credentials}</Credentials></{action}Result>"
        return Reaction(body=f"{xml}</{action}Response>".encode())

    def _instance(self, request: HttpRequest) -> bytes:
        if request.path.endswith("/api/token"):
            return b"imds-token"
        return b"the-role" if request.path.endswith("/security-credentials/") else self._issue_as_json()

    def _issue(self) -> dict[str, str]:
        self.issued += 1
        expires = (datetime.now(UTC) + self.life).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"key": f"K{self.issued}", "expires": expires}

    def _issue_as_json(self) -> bytes:
        issued = self._issue()
        values = {
            "Code": "Success",
            "AccessKeyId": issued["key"],
            "SecretAccessKey": "s3cret",
            "Token": f"token-of-{issued['key']}",
            "Expiration": issued["expires"],
        }
        return json.dumps(values).encode()


def _signed_by(request: HttpRequest) -> str | None:
    found = re.search(r"Credential=([^/]+)/", request.headers.get("authorization", ""))
    return found[1] if found else None


async def put(client: Any) -> None:
    await client.put_records(StreamName="s", Records=[{"Data": b"{}", "PartitionKey": "1"}])


async def signing_key(stub: AwsStub, **options: Any) -> str:
    """The access key by which a client with these options signs its first request."""
    async with connect(stub.options(**options), "kinesis", max_in_flight=1) as client:
        await put(client)
    return stub.signed_by[-1]
