"""Names that users bring from Flink and others: each has its meaning here, or a remedy."""

from __future__ import annotations

import pytest

from asyncsink import ConfigurationError
from asyncsink_http import HttpOptions, HttpSink

URL = "https://api.example.com/rows"


def read(options: dict[str, str]) -> HttpOptions:
    return HttpOptions.from_options({"url": URL, **options})


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("http.sink.success-codes", "404", "success_codes"),
        ("successful_on", "404", "success_codes"),
        ("http.sink.ignored-response-codes", "404", "ignore_codes"),
        ("http.sink.error.code.exclude", "404", "ignore_codes"),
        ("ignorable_codes", "404", "ignore_codes"),
        ("http.sink.retry-codes", "500,503", "retry_codes"),
        ("retryable_codes", "500,503", "retry_codes"),
        ("retry.on.status.codes", "500-", "retry_codes"),
        ("backoff_on", "420", "throttle_codes"),
        ("insert-method", "PUT", "method"),
        ("http.security.oidc.token.endpoint.url", "https://login.example.com/token", "oauth2_token_url"),
        ("gid.connector.http.sink.retry-codes", "500,503", "retry_codes"),
        ("GID.Connector.HTTP.Sink.Retry-Codes", "500,503", "retry_codes"),
    ],
)
def test_a_name_from_elsewhere_sets_an_option_of_ours(name: str, value: str, field: str) -> None:
    given = {name: value}
    if field == "oauth2_token_url":
        given |= {"oauth2.clientId": "me", "oauth2.clientSecret": "s3cret"}
    assert getattr(read(given), field) == value


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("http.sink.request.batch.size", "70", 70),
        ("http.sink.request.timeout", "70", 70.0),
        ("http.sink.retry-strategy.exponential-delay.initial-backoff", "200ms", 0.2),
        ("http.sink.retry-strategy.exponential-delay.max-backoff", "1min", 60.0),
        ("gid.connector.http.sink.request.timeout", "70", 70.0),
    ],
)
def test_a_name_from_elsewhere_sets_an_option_of_the_writer(name: str, value: str, expected: float) -> None:
    config = HttpSink.from_options({"url": URL, name: value}).config
    found = [
        config.max_batch_size,
        config.request_timeout_s,
        config.retry.initial_backoff_s,
        config.retry.max_backoff_s,
    ]
    usual = HttpSink.from_options({"url": URL}).config
    before = [usual.max_batch_size, usual.request_timeout_s, usual.retry.initial_backoff_s, usual.retry.max_backoff_s]
    assert [each for each, old in zip(found, before, strict=True) if each != old] == [expected]


@pytest.mark.parametrize(("mode", "body"), [("batch", "json-array"), ("SINGLE", "single")])
@pytest.mark.parametrize("prefix", ["", "gid.connector."])
def test_the_mode_of_requests_is_the_body(mode: str, body: str, prefix: str) -> None:
    assert read({f"{prefix}http.sink.writer.request.mode": mode}).body == body
    assert read({f"{prefix}http.sink.writer.request.mode": mode, "body": body}).body == body


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("test:123£", "Basic dGVzdDoxMjPCow=="),  # RFC 7617, 2.1
        ("Basic dGVzdDoxMjPCow==", "Basic dGVzdDoxMjPCow=="),
        ("Bearer a.b:c", "Bearer a.b:c"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "gid.connector."])
def test_a_name_with_a_password_is_encoded_as_flink_does(value: str, sent: str, prefix: str) -> None:
    assert read({f"{prefix}http.sink.header.Authorization": value}).headers == {"Authorization": sent}
    assert read({"header.Authorization": value.replace("£", "")}).headers == {"Authorization": value.replace("£", "")}


def test_an_exponential_delay_is_what_there_is() -> None:
    assert read({"http.sink.retry-strategy.type": "exponential-delay"}) == read({})


def test_the_form_of_a_token_request_becomes_the_options_of_oauth2() -> None:
    form = "grant_type=client_credentials&client_id=me&client_secret=a%26b&scope=write+read"
    options = read(
        {
            "http.security.oidc.token.request": form,
            "http.security.oidc.token.endpoint.url": "https://login.example.com/token",
        }
    )
    assert (options.oauth2_client_id, options.oauth2_client_secret) == ("me", "a&b")
    assert (options.oauth2_scope, options.oauth2_auth_style) == ("write read", "post")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"http.sink.writer.request.mode": "stream"}, "= 'stream' must be 'batch' or 'single'; or set body"),
        (
            {"http.sink.writer.request.mode": "single", "body": "ndjson"},
            "options 'http.sink.writer.request.mode' and 'body' contradict each other; give one of them",
        ),
        (
            {"gid.connector.url": URL, "url": "https://other.example.com"},
            "options 'gid.connector.url' and 'url' contradict each other",
        ),
        ({"http.sink.retry-strategy.type": "fixed-delay"}, "waits double from retry.initialBackoff"),
        ({"http.security.oidc.token.request": "grant_type=password&client_id=s3cret"}, "must be a form of grant_type"),
        ({"http.security.oidc.token.request": "client_id=a&resource=s3cret"}, "must be a form of grant_type"),
        ({"http.security.oidc.token.request": "s3cret"}, "must be a form of grant_type"),
        ({"drop_on": "404"}, "option 'drop_on' is not supported: set rejectCodes, and onRejected=drop"),
        ({"http.sink.max-retries": "3"}, "set these"),
        ({"http.security.keystore.path": "/etc/api.p12"}, "set tls.certificateFile and tls.keyFile"),
        ({"http.error.log.severity": "WARN"}, "set the level of the logger asyncsink_http"),
        ({"http.sink.request-callback": "slf4j-logger"}, "set responseCallback to a function of Python"),
        (
            {"gid.connector.http.sink.error.code": "4XX"},
            "'http.sink.error.code' is not supported: every status but 2xx",
        ),
    ],
)
def test_what_has_no_equal_here_is_refused_with_a_remedy(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(options)
    assert sentence in str(raised.value)
    assert "s3cret" not in str(raised.value)
