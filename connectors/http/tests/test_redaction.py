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
