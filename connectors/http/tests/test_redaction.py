from __future__ import annotations

from typing import Any

import pytest

from asyncsink_http import HttpOptions
from asyncsink_http.redaction import Redaction

URL = "https://api.example.com/rows"


@pytest.mark.parametrize(
    ("options", "echo"),
    [
        ({"url": "https://host/x?v=7&sig=s3cret%2Bpart"}, "sig s3cret+part is stale"),
        ({"url": "https://host/x?v=7&sig=s3cret%2Bpart"}, "sig s3cret%2Bpart is stale"),
        ({"url": "https://host/x?s3cret"}, "what is s3cret?"),
        ({"username": "me", "password": "s3cret"}, "password s3cret"),
        ({"bearer_token": "s3cret"}, "token s3cret"),
        ({"headers": {"Authorization": "Key s3cret"}}, "key s3cret is unknown"),
        ({"headers": {"X-Tenant": "s3cret"}}, "no tenant s3cret"),
        ({"url": "https://host/x?sig=s3cret-{id}-{at}s3cret&at={at}"}, "sig s3cret-7-8s3cret is stale"),
        ({"url": "https://host/{id}?sig={{s3cret}}"}, "sig %7Bs3cret%7D is stale, {s3cret}"),
    ],
)
def test_no_form_of_a_secret_is_shown(options: dict[str, Any], echo: str) -> None:
    shown = Redaction(HttpOptions(**{"url": URL, **options})).hide(echo)
    assert "***" in shown
    assert "s3cret" not in shown


def test_what_is_learned_later_is_hidden_from_then_on() -> None:
    redaction = Redaction(HttpOptions(url=URL))
    assert redaction.hide("got s3cret") == "got s3cret"
    redaction.learn("s3cret", " ", "")
    assert redaction.hide("got s3cret for nothing") == "got *** for nothing"


@pytest.mark.parametrize(
    "echo",
    [
        'a"b c/d<é',
        r"a\"b c/d<\u00e9",
        r"a\"b c/d<é",
        r"a\"b c\/d<\u00e9",
        r"a\"b c/d\u003cé",
        "a%22b%20c%2Fd%3C%C3%A9",
        "a%22b%20c%2fd%3c%c3%a9",
        "a%22b+c%2Fd%3C%C3%A9",
        "a&quot;b c/d&lt;é",
        'a"b c/d<\ufffd',
    ],
    ids=["as it is", "JSON", "JSON in UTF-8", "PHP", "Go", "URL", "URL in lower case", "form", "HTML", "Latin-1"],
)
def test_a_secret_is_hidden_in_every_form_that_servers_repeat_it_in(echo: str) -> None:
    redaction = Redaction(HttpOptions(url=URL, hmac_secret='a"b c/d<é'))
    assert redaction.hide(f"[{echo}]") == "[***]"
    learned = Redaction(HttpOptions(url=URL))
    learned.learn('a"b c/d<é')
    assert learned.hide(f"[{echo}]") == "[***]"


def test_the_separators_of_a_query_are_no_secrets() -> None:
    redaction = Redaction(HttpOptions(url="https://host/x?at={day}-{hour}"))
    assert redaction.hide("day - hour") == "day - hour"


def test_what_hundreds_of_requests_in_flight_are_signed_with_is_all_remembered() -> None:
    redaction = Redaction(HttpOptions(url=URL))
    for number in range(256):
        redaction.learn_header(f'Digest nonce="{number:05}", response="s3cret/of {number:05}"')
        redaction.learn_header(f"date {number:05}")
    assert redaction.hide('got nonce="00000", response="s3cret/of 00000"') == "got ***"


def test_the_oldest_of_very_many_that_are_learned_are_forgotten_and_options_never() -> None:
    redaction = Redaction(HttpOptions(url=URL, bearer_token="s3cret"))
    for number in range(10_000):
        redaction.learn(f"token-{number:05}")
        redaction.learn("always")
    assert redaction.hide("s3cret always token-09999 token-09900") == "*** *** *** ***"
    assert redaction.hide("token-00000") == "token-00000"


def test_a_secret_that_holds_another_is_hidden_whole() -> None:
    redaction = Redaction(HttpOptions(url=URL, bearer_token="abcd"))
    redaction.learn("abcd-efgh")
    assert redaction.hide("abcd-efgh or abcd") == "*** or ***"


def test_short_values_are_hidden_only_where_they_stand_alone() -> None:
    redaction = Redaction(HttpOptions(url=f"{URL}?v=1&pin=12"))
    assert redaction.hide("line 10 of version 1: pin 12 is wrong, not 1200") == (
        "line 10 of version ***: pin *** is wrong, not 1200"
    )


def test_a_text_is_cut_after_as_many_characters_as_are_asked_for() -> None:
    redaction = Redaction(HttpOptions(url=URL))
    assert redaction.hide("x" * 201) == "x" * 199 + "…"
    assert redaction.hide("x" * 10, most=10) == "x" * 10
    assert redaction.hide("x" * 11, most=10) == "x" * 9 + "…"
