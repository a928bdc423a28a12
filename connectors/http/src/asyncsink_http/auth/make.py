"""From options to who sends."""

from __future__ import annotations

import os

from asyncsink.errors import ConfigurationError
from asyncsink_http.auth.authorizer import Authorizer, Send
from asyncsink_http.auth.static import StaticCredentials, authorization
from asyncsink_http.auth.token_file import TOKEN, TokenFile
from asyncsink_http.auth.tokens import TokenCache, Tokens
from asyncsink_http.options import HttpOptions
from asyncsink_http.redaction import Redaction
from asyncsink_http.requests.request import Header


def authorizer_of(options: HttpOptions, redaction: Redaction, fetch: Send) -> Authorizer:
    """What adds the credentials that the options name.

    The options' headers are added with them: any of these may hold a secret, such as an API's key.

    :param options: resolved ones
    :param redaction: learns what must not be shown
    :param fetch: sends requests to others than the destination, without credentials
    :raises ConfigurationError: what an option names is not there where the tasks run
    """
    authorizer = _of_who_sends(options, redaction, fetch)
    if options.hmac_secret is None:
        return authorizer
    from asyncsink_http.auth.hmac_signing import HmacSigning

    return HmacSigning(options, authorizer)


def _of_who_sends(options: HttpOptions, redaction: Redaction, fetch: Send) -> Authorizer:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in options.fixed_headers.items()]
    if (tokens := _tokens(options, redaction, fetch)) is not None:
        from asyncsink_http.auth.bearer import BearerTokens

        return BearerTokens(tokens, headers, options.authorization_scheme or "Bearer", redaction)
    if options.auth is not None:
        from asyncsink_http.auth.httpx_auth import HttpxAuth, load_auth

        return HttpxAuth(options.auth, load_auth(options.auth), headers, redaction, fetch)
    return StaticCredentials([*_static(options, redaction), *headers])


def _tokens(options: HttpOptions, redaction: Redaction, fetch: Send) -> Tokens | None:
    if options.bearer_token_file is not None:
        return TokenFile(options.bearer_token_file)
    if options.oauth2_token_url is None:
        return None
    from asyncsink_http.auth.oauth2 import ClientCredentials

    credentials = ClientCredentials(options, redaction, fetch)
    return TokenCache(credentials.fetch, options.oauth2_refresh_before_s)


def _static(options: HttpOptions, redaction: Redaction) -> list[Header]:
    token = options.bearer_token if options.bearer_token_env is None else _in_environment(options.bearer_token_env)
    credentials = authorization(options, token)
    if credentials is None:
        return []
    redaction.learn_header(credentials)
    return [(b"Authorization", credentials.encode("latin-1"))]


def _in_environment(name: str) -> str:
    token = os.environ.get(name, "").strip()
    if not TOKEN.fullmatch(token):
        found = "holds more than one word of ASCII" if token else "is not set or empty"
        raise ConfigurationError(
            f"option 'bearerTokenEnv' = {name!r}: that environment variable {found} where the tasks run; set it there, "
            f"such as by spark.executorEnv.{name}"
        )
    return token
