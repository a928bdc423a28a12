"""Options of OAuth 2: tokens for a client's id and secret (RFC 6749, 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias, ConnectorOptions, option
from asyncsink_http.options.given_options import given_options
from asyncsink_http.urls import is_host

_NEEDED: Final = ("oauth2_token_url", "oauth2_client_id", "oauth2_client_secret")


@dataclass(frozen=True, kw_only=True)
class OAuth2Options(ConnectorOptions):
    """Where tokens come from, and who asks for them."""

    oauth2_token_url: str | None = option(
        None,
        name="oauth2.tokenUrl",
        doc="Token endpoint of an OAuth 2 server, which gives tokens for client id and secret.",
        aliases=["http.security.oidc.token.endpoint.url", "oauth2.token.url"],
    )
    oauth2_client_id: str | None = option(
        None,
        name="oauth2.clientId",
        doc="Client id for the token endpoint.",
        aliases=["oauth2.client_key", "oauth2.client.id"],
    )
    oauth2_client_secret: str | None = option(
        None,
        name="oauth2.clientSecret",
        doc="Secret of the client for the token endpoint.",
        aliases=["oauth2.client.secret"],
        secret=True,
    )
    oauth2_scope: str | None = option(
        None,
        name="oauth2.scope",
        doc="Scopes that are asked for at the token endpoint, with blanks between them.",
        aliases=["oauth2.scopes", "oauth2.client.scope"],
    )
    oauth2_audience: str | None = option(
        None, name="oauth2.audience", doc="Audience that is asked for at the token endpoint, which some servers want."
    )
    oauth2_auth_style: Literal["basic", "post"] = option(
        "basic",
        name="oauth2.authStyle",
        doc="How client id and secret go to the token endpoint: basic, by basic authentication; post, in the form.",
    )
    oauth2_refresh_before_s: float = option(
        30.0,
        name="oauth2.refreshBefore",
        doc="Time before a token's end at which another is asked for; never later than after four fifths of its life, "
        "and never before half of it.",
        unit="s",
        aliases=[Alias("http.security.oidc.token.expiry.reduction", unit="s")],
    )

    def check_oauth2(self) -> None:
        """:raises ConfigurationError: an option of OAuth 2 breaks its rule, or others are missing"""
        given = given_options(self, "oauth2_")
        if not given:
            return
        for name, field in zip(("tokenUrl", "clientId", "clientSecret"), _NEEDED, strict=True):
            if not getattr(self, field):
                raise ConfigurationError(
                    f"option 'oauth2.{name}' is missing, and {given[0].name!r} is given; OAuth 2 needs "
                    "oauth2.tokenUrl, oauth2.clientId and oauth2.clientSecret"
                )
        parts = _split(self.oauth2_token_url or "")
        if parts is None or parts.scheme.lower() not in ("http", "https") or "@" in parts.netloc:
            # Without the text: what cannot be read may hold a password in any place.
            raise ConfigurationError(
                "option 'oauth2.tokenUrl' must be a URL of http or https without a user's name, such as "
                "https://login.example.com/oauth2/token"
            )


def _split(url: str) -> SplitResult | None:
    if any(character <= " " or character == "\x7f" for character in url):
        return None
    try:
        parts = urlsplit(url)
        is_read = parts.port != 0 and is_host(parts.hostname or "")
    except ValueError:  # a port beyond 65535, or half of an IPv6 address
        return None
    return parts if is_read else None
