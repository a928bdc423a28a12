"""The connector's own options, all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from asyncsink.options import Alias
from asyncsink.options.fields import option_fields
from asyncsink_http.options.answer_options import AnswerOptions
from asyncsink_http.options.auth_options import AuthOptions
from asyncsink_http.options.body_options import BodyOptions
from asyncsink_http.options.connection_options import ConnectionOptions
from asyncsink_http.options.flink import LENT, REFUSED, translated
from asyncsink_http.options.preset_options import PresetOptions
from asyncsink_http.options.request_options import RequestOptions
from asyncsink_http.urls import shown_url


@dataclass(frozen=True, kw_only=True)
class HttpOptions(ConnectionOptions, AuthOptions, AnswerOptions, BodyOptions, PresetOptions, RequestOptions):
    """Where requests go, what they look like, what follows their answers, and who sends them."""

    refused: ClassVar[Mapping[str, str]] = REFUSED
    lent: ClassVar[Mapping[str, Alias]] = LENT

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        return translated(options)

    def __post_init__(self) -> None:
        self.check_request()
        self.check_preset(self.url, self.shown_url, self.body, self.template_row)
        self.check_deletes(self.body)
        self.check_body()
        self.check_answers()
        self.check_auth(self.headers, has_preset=self.preset is not None)
        self.check_connection(self._header_texts())

    def _header_texts(self) -> Mapping[str, str]:
        """What options write into headers as it is, by their names."""
        given = {"contentType": self.content_type, "bearerToken": self.bearer_token, "hmac.prefix": self.hmac_prefix}
        headers = {f"header.{name}": made.literal for name, made in self._headers().items()}
        return headers | {name: text for name, text in given.items() if text is not None}

    def resolved(self) -> Self:
        """These options with what the user has left open; everything but messages to the user is made of them."""
        given = {name: value for name, value in self.of_preset().items() if getattr(self, name) is None}
        return replace(self, **({"body": self.body or self.default_body} | given))

    def __repr__(self) -> str:
        shown = {each.field: _shown(getattr(self, each.field), each.secret) for each in option_fields(type(self))}
        shown["url"] = self.shown_url
        if self.oauth2_token_url is not None:
            shown["oauth2_token_url"] = shown_url(self.oauth2_token_url)
        return f"HttpOptions({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _shown(value: Any, is_secret: bool) -> Any:
    """A value without what is secret of it; of headers the names may be seen."""
    if not is_secret or value is None:
        return value
    return dict.fromkeys(value, "***") if isinstance(value, Mapping) else "***"
