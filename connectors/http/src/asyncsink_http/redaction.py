"""What no message may show: credentials, and whatever headers and query hold."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from asyncsink.options.fields import option_fields
from asyncsink_http.options import HttpOptions

_WORD_CHARACTERS: Final = 4  # a shorter secret is hidden where it stands alone: hiding all "1" would leave no message
_MOST_LEARNED: Final = 2048  # a query may run for years, and a scheme may sign each request that is in flight anew
_COLUMN: Final = "\0"  # stands for the value of a column
_IN_HTML: Final = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "&<>"})


class Redaction:
    """Hides secrets in texts: those among the options, and those that a client has learned last."""

    def __init__(self, options: HttpOptions) -> None:
        self._given = frozenset(_of_options(options))
        self._learned: dict[str, str] = {}  # each with a part that no form of it changes

    def learn(self, *secrets: str) -> None:
        """Hide these too from now on; blanks are no secret."""
        for secret in secrets:
            if secret.strip():
                # Anew at the end, where it is forgotten last.
                self._learned.pop(secret, None)
                self._learned[secret] = max(re.findall("[0-9A-Za-z]+", secret), key=len, default="")
        while len(self._learned) > _MOST_LEARNED:
            del self._learned[next(iter(self._learned))]

    def learn_header(self, value: str) -> None:
        """Hide the value of a header; the credentials of ``Basic abc`` are told without their scheme too."""
        self.learn(value, value.partition(" ")[2])

    def hide(self, text: str, most: int = 200) -> str:
        """The first `most` characters of a text in one line, without secrets, however a server writes them."""
        # To look for every form of what thousands of requests were signed with would cost milliseconds.
        learned = (secret for secret, part in self._learned.items() if part in text)
        forms = {form for secret in (*self._given, *learned) for form in _forms(secret)}
        # The longest first: one secret may be part of another.
        for secret in sorted(forms, key=len, reverse=True):
            if len(secret) >= _WORD_CHARACTERS:
                text = text.replace(secret, "***")
            else:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        line = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text).strip()
        return line if len(line) <= most else line[: most - 1] + "…"


@lru_cache(maxsize=256)
def _forms(secret: str) -> frozenset[str]:
    """A secret as it is, and as queries, forms, JSON and HTML write it; empty for blanks."""
    if not secret.strip():
        return frozenset()
    quoted = (quote(secret, safe=""), quote_plus(secret))
    in_json = (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    return frozenset(
        {
            secret,
            *quoted,
            *(re.sub("%..", lambda found: found[0].lower(), each) for each in quoted),
            *in_json,
            *(each.replace("/", r"\/") for each in in_json),  # as PHP has it
            *(each.translate(_IN_HTML) for each in in_json),  # as Go has it
            html.escape(secret),
            secret.encode("latin-1", "replace").decode(errors="replace"),  # as a header holds it, read as UTF-8
        }
    )


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
    yield from _of_query(urlsplit(options.oauth2_token_url or "").query)
    yield from options.fixed_headers.values()
    for template in options.header_templates.values():
        yield from _around_columns(template.with_columns_as(_COLUMN))
    for text in _of_query(urlsplit(options.url_template.with_columns_as(_COLUMN)).query):
        yield from _around_columns(text)


def _around_columns(text: str) -> Iterator[str]:
    """What stands beside columns is as secret as a whole text; a separator or a bracket is none."""
    yield from (part for part in text.split(_COLUMN) if part == text or len(part) >= _WORD_CHARACTERS)


def _of_query(query: str) -> Iterator[str]:
    yield query
    yield from (pair.partition("=")[2] for pair in query.split("&"))
    yield from (value for _, value in parse_qsl(query))
