"""What no message may show: credentials, and whatever headers and query hold."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from asyncsink_http.options import HttpOptions

_WORD_CHARACTERS = 4  # a shorter secret is hidden where it stands alone: hiding every "1" would leave no message


class Redaction:
    """Hides secrets in texts: those among the options, and those that a client learns later."""

    def __init__(self, options: HttpOptions) -> None:
        self._secrets: list[str] = []
        self.learn(*_of_options(options))

    def learn(self, *secrets: str) -> None:
        """Hide these too from now on, in each form in which a server may repeat them; blanks are no secret."""
        found = {*self._secrets, *(secret for secret in secrets if secret.strip())}
        # The longest first: one secret may be part of another.
        self._secrets = sorted(found, key=len, reverse=True)

    def learn_header(self, value: str) -> None:
        """Hide the value of a header; the credentials of ``Basic abc`` are told without their scheme too."""
        self.learn(value, value.partition(" ")[2])

    def hide(self, text: str, most: int = 200) -> str:
        """The first `most` characters of a text in one line, without secrets."""
        for secret in self._secrets:
            if len(secret) >= _WORD_CHARACTERS:
                text = text.replace(secret, "***")
            else:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        line = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text).strip()
        return line if len(line) <= most else line[: most - 1] + "…"


def _of_options(options: HttpOptions) -> list[str]:
    values = options.headers.values()
    return [
        options.bearer_token or "",
        options.password or "",
        *_of_query(urlsplit(options.url).query),
        *values,
        *(value.partition(" ")[2] for value in values),
    ]


def _of_query(query: str) -> list[str]:
    written = [pair.partition("=")[2] for pair in query.split("&")]
    return [query, *written, *(value for _, value in parse_qsl(query))]
