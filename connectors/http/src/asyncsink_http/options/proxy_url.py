"""What the URL of a proxy says."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from asyncsink_http.urls import PORTS, is_host

_PORTS = {**PORTS, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """A proxy's address, and who asks it."""

    scheme: str
    host: str
    port: int
    credentials: tuple[str, str] | None

    @property
    def url(self) -> str:
        """The address without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")


def parsed_proxy(text: str) -> Proxy:
    """A proxy of its URL.

    :raises ValueError: says what is wrong with it, without quoting any of it
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("its host or its port cannot be read") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise ValueError(f"its scheme is none of {', '.join(_PORTS)}")
    if not host:
        raise ValueError("it names no host")
    if port == 0 or not is_host(host):
        raise ValueError("its host or its port cannot be read")
    credentials = None
    if parts.username is not None:
        credentials = unquote(parts.username), unquote(parts.password or "")
    return Proxy(scheme, host, port or _PORTS[scheme], credentials)
