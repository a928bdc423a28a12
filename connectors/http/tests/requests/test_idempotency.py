"""Keys of requests: the same for the same rows, and never the same for others."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsink import ListBlock, ListRequestEntries
from asyncsink_http import HttpOptions
from asyncsink_http.bodies.body import body_of
from asyncsink_http.entries.entry import HttpEntry, Row
from asyncsink_http.entries.target import Target
from asyncsink_http.requests.building import RequestBuilder
from asyncsink_http.requests.idempotency import row_key

PLACE = "q/0/0/500+2"


def key(*entries: HttpEntry, is_repeated: bool = True, route: Target | None = None, **options: Any) -> str:
    resolved = HttpOptions.of(url="http://localhost", **options).resolved()
    builder = RequestBuilder(resolved, body_of(resolved), is_repeated=is_repeated)
    block = ListBlock(entries, [1] * len(entries))
    request = builder.build(ListRequestEntries(block, id=PLACE, route=route))
    return dict(request.headers)[b"Idempotency-Key"].decode()


def test_a_key_that_a_replay_repeats_tells_its_rows_from_others_in_their_place() -> None:
    assert key(b"1", b"2") == key(b"1", b"2")
    assert key(b"1", b"2").startswith(f"{PLACE}/")
    assert len(key(b"1", b"2").removeprefix(f"{PLACE}/")) == 16
    assert len({key(b"1", b"2"), key(b"2", b"1"), key(b"1", b"3"), key(b"12"), key(b"1")}) == 5


def test_a_key_tells_rows_apart_that_differ_in_their_address_alone() -> None:
    targets = [Target("DELETE", f"http://localhost/{number}") for number in (1, 2)]
    assert len({key(b"", route=target) for target in targets}) == 2


def test_an_id_that_is_used_once_is_the_key() -> None:
    assert key(b"1", b"2", is_repeated=False) == PLACE


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_the_key_is_made_before_the_body_is_compressed(compression: str) -> None:
    assert key(b"1", compression=compression) == key(b"1")


@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_row_that_is_alone_gives_its_own_key(is_repeated: bool) -> None:
    assert key(Row(b"1", key="mine"), body="single", is_repeated=is_repeated) == "mine"


def test_the_key_of_one_row_is_not_that_of_several() -> None:
    assert key(Row(b"1", key="mine"), Row(b"2", key="other"), is_repeated=False) == PLACE


def test_the_key_of_a_row_tells_its_address_too() -> None:
    targets = [None, Target("DELETE", "http://localhost/1"), Target("DELETE", "http://localhost/2")]
    assert len({row_key("q/0/0/", 7, b"", target) for target in targets}) == 3
