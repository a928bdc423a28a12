"""What no message may show: credentials, and whatever headers and query hold."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from asyncsink_http.auth.static import authorization
from asyncsink_http.options import HttpOptions

_MESSAGE_CHARACTERS = 200
_WORD_CHARACTERS = 4  # a shorter secret is hidden where it stands alone: hiding every "1" would leave no message


def redact(text: str, options: HttpOptions) -> str:
    """The first 200 characters of a text in one line, without the secrets among the options."""
    for secret in secrets_of(options):
        if len(secret) >= _WORD_CHARACTERS:
            text = text.replace(secret, "***")
        else:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    line = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text).strip()
    return line if len(line) <= _MESSAGE_CHARACTERS else line[: _MESSAGE_CHARACTERS - 1] + "…"


def secrets_of(options: HttpOptions) -> list[str]:
    """Every value that may be a secret, in each form in which a server may repeat it; longest first."""
    found = {options.bearer_token, options.password, *_of_query(urlsplit(options.url).query)}
    values = [*options.headers.values(), authorization(options) or ""]
    # The credentials of `Basic abc` are told without their scheme too.
    found.update(values, (value.partition(" ")[2] for value in values))
    return sorted((secret for secret in found if secret and secret.strip()), key=len, reverse=True)


def _of_query(query: str) -> list[str]:
    written = [pair.partition("=")[2] for pair in query.split("&")]
    return [query, *written, *(value for _, value in parse_qsl(query))]
