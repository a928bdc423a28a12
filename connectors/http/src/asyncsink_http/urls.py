"""URLs: as messages may show them, and where they lead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from asyncsink.errors import ConfigurationError


def shown_url(url: str) -> str:
    """A URL without what may be a secret: what stands in its query, and its fragment."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="***" if parts.query else "", fragment=""))


def shown_target(url: str, location: str) -> str | None:
    """Scheme, host and port of where a redirect leads, for the rest may be a secret; None if that cannot be read."""
    try:
        parts = urlsplit(urljoin(url, location))
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else None


def shown_unread_url(url: str) -> str:
    """The same of a text that may be no URL: all but the scheme is hidden where there may be user info."""
    if "@" in url:
        return f"{scheme_of(url)}://***" if scheme_of(url) else "***"
    shown = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r":(?!//)(?!\d{1,5}(?:/|$))[^/]*", ":***", shown)


def scheme_of(url: str) -> str:
    """What stands before ``://``; without that a colon may belong to a user's name and password."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    return found[1] if found else ""


def is_host(host: str) -> bool:
    """Whether a host of that name can be looked for at all: it is an IP address, or labels that DNS can carry."""
    if not host.isascii():
        import httpx  # which knows what DNS has for such a name

        try:
            host = httpx.URL(f"https://{host}").raw_host.decode()
        except httpx.InvalidURL:
            return False
    if ":" in host or re.fullmatch(r"\d+(?:\.\d+){3}", host):
        try:
            return bool(ip_address(host))
        except ValueError:
            return False
    return len(host) < 255 and all(map(_LABEL.fullmatch, host.removesuffix(".").split(".")))


_LABEL: Final = re.compile(r"[A-Za-z0-9_-]{1,63}")

DOT_SEGMENT: Final = re.compile(r"(?:/|%2f|%5c)(?:\.|%2e){1,2}(?=[/;]|%2f|%5c|%3b|$)", re.IGNORECASE)
"""A segment of a path that leads up or nowhere, also as servers read it that decode it first, slashes and backslashes
included, or cut parameters off."""


PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
"""Where servers of a scheme listen if an address does not say it."""


def origin_of(url: str) -> str:
    """Scheme, host and port of an address: who is given the credentials, and shares limits.

    :raises ValueError: it cannot be read
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    port = parts.port or PORTS.get(scheme)
    return f"{scheme}://{parts.hostname}:{port}"


@dataclass(frozen=True, slots=True)
class AllowedUrls:
    """Where an address of a row may lead: row data must never choose who is given the credentials.

    :param origin: where every path may be chosen
    :param under: origins with the path under which others may lead
    """

    origin: str
    under: tuple[tuple[str, str], ...]

    def check(self, url: str) -> None:
        """:raises ValueError: the address is none, or leads elsewhere; the message shows its host only"""
        if not _URL.fullmatch(url):
            raise ValueError(
                "it is no address that can be sent to; write it as https://api.example.com/rows, with %20 for a space, "
                "and without user, password and fragment"
            )
        origin = origin_of(url)
        path = urlsplit(url).path or "/"
        if DOT_SEGMENT.search(path):
            raise ValueError("it has a segment . or .. in its path; write the path that it leads to")
        if origin != self.origin and not any(origin == each and _is_under(path, top) for each, top in self.under):
            raise ValueError(
                f"it leads to {origin}, and neither option 'url' nor option 'urlAllow' does; add the address to "
                "urlAllow if rows may be sent there"
            )


def allowed_urls(url: str, more: Sequence[str]) -> AllowedUrls:
    """Where rows may lead beside the host of `url`.

    :raises ConfigurationError: one of the others is no address
    """
    return AllowedUrls(origin_of(url), tuple(map(_allowed, more)))


def _allowed(url: str) -> tuple[str, str]:
    try:
        path = urlsplit(url).path or "/"
        if _URL.fullmatch(url) and "?" not in url and not DOT_SEGMENT.search(path):
            return origin_of(url), path
    except ValueError:  # a port beyond 65535, or half of an IPv6 address
        pass
    raise ConfigurationError(
        f"option 'urlAllow' has {shown_unread_url(url)!r}, which is no address with scheme, host and perhaps a path; "
        "write for example https://eu.example.com,https://us.example.com/in"
    )


# RFC 3986, without user info and fragment; a port has at most five digits. No backslash either:
# some parsers take it for a slash.
_URL = re.compile(
    r"https?://(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,4}|:[1-6][0-9]{4})?"
    r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?",
    re.IGNORECASE,
)


def _is_under(path: str, top: str) -> bool:
    return path == top or path.startswith(top if top.endswith("/") else f"{top}/")
