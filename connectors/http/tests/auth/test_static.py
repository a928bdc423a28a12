"""Credentials that stand among the options: which headers they become, and that they are hidden."""

from __future__ import annotations

import anyio
import pytest

from asyncsink import ConfigurationError
from asyncsink_http import HttpAnswer, HttpOptions, HttpRequest
from asyncsink_http.auth.make import authorizer_of
from asyncsink_http.redaction import Redaction

REQUEST = HttpRequest("POST", "http://localhost", ((b"User-Agent", b"ours"),), b"[1]", "q/0/0/1", 1, 1)


def sent_with(options: dict[str, str], redaction: Redaction | None = None) -> dict[str, str]:
    """The headers of a request that is sent with these options, by their names in lower case."""
    read = HttpOptions.from_options({"url": "http://localhost", **options}).resolved()
    sent: list[HttpRequest] = []

    async def send(request: HttpRequest) -> HttpAnswer:
        sent.append(request)
        return HttpAnswer(200, "OK", {}, b"")

    authorizer = authorizer_of(read, redaction or Redaction(read), send)
    assert anyio.run(authorizer.exchange, REQUEST, send).status == 200
    (request,) = sent
    return {name.decode().lower(): value.decode("latin-1") for name, value in request.headers}


@pytest.mark.parametrize(
    ("options", "header"),
    [
        ({}, None),
        ({"bearerToken": "abc"}, "Bearer abc"),
        ({"username": "Aladdin", "password": "open sesame"}, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),  # RFC 7617, 2
        ({"username": "test", "password": "123£"}, "Basic dGVzdDoxMjPCow=="),  # RFC 7617, 2.1
        ({"header.authorization": "Key abc"}, "Key abc"),
        ({"bearerToken": "abc", "authorizationScheme": "Splunk"}, "Splunk abc"),
        ({"username": "key", "password": ""}, "Basic a2V5Og=="),
    ],
)
def test_credentials_become_one_header(options: dict[str, str], header: str | None) -> None:
    assert sent_with(options).get("authorization") == header


def test_the_options_headers_are_added_and_take_the_place_of_ours() -> None:
    assert sent_with({"header.X-A": "é", "header.user-agent": "mine"}) == {"x-a": "é", "user-agent": "mine"}


@pytest.mark.parametrize("echo", ["got QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "got Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
def test_what_is_made_of_a_password_is_hidden_too(echo: str) -> None:
    redaction = Redaction(HttpOptions(url="http://localhost"))
    sent_with({"username": "Aladdin", "password": "open sesame"}, redaction)
    assert redaction.hide(echo) == "got ***"


def test_a_token_comes_from_the_environment_where_the_tasks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "s3cret\n")
    redaction = Redaction(HttpOptions(url="http://localhost"))
    assert sent_with({"bearerTokenEnv": "API_TOKEN"}, redaction)["authorization"] == "Bearer s3cret"
    assert redaction.hide("got s3cret") == "got ***"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "that environment variable is not set or empty where the tasks run; set it there, such as by spark."),
        (" ", "that environment variable is not set or empty"),
        ("s3cret words", "that environment variable holds more than one word of ASCII"),
    ],
)
def test_an_environment_without_a_token_is_refused_in_words(
    value: str | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("API_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("API_TOKEN", value)
    with pytest.raises(ConfigurationError) as raised:
        sent_with({"bearerTokenEnv": "API_TOKEN"})
    assert f"option 'bearerTokenEnv' = 'API_TOKEN': {sentence}" in str(raised.value)
    assert "s3cret" not in str(raised.value)
