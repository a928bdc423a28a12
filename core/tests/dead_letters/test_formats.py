"""Letters as lines of JSON: nothing changes on the way, and what is damaged or too new is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.dead_letters import DeadLetter
from asyncsink.dead_letters.encoding import from_json_line, to_json_lines
from asyncsink.errors import DeadLetterError

from .letters import any_letter, letter


@given(st.lists(any_letter, max_size=5))
def test_letters_come_back_as_they_were(stored: list[DeadLetter]) -> None:
    data = to_json_lines(stored)
    assert data.isascii()
    assert data.count(b"\n") == len(stored)
    assert [from_json_line(each, "here") for each in data.splitlines()] == stored


def changed(**values: object) -> bytes:
    return json.dumps(json.loads(to_json_lines([letter()])) | values).encode()


def test_what_a_later_release_adds_to_the_same_schema_is_left_out() -> None:
    assert from_json_line(changed(mood="sad"), "here") == letter()


def test_a_letter_of_a_newer_schema_is_refused_with_both_versions() -> None:
    with pytest.raises(DeadLetterError, match=r"in here has schema_version 2, but .* up to 1; upgrade asyncsink-core"):
        from_json_line(changed(schema_version=2, reason="unheard of"), "here")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"schema_version":1,', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\x00\x00", "not JSON"),
        (b"[]", "no schema_version"),
        (b"{}", "no schema_version"),
        (b'{"schema_version":0}', "no schema_version"),
        (b'{"schema_version":1}', "reason is of type NoneType"),
        (changed(entry="no base64!"), "base64"),
        (changed(entry=1), "entry is of type int"),
        (changed(attempts=True), "attempts is of type bool"),
        (changed(code=None), "code is of type NoneType"),
        (changed(reason="bored"), "its reason 'bored' is unknown"),
    ],
)
def test_a_damaged_line_is_named_with_what_is_wrong(line: bytes, why: str) -> None:
    with pytest.raises(DeadLetterError, match=f"the dead letter in here is damaged: .*{why}"):
        from_json_line(line, "here")
