"""Options of requests: templates and methods that are accepted, those that are refused, and what is never shown."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink import ConfigurationError, WriteContext
from asyncsink_http import HttpOptions, HttpSink

URL = "https://api.example.com/rows"


def read(**options: str) -> HttpOptions:
    return HttpOptions.from_options({"url": URL, **options})


@pytest.mark.parametrize(
    ("alias", "value", "field"),
    [
        ("uri", "http://h/{id}", "url"),
        ("http.api.url", "http://h/", "url"),
        ("insert-method", "PUT", "method"),
        ("verb", "PATCH", "method"),
        ("http_method", "DELETE", "method"),
        ("request.method", "PUT", "method"),
    ],
)
def test_names_that_others_have_for_an_option_are_aliases(alias: str, value: str, field: str) -> None:
    options = HttpOptions.from_options({**({} if field == "url" else {"url": URL}), alias: value})
    assert getattr(options, field) == value


def test_headers_of_others_are_headers() -> None:
    assert read(**{"request.headers.X-A": "1"}).headers == {"X-A": "1"}


@pytest.mark.parametrize("method", ["post", "Put", "PATCH", "delete"])
def test_a_method_is_read_in_any_case(method: str) -> None:
    assert read(method=method).method == method.upper()
    assert HttpOptions(url=URL, method=method).method == method.upper()


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ({}, "json-array"),
        ({"method": "DELETE"}, "single"),
        ({"method": "PUT"}, "json-array"),
        ({"method": "PUT", "url": f"{URL}/{{id}}"}, "single"),
        ({"method": "PATCH", "url": f"{URL}?id={{id}}"}, "single"),
        ({"method": "PUT", "url": f"{URL}/{{id}}", "body": "ndjson"}, "ndjson"),
        ({"url": f"{URL}/{{tenant}}"}, "json-array"),
        ({"method": "{op}"}, "single"),
        ({"method": "{op}", "body": "ndjson"}, "ndjson"),
        ({"method": "DELETE", "body": "form"}, "form"),
    ],
)
def test_rows_that_have_their_place_or_no_body_go_one_by_one_unless_a_body_is_named(
    options: dict[str, str], body: str
) -> None:
    assert read(**options).resolved().body == body
    assert HttpSink(read(**options)).config.max_batch_size == (1 if body in ("single", "form") else 500)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "PUT{op}"}, "option 'method' = 'PUT{op}' must be 'POST' or 'PUT' or 'PATCH' or 'DELETE', or a col"),
        ({"method": "{op"}, "option 'method' holds a brace that is part of no placeholder"),
        ({"method": "DELETE", "body": "json-array"}, "option 'method' = 'DELETE' carries no body, and body=json-array"),
        (
            {"url": "{scheme}://host/x"},
            "option 'url' has a place for a column in its fragment, which is never sent, or",
        ),
        ({"url": "https://{host}/x"}, "or before its path; rows may choose path and query only"),
        ({"url": "https://host{rest}"}, "or before its path"),
        ({"url": "https://host:{port}/x"}, "or before its path"),
        ({"url": "{url}"}, "a column url, beside a column body or value, holds whole addresses"),
        ({"url": "https://host/x#{id}"}, "option 'url' has a place for a column in its fragment"),
        ({"url": "https://host/x?{{}}#{id}"}, "option 'url' has a place for a column in its fragment"),
        ({"url": "https://host?q={id}"}, "or before its path"),
        ({"url": "https://host/../{id}"}, "a segment . or .. in its path; write the path that it leads to"),
        ({"url": "https://host/{id}/%2E./x"}, "a segment . or .. in its path"),
        ({"url": "https://host/{id"}, "option 'url' holds a brace that is part of no placeholder"),
        ({"url": "https://host/ {id}"}, "option 'url' = 'https://host/ {id}' holds white space"),
        ({"header.X-A": "{a}\n"}, "option 'header.X-A' holds a line break"),
        ({"header.X-A": "{a} "}, "option 'header.X-A' begins or ends with a blank"),
        ({"header.X-A": "{a"}, "option 'header.X-A' holds a brace that is part of no placeholder"),
        ({"header.{a}": "x"}, "option 'header.{a}' names no header"),
        ({"urlAllow": "eu.example.com"}, "option 'urlAllow' has 'eu.example.com', which is no address with scheme"),
        ({"urlAllow": "https://a,https://b?q=1"}, "option 'urlAllow' has 'https://b', which is no address"),
        ({"urlAllow": "https://a/../b"}, "option 'urlAllow' has 'https://a/../b', which is no address"),
        ({"urlAllow": "https://me:s3cret@a"}, "option 'urlAllow' has 'https://***', which is no address"),
        ({"urlAllow": "https://a:69999"}, "which is no address with scheme, host and perhaps a path"),
        ({"urlAllow": "ftp://a/"}, "which is no address"),
        ({"urlAllow": "https://a/{id}"}, "which is no address"),
        ({"url": "https://a\\b/x"}, "option 'url', of scheme 'https', is no URL: its host or its port cannot be read"),
        ({"url": "https://<a>/x"}, "its host or its port cannot be read"),
        ({"url": "https://a%41/x"}, "its host or its port cannot be read"),
        ({"url": "https://a..b/x"}, "its host or its port cannot be read"),
        ({"url": f"https://{'a' * 64}.b/x"}, "its host or its port cannot be read"),
        ({"url": "https://1.2.3.256/x"}, "its host or its port cannot be read"),
        ({"url": "https://ü\u200b.de/x"}, "its host or its port cannot be read"),
        ({"url": "https://a:0/x"}, "its host or its port cannot be read"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**options)
    assert sentence in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    "host", ["a", "a_b.example.com.", "API.example.com:8443", "127.0.0.1", "[::1]:80", "ü.de", "xn--tda.de", "1"]
)
def test_a_host_may_be_any_name_or_address(host: str) -> None:
    assert read(url=f"https://{host}/x").url == f"https://{host}/x"


@pytest.mark.parametrize(
    ("url", "literal", "columns"),
    [
        (URL, URL, []),
        ("https://host/{{x}}", "https://host/%7Bx%7D", []),
        ("https://host/{a}/b?c={a?b}&d={#}", "https://host//b?c=&d=", ["a", "a?b", "#"]),
    ],
)
def test_a_template_of_an_address_is_text_and_columns(url: str, literal: str, columns: list[str]) -> None:
    template = read(url=url).url_template
    assert (template.literal, template.columns) == (literal, columns)


@pytest.mark.parametrize("options", [{"header.X-A": "s3cret-{s3cret}"}, {"url": "https://h/?sig=s3cret-{s3cret}"}])
def test_templates_that_may_hold_a_secret_are_in_no_message(options: dict[str, Any]) -> None:
    sink = HttpSink(read(**options))
    assert "s3cret" not in repr(sink.options)
    assert "s3cret" not in repr([sink.options.url_template, *sink.options.header_templates.values()])
    with pytest.raises(ValueError, match="there is no column, and option") as raised:
        sink.converter(None).apply({"a": 1}, WriteContext())
    assert "s3cret" not in str(raised.value)
