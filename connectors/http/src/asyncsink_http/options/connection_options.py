"""Options of connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_http.options.header_rules import ASCII_HEADER_VALUE
from asyncsink_http.options.proxy_url import parsed_proxy

_SOCKET_PATH_BYTES: Final = 107  # Linux has room for 108, of which a zero is the last


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions(ConnectorOptions):
    """How connections are opened, and through what."""

    transport: Literal["httpx", "aiohttp"] = option(
        "httpx",
        doc="Client that carries the requests: httpx's own engine, or aiohttp, which costs less CPU, speaks HTTP/1.1 "
        "only and needs the extra aiohttp.",
    )
    http_version: Literal["1.1", "2"] = option(
        "1.1",
        doc="Version of HTTP. 2 shares connections among requests and needs the extra http2; the server has to speak "
        "it, with TLS or, at an http:// address, without.",
    )
    proxy: str | None = option(
        None,
        doc="Proxy of all requests, as in http://proxy.example.com:3128; also https, and socks5, which needs the extra "
        "socks. Without it the environment variables HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY decide; none "
        "heeds not even these.",
        aliases=["proxyUrl"],
    )
    proxy_username: str | None = option(None, doc="Name at the proxy; needs proxyPassword too.")
    proxy_password: str | None = option(None, doc="Password at the proxy.", secret=True)
    unix_socket: str | None = option(
        None, doc="Path of a Unix socket on which the server listens; url still says what to ask it for."
    )
    redirects: Literal["none", "same-origin"] = option(
        "none",
        doc="same-origin follows 307 and 308 to addresses of the same scheme, host and port. Any other redirect fails.",
    )
    connect_timeout_s: float = option(10.0, doc="Time for opening a connection, TLS included.", unit="s")

    def check_connection(self, header_texts: Mapping[str, str]) -> None:
        """Check how connections are opened, and whether they can carry what the other options send.

        :param header_texts: what options write into headers, by their names
        :raises ConfigurationError: an option of connections breaks its rule, or two contradict each other
        """
        if self.connect_timeout_s <= 0:
            raise ConfigurationError(
                f"option 'connectTimeout' = {self.connect_timeout_s} must be larger than 0; give for example 10s"
            )
        if self.transport == "aiohttp" and self.http_version == "2":
            raise ConfigurationError(
                "option 'httpVersion' = '2' contradicts transport=aiohttp, which speaks HTTP/1.1 only; leave one out"
            )
        if self.transport == "aiohttp":
            _check_ascii(header_texts)
        if self.unix_socket is not None:
            self._check_unix_socket(self.unix_socket)
        if self.proxy is not None and self.proxy != "none":
            self._check_proxy(self.proxy)
        self._check_proxy_credentials()

    def _check_unix_socket(self, path: str) -> None:
        if not path.startswith("/"):
            raise ConfigurationError(
                f"option 'unixSocket' = {path!r} is no absolute path; give for example /var/run/api.sock"
            )
        if len(path.encode()) > _SOCKET_PATH_BYTES:
            raise ConfigurationError(
                f"option 'unixSocket' = {path!r} is longer than the {_SOCKET_PATH_BYTES} bytes that the path of a "
                "socket may have; give a shorter one, such as that of a link to it"
            )
        if self.proxy not in (None, "none"):
            raise ConfigurationError(
                "options 'unixSocket' and 'proxy' contradict each other: no proxy stands before a Unix socket; leave "
                "one out"
            )

    def _check_proxy(self, text: str) -> None:
        try:
            proxy = parsed_proxy(text)
        except ValueError as error:
            # The text may hold a password.
            raise ConfigurationError(
                f"option 'proxy' is no proxy's URL: {error}; write for example http://proxy.example.com:3128, or none"
            ) from None
        if proxy.credentials is not None:
            raise ConfigurationError(
                "option 'proxy' holds a name or a password, which Spark would show; give them as options "
                "'proxyUsername' and 'proxyPassword'"
            )
        if proxy.is_socks and self.transport == "aiohttp":
            raise ConfigurationError(
                "option 'proxy' names a SOCKS proxy, which transport=aiohttp cannot use; leave transport out"
            )
        if proxy.scheme == "https" and self.transport == "aiohttp":
            raise ConfigurationError(
                "option 'proxy' names a proxy that speaks TLS, to which transport=aiohttp would show the certificate "
                "for the destination, and trust it no more than that; leave transport out"
            )

    def _check_proxy_credentials(self) -> None:
        name, password = self.proxy_username, self.proxy_password
        if (name is None) != (password is None):
            given, missing = ("Username", "Password") if password is None else ("Password", "Username")
            raise ConfigurationError(f"option 'proxy{given}' is given without 'proxy{missing}'; a proxy asks for both")
        if name is not None and self.proxy in (None, "none"):
            raise ConfigurationError("option 'proxyUsername' is given without 'proxy'; give it, or leave both out")


def _check_ascii(header_texts: Mapping[str, str]) -> None:
    for name, text in header_texts.items():
        if not ASCII_HEADER_VALUE.fullmatch(text):
            raise ConfigurationError(
                f"option '{name}' holds a character beyond ASCII, which transport=aiohttp cannot send in a header; "
                "write it in ASCII, or leave transport out"
            )
