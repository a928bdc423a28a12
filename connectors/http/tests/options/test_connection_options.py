"""Options of connections: what contradicts what, and what is never shown."""

from __future__ import annotations

import pytest

from asyncsink import ConfigurationError
from asyncsink_http import HttpOptions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"connectTimeout": "0s"}, "option 'connectTimeout' = 0.0 must be larger than 0"),
        ({"transport": "aiohttp", "httpVersion": "2"}, "contradicts transport=aiohttp"),
        ({"transport": "aiohttp", "header.X-A": "s3cretü"}, "option 'header.X-A' holds a character beyond ASCII"),
        ({"transport": "aiohttp", "header.X-A": "s3cretü{a}"}, "which transport=aiohttp cannot send in a header"),
        ({"transport": "aiohttp", "bearerToken": "s3cretü"}, "option 'bearerToken' holds a character beyond ASCII"),
        ({"transport": "aiohttp", "contentType": "text/ü"}, "option 'contentType' holds a character beyond ASCII"),
        (
            {"transport": "aiohttp", "hmac.secret": "ü", "hmac.prefix": "ü="},
            "option 'hmac.prefix' holds a character beyond ASCII",
        ),
        ({"transport": "aiohttp", "proxy": "socks5://host:1"}, "a SOCKS proxy, which transport=aiohttp cannot use"),
        ({"transport": "aiohttp", "proxy": "https://host:1"}, "would show the certificate for the destin"),
        ({"unixSocket": "api.sock"}, "option 'unixSocket' = 'api.sock' is no absolute path"),
        ({"unixSocket": f"/{'é' * 54}"}, "is longer than the 107 bytes that the path of a socket may have"),
        ({"unixSocket": "/api.sock", "proxy": "http://host:1"}, "contradict each other"),
        ({"proxy": "gopher://me:s3cret@host:1"}, "its scheme is none of http, https, socks5, socks5h"),
        ({"proxy": "http://me:s3cret@host:1"}, "give them as options 'proxyUsername' and 'proxyPassword'"),
        ({"proxy": "http://me@host:1"}, "give them as options 'proxyUsername' and 'proxyPassword'"),
        ({"proxyPassword": "s3cret"}, "option 'proxyPassword' is given without 'proxyUsername'; a proxy asks for both"),
        ({"proxyUsername": "me"}, "option 'proxyUsername' is given without 'proxyPassword'; a proxy asks for both"),
        ({"proxyUsername": "me", "proxyPassword": "s3cret"}, "option 'proxyUsername' is given without 'proxy'"),
        (
            {"proxy": "none", "proxyUsername": "me", "proxyPassword": "s3cret"},
            "option 'proxyUsername' is given without 'proxy'",
        ),
        ({"proxy": "http://me:s3cret@"}, "it names no host"),
        ({"proxy": "http://host:s3cret"}, "its host or its port cannot be read"),
        ({"proxy": "http://me:s3cret@a b:3128"}, "its host or its port cannot be read"),
        ({"proxy": "http://me:s3cret@host:0"}, "its host or its port cannot be read"),
    ],
)
def test_what_no_connection_can_be_made_of_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        HttpOptions.from_options({"url": "http://api.example.com/in", **options})
    assert message in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"unixSocket": "/api.sock", "proxy": "none"},
        {"unixSocket": f"/{'a' * 106}"},
        {"proxy": "socks5h://[::1]:1080", "proxyUsername": "me", "proxyPassword": "s3cret"},
        {"proxyUrl": "http://host"},
        {"transport": "aiohttp", "proxy": "http://host"},
        {"transport": "aiohttp", "username": "ü", "password": "s3cretü", "hmac.secret": "s3cretü"},
        {"httpVersion": "2", "redirects": "same-origin"},
    ],
    ids=str,
)
def test_the_rest_is_accepted_and_shows_no_password(options: dict[str, str]) -> None:
    assert "s3cret" not in repr(HttpOptions.from_options({"url": "http://api.example.com/in", **options}))
