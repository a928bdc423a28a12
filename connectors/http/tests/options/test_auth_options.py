"""Options of credentials, signatures and TLS: what is read, by which names, and what is refused in which words."""

from __future__ import annotations

import pytest

from asyncsink import ConfigurationError
from asyncsink_http import HttpOptions

URL = "https://api.example.com/rows"
OAUTH2 = {"oauth2.tokenUrl": "https://login/token", "oauth2.clientId": "me", "oauth2.clientSecret": "s3cret"}


def read(**options: str) -> HttpOptions:
    return HttpOptions.from_options({"url": URL, **options})


@pytest.mark.parametrize(
    ("alias", "text", "field", "value"),
    [
        ("connection.user", "me", "username", "me"),
        ("connection.password", "pw", "password", "pw"),
        ("http.security.oidc.token.endpoint.url", "https://login/token", "oauth2_token_url", "https://login/token"),
        ("oauth2.token_url", "https://login/token", "oauth2_token_url", "https://login/token"),
        ("oauth2.token.url", "https://login/token", "oauth2_token_url", "https://login/token"),
        ("oauth2.client.id", "me", "oauth2_client_id", "me"),
        ("oauth2.client.secret", "s3cret", "oauth2_client_secret", "s3cret"),
        ("oauth2.client.scope", "a b", "oauth2_scope", "a b"),
        ("oauth2.client_key", "me", "oauth2_client_id", "me"),
        ("oauth2.client_secret", "s3cret", "oauth2_client_secret", "s3cret"),
        ("oauth2.scopes", "a b", "oauth2_scope", "a b"),
        ("http.security.oidc.token.expiry.reduction", "5", "oauth2_refresh_before_s", 5.0),
        ("http.security.oidc.token.expiry.reduction", "1min", "oauth2_refresh_before_s", 60.0),
        ("http.security.cert.server", "/ca.pem", "tls_ca_file", "/ca.pem"),
        ("http.security.cert.client", "/cert.pem", "tls_certificate_file", "/cert.pem"),
        ("http.security.key.client", "/key.pem", "tls_key_file", "/key.pem"),
    ],
)
def test_names_from_elsewhere_are_aliases(alias: str, text: str, field: str, value: object) -> None:
    needed = {
        "connection.user": {"password": "pw"},
        "connection.password": {"username": "me"},
        "http.security.key.client": {"tls.certificateFile": "/cert.pem"},
    }
    if field.startswith("oauth2_"):
        replaced = {
            "oauth2_token_url": "tokenUrl",
            "oauth2_client_id": "clientId",
            "oauth2_client_secret": "clientSecret",
        }
        others = {name: given for name, given in OAUTH2.items() if name != f"oauth2.{replaced.get(field)}"}
    else:
        others = needed.get(alias, {})
    assert getattr(read(**{alias: text, **others}), field) == value


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bearerToken": ""}, "option 'bearerToken' is empty; give a value, or leave it out"),
        ({**OAUTH2, "oauth2.clientSecret": ""}, "option 'oauth2.clientSecret' is empty"),
        ({"bearerTokenFile": "/t", "bearerToken": "t"}, "'bearerToken' and 'bearerTokenFile' both say who sends"),
        ({"bearerTokenEnv": "T", "auth": "a:B"}, "'bearerTokenEnv' and 'auth' both say who sends; give one of them"),
        ({**OAUTH2, "username": "me", "password": "pw"}, "'username' and 'oauth2.tokenUrl' both say who sends"),
        ({"auth": "a:B", "header.Authorization": "x"}, "'auth' and 'header.Authorization' both say who sends"),
        ({"hmac.secret": "s", "hmac.header": "authorization", "bearerToken": "t"}, "'bearerToken' and 'hmac.header'"),
        ({"bearerTokenEnv": "eyJ-s3cret.x"}, "option 'bearerTokenEnv' names no environment variable; give the"),
        ({"authorizationScheme": "two words"}, "option 'authorizationScheme' = 'two words' must be one word"),
        ({"auth": "company.api.Signing"}, "option 'auth' = 'company.api.Signing' is no import path; write it"),
        ({"auth": ".:."}, "option 'auth' = '.:.' is no import path; write it as 'package.module:name'"),
        ({"authorizationScheme": "Token"}, "option 'authorizationScheme' = 'Token' stands before a token, and there"),
        (
            {"authorizationScheme": "Token", "username": "a", "password": "s3cret"},
            "and there is none; give bearerToken",
        ),
        ({"oauth2.clientId": "me"}, "option 'oauth2.tokenUrl' is missing, and 'oauth2.clientId' is given; OAuth 2"),
        ({"oauth2.scope": "a"}, "option 'oauth2.tokenUrl' is missing, and 'oauth2.scope' is given"),
        ({"oauth2.tokenUrl": "https://l/t", "oauth2.clientId": "me"}, "option 'oauth2.clientSecret' is missing"),
        ({**OAUTH2, "oauth2.tokenUrl": "https://me:s3cret@login/t"}, "option 'oauth2.tokenUrl' must be a URL of http"),
        ({**OAUTH2, "oauth2.tokenUrl": "login/token"}, "option 'oauth2.tokenUrl' must be a URL of http or https"),
        ({**OAUTH2, "oauth2.tokenUrl": "https://login:s3cret/"}, "option 'oauth2.tokenUrl' must be a URL of http"),
        ({**OAUTH2, "oauth2.tokenUrl": "https://lo\\gin/t"}, "option 'oauth2.tokenUrl' must be a URL of http"),
        ({**OAUTH2, "oauth2.tokenUrl": "https://login:0/t"}, "option 'oauth2.tokenUrl' must be a URL of http"),
        ({**OAUTH2, "oauth2.tokenUrl": "https://login/a b"}, "option 'oauth2.tokenUrl' must be a URL of http"),
        ({**OAUTH2, "oauth2.authStyle": "jwt"}, "option 'oauth2.authStyle' = 'jwt' must be 'basic' or 'post'"),
        ({"hmac.header": "X-Sign"}, "option 'hmac.secret' is missing or empty, and 'hmac.header' is given"),
        ({"hmac.secret": "s3cret", "hmac.header": "a b"}, "option 'hmac.header' = 'a b' names no header"),
        ({"hmac.secret": "s3cret", "hmac.header": "Host"}, "'hmac.header' = 'Host' is a header that is set otherwise"),
        ({"hmac.secret": "s3cret", "header.x-signature": "x"}, "'hmac.header' = 'X-Signature' is a header that is set"),
        (
            {"hmac.secret": "s3cret", "hmac.timestampHeader": "x-signature"},
            "option 'hmac.timestampHeader' = 'x-signature' is a header that is set otherwise; give another one",
        ),
        ({"hmac.secret": "s3cret", "hmac.prefix": "a\r\nb"}, "option 'hmac.prefix' holds a line break"),
        ({"tls.keyFile": "/key.pem"}, "option 'tls.keyFile' is given without 'tls.certificateFile'"),
        ({"tls.keyPassword": "s3cret"}, "option 'tls.keyPassword' is given without 'tls.certificateFile'"),
        ({"tls.caFile": "/a.pem,/trust.JKS"}, "option 'tls.caFile' = '/trust.JKS' is a store of Java's by its name"),
        ({"tls.caFile": " , "}, "option 'tls.caFile' = ' , ' names no file; give the path of one in PEM"),
        ({"tls.certificateFile": "/c.p12"}, "and only PEM is read; make that by keytool"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**options)
    assert sentence in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_password_may_be_empty() -> None:
    # As of APIs whose key is the name.
    assert read(username="key", password="").password == ""


def test_the_query_of_a_token_endpoint_is_not_shown() -> None:
    shown = repr(read(**{**OAUTH2, "oauth2.tokenUrl": "https://login/token?code=s3cret"}))
    assert "oauth2_token_url='https://login/token?***'" in shown
    assert "s3cret" not in shown
