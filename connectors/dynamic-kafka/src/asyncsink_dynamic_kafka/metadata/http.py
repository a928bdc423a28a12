"""Metadata behind a URL: the layout of the module ``layout`` as JSON, asked for with an ETag."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio.to_thread

from asyncsink.errors import ConfigurationError
from asyncsink_dynamic_kafka.metadata.addresses import checked_token, checked_url
from asyncsink_dynamic_kafka.metadata.documents import DocumentMetadataService
from asyncsink_dynamic_kafka.metadata.errors import MetadataError, MetadataUnavailableError
from asyncsink_dynamic_kafka.metadata.layout import MetadataDocument, read_layout
from asyncsink_dynamic_kafka.metadata.parsing import parse_json

if TYPE_CHECKING:
    import httpx

_MAX_ANSWER_BYTES: Final = 16 << 20
_MOST_REDIRECTS: Final = 5
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

logger = logging.getLogger(__name__)


class HttpMetadataService(DocumentMetadataService):
    """Gets metadata from a URL; what has not changed since (ETag) is not sent again.

    Certificates are verified, proxies are those of the environment, and redirects are followed on the same host alone.
    Credentials belong into the token: what stands in the URL shows in httpx's logs.

    :param bearer_token: for the header Authorization
    :param bearer_token_file: a file that holds it, read for every request; it may be renewed
    :param ca_file: PEM file of authorities to trust in place of the usual ones
    :param timeout_s: for connecting, and for each part of the answer
    :raises ConfigurationError: an argument breaks its rule
    """

    def __init__(
        self,
        url: str,
        *,
        bearer_token: str | None = None,
        bearer_token_file: str | None = None,
        ca_file: str | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        super().__init__()
        self.url = checked_url("argument 'url'", url)
        if bearer_token is not None and bearer_token_file is not None:
            raise ConfigurationError(
                "arguments 'bearer_token' and 'bearer_token_file' are both given; leave one of them out"
            )
        self._bearer_token = None if bearer_token is None else checked_token("argument 'bearer_token'", bearer_token)
        self._bearer_token_file, self._ca_file = bearer_token_file, ca_file
        self.timeout_s = timeout_s
        self._client: httpx.AsyncClient | None = None
        self._etag: str | None = None
        has_token = bearer_token is not None or bearer_token_file is not None
        if has_token and url.startswith("http:") and urlsplit(url).hostname not in _LOOPBACK:
            logger.warning("the bearer token goes to %s without TLS; use https", self._shown)

    def __reduce__(self) -> tuple[Callable[[], HttpMetadataService], tuple[()]]:
        return (
            partial(
                type(self),
                self.url,
                bearer_token=self._bearer_token,
                bearer_token_file=self._bearer_token_file,
                ca_file=self._ca_file,
                timeout_s=self.timeout_s,
            ),
            (),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown!r})"

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _fetch(self) -> MetadataDocument:
        httpx = _httpx()
        try:
            return await self._get(await self._connected(httpx))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise MetadataUnavailableError(f"{self._shown} does not answer: {_said(error)}") from error

    async def _get(self, client: httpx.AsyncClient) -> MetadataDocument:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if (token := await self._token()) is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self._latest is not None and self._etag is not None:
            headers["If-None-Match"] = self._etag
        url: Any = self.url
        for _ in range(_MOST_REDIRECTS + 1):
            async with client.stream("GET", url, headers=headers) as response:
                if response.next_request is None:
                    return await self._document(response)
                url = self._redirected(response.url, response.next_request.url)
        raise MetadataUnavailableError(f"{self._shown} redirects more than {_MOST_REDIRECTS} times; give the last URL")

    async def _document(self, response: httpx.Response) -> MetadataDocument:
        if response.status_code == 304 and self._latest is not None:
            return self._latest
        if response.status_code != 200:
            remedy = "; check the bearer token" if response.status_code in (401, 403) else ""
            raise MetadataUnavailableError(f"{self._shown} answers HTTP {response.status_code}{remedy}")
        body = await self._read(response)
        # Megabytes of it would hold up all others on the loop.
        document = await anyio.to_thread.run_sync(self._parsed, body, abandon_on_cancel=True)
        self._etag = response.headers.get("ETag")
        return document

    async def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        try:
            async for part in response.aiter_raw():
                body += part
                if len(body) > _MAX_ANSWER_BYTES:
                    # The loop then ends by itself, with an error; leaving it would leave httpx's generators half run.
                    await response.aclose()
        except _httpx().HTTPError:
            if len(body) <= _MAX_ANSWER_BYTES:
                raise
        if len(body) > _MAX_ANSWER_BYTES:
            raise MetadataError(f"the answer of {self._shown} is longer than {_MAX_ANSWER_BYTES} bytes")
        return bytes(body)

    def _parsed(self, body: bytes) -> MetadataDocument:
        try:
            return read_layout(parse_json(body))
        except MetadataError as error:
            raise MetadataError(f"the answer of {self._shown} cannot be used: {error}") from None

    def _redirected(self, asked: httpx.URL, target: httpx.URL) -> httpx.URL:
        if target.host != asked.host or (asked.scheme, target.scheme) == ("https", "http"):
            raise MetadataUnavailableError(
                f"{self._shown} redirects to {target.scheme}://{target.host}, and neither another host nor http in "
                "place of https is followed; give the URL itself if it is trusted"
            )
        return target

    async def _token(self) -> str | None:
        path = self._bearer_token_file
        if path is None:
            return self._bearer_token
        try:
            text = await anyio.to_thread.run_sync(Path(path).read_text, abandon_on_cancel=True)
            return checked_token("what it holds", text.strip())
        except (OSError, UnicodeDecodeError, ConfigurationError) as error:
            # It may be there in a moment: whoever renews it may be at work.
            said = error if isinstance(error, ConfigurationError) else type(error).__name__
            raise MetadataUnavailableError(f"the file {path!r} has no bearer token that can be read: {said}") from None

    async def _connected(self, httpx: Any) -> httpx.AsyncClient:
        if self._client is None:
            verify = await anyio.to_thread.run_sync(self._trusted, httpx)
            self._client = httpx.AsyncClient(verify=verify, timeout=self.timeout_s)
        return self._client

    def _trusted(self, httpx: Any) -> ssl.SSLContext:
        if self._ca_file is None:
            context: ssl.SSLContext = httpx.create_ssl_context()
            return context
        try:
            return ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:
            raise ConfigurationError(
                f"the file {self._ca_file!r} with authorities to trust cannot be read: {error}; it must be PEM"
            ) from error

    @property
    def _shown(self) -> str:
        """Without the query, which may hold what is secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise ConfigurationError(
            "metadata over HTTP needs httpx, which is not installed; install it where the writers run: "
            "pip install 'asyncsink-dynamic-kafka[http]'"
        ) from error
    return httpx


def _said(error: BaseException) -> str:
    """The error, and the text of the first of its causes that has one: what httpx raises often has none."""
    name, cause = type(error).__name__, error
    while not str(cause) and (deeper := cause.__cause__ or cause.__context__) is not None:
        cause = deeper
    return f"{name}: {cause}" if str(cause) else name
