from __future__ import annotations

import pytest

from asyncsink.blocks import ListBlock
from asyncsink.failures import Failure
from asyncsink.request import ListRequestEntries, RequestResult


@pytest.fixture
def entries() -> ListRequestEntries[str]:
    return ListRequestEntries(ListBlock(["a", "b", "c"], [1, 2, 3]), route="r", attempt=2)


def test_ok_means_that_every_entry_is_stored() -> None:
    assert RequestResult({}) == RequestResult.OK
    assert RequestResult.OK.failed == {}


def test_codes_become_failures_by_index() -> None:
    codes = [None, ("Throttled", "slow down"), ("", "fine"), (None, "fine"), ("Internal", "")]
    expected = {1: Failure("Throttled", "slow down"), 4: Failure("Internal")}
    assert RequestResult.from_codes(codes).failed == expected


def test_codes_may_come_from_a_generator_and_be_all_successes() -> None:
    assert RequestResult.from_codes((None, "") for _ in range(3)) == RequestResult.OK
    assert RequestResult.from_codes([]) == RequestResult.OK


def test_request_entries_are_a_sequence(entries: ListRequestEntries[str]) -> None:
    assert (len(entries), [*entries], entries[0], entries[-1], entries[1:]) == (
        3,
        ["a", "b", "c"],
        "a",
        "c",
        ["b", "c"],
    )
    assert entries.index("b") == 1
    assert [*reversed(entries)] == ["c", "b", "a"]


def test_request_entries_tell_of_their_request(entries: ListRequestEntries[str]) -> None:
    assert (entries.id, entries.attempt, entries.route, entries.size_in_bytes) == ("test/-/0/0-1", 2, "r", 6)
    assert [*entries.block] == ["a", "b", "c"]


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_outside_the_request_is_an_index_error(entries: ListRequestEntries[str], index: int) -> None:
    with pytest.raises(IndexError, match=f"a request of 3 entries has no index {index}"):
        entries[index]
