"""The template of an address: where in it a row may have a say."""

from __future__ import annotations

import re
from typing import Final

from asyncsink.errors import ConfigurationError
from asyncsink_http.templates.encoders import PATH, QUERY, TextEncoder
from asyncsink_http.templates.template import Placeholder, Template
from asyncsink_http.urls import DOT_SEGMENT

_BEFORE_PATH: Final = re.compile(r"[^:/?#]*://[^/?#]*/")
_BRACES: Final = str.maketrans({"{": "%7B", "}": "%7D"})  # RFC 3986 has no place for them as they are


def url_template(url: str) -> Template:
    """The option ``url``: placeholders in path and query, never before them.

    No message names a column of the query, as what looks like one may be part of a secret.

    :raises ConfigurationError: a placeholder stands where no row may have a say, or the path of a template goes up
    """
    found = Template.parse("url", url, PATH)
    parts: list[str | Placeholder] = []
    before = ""
    for part in found.parts:
        if isinstance(part, str):
            parts.append(part.translate(_BRACES))
            before += part
        else:
            parts.append(part._replace(encoder=_encoder(before)))
            before += "x"
    if found.columns and DOT_SEGMENT.search(before.partition("?")[0]):
        raise ConfigurationError(
            "option 'url' has a place for a column and a segment . or .. in its path; write the path that it leads to"
        )
    is_secret = any(each.encoder is QUERY for each in parts if not isinstance(each, str))
    return Template("url", tuple(parts), is_secret)


def _encoder(before: str) -> TextEncoder:
    """What writes a value behind `before`.

    :raises ConfigurationError: no row may have a say there
    """
    if "#" in before or not _BEFORE_PATH.match(before):
        raise ConfigurationError(
            "option 'url' has a place for a column in its fragment, which is never sent, or before its path; rows may "
            "choose path and query only, as in https://api.example.com/orders/{id}: a column url, beside a column "
            "body or value, holds whole addresses"
        )
    return QUERY if "?" in before else PATH
