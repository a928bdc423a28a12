"""URLs as messages may show them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit


def shown_url(url: str) -> str:
    """A URL without what may be a secret: what stands in its query, and its fragment."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="***" if parts.query else "", fragment=""))


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
