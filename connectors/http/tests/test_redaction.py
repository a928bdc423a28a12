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
    "echo", ['a"b c/d', r"a\"b c/d", "a%22b%20c%2Fd", "a%22b+c%2Fd"], ids=["as it is", "JSON", "URL", "form"]
)
def test_a_secret_is_hidden_as_json_urls_and_forms_write_it(echo: str) -> None:
    redaction = Redaction(HttpOptions(url=URL, hmac_secret='a"b c/d'))
    assert redaction.hide(f"<{echo}>") == "<***>"


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
