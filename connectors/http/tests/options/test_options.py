"""Options: what is accepted, what is refused and in which words, and what is never shown."""

from __future__ import annotations

import pickle

import pytest

from asyncsink import ConfigurationError
from asyncsink_http import HttpOptions, HttpSink

URL = "https://api.example.com/rows"


def read(**options: str) -> HttpOptions:
    return HttpOptions.from_options({"url": URL, **options})


def test_only_the_url_is_required() -> None:
    options = HttpOptions.from_options({"url": URL})
    assert (options.method, options.compression, options.headers) == ("POST", "none", {})
    assert options.resolved().body == "json-array"
    assert options.idempotency_key
    with pytest.raises(ConfigurationError, match="'url' is missing"):
        HttpOptions.from_options({})


def test_strings_of_spark_are_read_in_any_spelling() -> None:
    options = HttpOptions.from_options(
        {
            "URL": URL,
            "method": "put",
            "BODY": "ndjson",
            "compression": "GZIP",
            "idempotency-key": "false",
            "connect_timeout": "500ms",
            "header.x-tenant": "blue",
        }
    )
    assert options == HttpOptions(
        url=URL,
        method="PUT",
        body="ndjson",
        compression="gzip",
        idempotency_key=False,
        connect_timeout_s=0.5,
        headers={"x-tenant": "blue"},
    )


def test_flinks_keys_are_aliases() -> None:
    options = read(**{"insert-method": "PUT", "http.sink.header.X-Tenant": "blue"})
    assert (options.method, options.headers) == ("PUT", {"X-Tenant": "blue"})


@pytest.mark.parametrize("name", sorted(HttpOptions.refused))
def test_flinks_keys_of_other_meaning_are_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{name}' is not supported: "):
        read(**{name: "1"})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"url": "ftp://host/x"}, "option 'url' = 'ftp://host/x' has the scheme 'ftp'; it must be http or https"),
        ({"url": "host/x"}, "option 'url' = 'host/x' has the scheme ''; it must be http or https"),
        ({"url": "https:///x"}, "option 'url' = 'https:///x' names no host"),
        ({"url": "https://host:port/x"}, "option 'url', of scheme 'https', is no URL: its host or its port"),
        ({"url": "https://host/a b"}, "option 'url' = 'https://host/a b' holds white space"),
        ({"url": "https://host/x\n"}, "holds white space"),
        ({"url": "https://me:pw@host/x"}, "carries a user name or a password; give them as options 'username'"),
        ({"method": "GET"}, "option 'method' = 'GET' must be 'POST' or 'PUT' or 'PATCH'"),
        ({"body": "xml"}, "option 'body' = 'xml' must be 'json-array' or 'ndjson' or 'single'"),
        ({"compression": "br"}, "option 'compression' = 'br' must be 'none' or 'gzip' or 'zstd'"),
        ({"connectTimeout": "0s"}, "option 'connectTimeout' = 0.0 must be larger than 0"),
        ({"connectTimeout": "soon"}, "must be a duration"),
        ({"header.X-A": "a\r\nX-B: b"}, "option 'header.X-A' holds a line break"),
        ({"header.X-A": "€"}, "option 'header.X-A' holds a line break or a character beyond Latin-1"),
        ({"header.a b": "x"}, "option 'header.a b' names no header"),
        ({"header.Content-Length": "3"}, "option 'header.Content-Length' is not for you to set: the client sets it"),
        ({"header.content-type": "text/csv"}, "is not for you to set: set option 'contentType'"),
        ({"header.Idempotency-Key": "x"}, "is not for you to set: the connector sets it; idempotencyKey=false"),
        ({"header.X-A": " a"}, "option 'header.X-A' begins or ends with a blank, which no header can carry"),
        ({"contentType": "text/plain "}, "option 'contentType' begins or ends with a blank"),
        ({"bearerToken": "abc\t"}, "option 'bearerToken' begins or ends with a blank"),
        ({"contentType": ""}, "option 'contentType' is empty; give a value, or leave it out"),
        ({"contentType": "a\nb"}, "option 'contentType' holds a line break"),
        ({"bearerToken": "a\nb"}, "option 'bearerToken' holds a line break"),
        ({"username": "me"}, "option 'username' is given without 'password'"),
        ({"password": "pw"}, "option 'password' is given without 'username'"),
        ({"username": "a:b", "password": "pw"}, "option 'username' holds a colon"),
        ({"bearerToken": "t", "username": "me", "password": "pw"}, "options 'bearerToken' and 'username' both say"),
        ({"bearerToken": "t", "header.authorization": "x"}, "'bearerToken' and 'header.Authorization' both say"),
        ({"ulr": "x"}, "option 'ulr' is not known; did you mean 'url'"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**options)
    assert sentence in str(raised.value)


def test_an_idempotency_key_of_ones_own_needs_the_connectors_to_be_off() -> None:
    options = read(**{"header.Idempotency-Key": "mine", "idempotencyKey": "false"})
    assert options.headers == {"Idempotency-Key": "mine"}


SECRETS = {
    "url": URL + "?sig=s3cret-q",
    "bearerToken": "s3cret-token",
    "header.X-Api-Key": "s3cret-header",
    "header.X-Tenant": "blue",
}


def test_no_repr_shows_a_secret_or_the_value_of_a_header() -> None:
    sink = HttpSink.from_options(SECRETS)
    basic = read(username="me", password="s3cret-pw")
    shown = repr(sink.options) + repr(basic)
    assert "s3cret" not in shown
    assert "X-Api-Key" in shown
    assert "X-Tenant" in shown
    assert "blue" not in shown
    assert "me" in shown


@pytest.mark.parametrize(
    "options",
    [
        {"url": "https://me:s3cret@host/x"},
        {"url": "ftp://me:s3cret@host/x?sig=s3cret"},
        {"url": "https:///x?sig=s3cret"},
        {"url": "https:///x#s3cret"},
        {"url": "https://me:s3cret"},
        {"url": "https://[s3cret/x"},
        {"url": "https://me:s3cret/4@host/x"},
        {"url": "ftp://me:pw/s3cret@host/x"},
        {"url": "s3cret:pw@host/x"},
        {"url": "me:s3cret/x"},
        {"url": "https://host/s3cret@x y"},
        {"bearerToken": "s3cret\n"},
        {"header.Authorization": "s3cret\n"},
        {"header.X-A": "s3cret-1", "http.sink.header.X-A": "s3cret-2"},
        {"bearerToken": "s3cret-1", "bearer_token": "s3cret-2"},
        {"username": "me", "password": "s3cret", "bearerToken": "s3cret"},
    ],
)
def test_secrets_are_in_no_error(options: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**options)
    assert "s3cret" not in str(raised.value)


def test_options_survive_pickling() -> None:
    options = HttpOptions.from_options(SECRETS)
    assert pickle.loads(pickle.dumps(options)) == options
    assert pickle.loads(pickle.dumps(options)).fingerprint() == options.fingerprint()


def test_single_sends_one_row_a_request_and_refuses_more() -> None:
    assert HttpSink.from_options({"url": URL, "body": "single"}).config.max_batch_size == 1
    assert HttpSink.from_options({"url": URL, "body": "single", "maxBatchSize": "1"}).config.max_batch_size == 1
    assert HttpSink(url=URL, body="single").config.max_batch_size == 1
    sentence = r"max_batch_size \(option maxBatchSize\) = 500 contradicts body=single"
    with pytest.raises(ConfigurationError, match=sentence):
        HttpSink.from_options({"url": URL, "body": "single", "maxBatchSize": "500"})
    with pytest.raises(ConfigurationError, match=sentence):
        HttpSink(url=URL, body="single", config=HttpSink.defaults)
    with pytest.raises(ConfigurationError, match=sentence):
        HttpSink(url=URL, body="single").open(HttpSink.defaults)


@pytest.mark.parametrize(("text", "seconds"), [("30", 30.0), ("500ms", 0.5)])
def test_flinks_request_timeout_counts_seconds_and_is_the_writers(text: str, seconds: float) -> None:
    sink = HttpSink.from_options({"url": URL, "http.sink.request.timeout": text})
    assert sink.config.request_timeout_s == seconds
    with pytest.raises(ConfigurationError, match="are two names of 'requestTimeout' with different values"):
        HttpSink.from_options({"url": URL, "http.sink.request.timeout": text, "requestTimeout": "7s"})
