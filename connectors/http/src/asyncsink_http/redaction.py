"""What no message may show: credentials, and whatever headers and query hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from asyncsink.options.fields import option_fields
from asyncsink_http.options import HttpOptions

_WORD_CHARACTERS = 4  # a shorter secret is hidden where it stands alone: hiding every "1" would leave no message
_MOST_LEARNED = 256  # tokens expire, and a query may run for years


class Redaction:
    """Hides secrets in texts: those among the options, and those that a client has learned last."""

    def __init__(self, options: HttpOptions) -> None:
        self._given = frozenset(form for secret in _of_options(options) for form in _forms(secret))
        self._learned: dict[str, None] = {}

    def learn(self, *secrets: str) -> None:
        """Hide these too from now on, in each form in which a server may repeat them; blanks are no secret."""
        for secret in secrets:
            for form in _forms(secret):
                # Anew at the end, where it is forgotten last.
                self._learned.pop(form, None)
                self._learned[form] = None
        while len(self._learned) > _MOST_LEARNED:
            del self._learned[next(iter(self._learned))]

    def learn_header(self, value: str) -> None:
        """Hide the value of a header; the credentials of ``Basic abc`` are told without their scheme too."""
        self.learn(value, value.partition(" ")[2])

    def hide(self, text: str, most: int = 200) -> str:
        """The first `most` characters of a text in one line, without secrets."""
        # The longest first: one secret may be part of another.
        for secret in sorted({*self._given, *self._learned}, key=len, reverse=True):
            if len(secret) >= _WORD_CHARACTERS:
                text = text.replace(secret, "***")
            else:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        line = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text).strip()
        return line if len(line) <= most else line[: most - 1] + "…"


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as forms, queries and JSON write it."""
    if secret.strip():
        yield from {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}


def _of_options(options: HttpOptions) -> Iterator[str]:
    for each in option_fields(HttpOptions):
        value = getattr(options, each.field)
        if not each.secret or not value:
            continue
        if isinstance(value, Mapping):
            for header in value.values():
                yield from (header, header.partition(" ")[2])
        else:
            yield value
    for url in (options.url, options.oauth2_token_url or ""):
        yield from _of_query(urlsplit(url).query)
    yield from options.fixed_headers.values()
    for template in options.header_templates.values():
        # What stands beside a column is as secret as a whole header; a separator or a bracket is none.
        yield from (part for part in template.parts if isinstance(part, str) and len(part) >= _WORD_CHARACTERS)


def _of_query(query: str) -> Iterator[str]:
    yield query
    yield from (pair.partition("=")[2] for pair in query.split("&"))
    yield from (value for _, value in parse_qsl(query))
