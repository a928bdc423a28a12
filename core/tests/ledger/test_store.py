"""What every store promises, whatever is behind it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsink.ledger.store import Store

NAMES = st.sampled_from(["state.json", "id", "progress/0.json", "progress/1.json", "deep/er/x", "ünï cöde", "a%20b"])
DATA = st.binary(max_size=40)
OPERATIONS = st.one_of(
    st.tuples(st.just("replace"), NAMES, DATA),
    st.tuples(st.just("create"), NAMES, DATA),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("read"), NAMES),
    st.tuples(st.just("names"), st.sampled_from(["", "progress", "deep", "deep/er", "none"])),
)


class Model:
    """A store as a dict."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self._files.get(name)

    def replace(self, name: str, data: bytes) -> None:
        self._files[name] = data

    def create(self, name: str, data: bytes) -> bool:
        first = name not in self._files
        self._files.setdefault(name, data)
        return first

    def remove(self, name: str) -> None:
        self._files.pop(name, None)

    def names(self, folder: str) -> list[str]:
        return sorted(name.rpartition("/")[2] for name in self._files if name.rpartition("/")[0] == folder)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OPERATIONS, max_size=12))
def test_a_store_answers_as_a_dict_of_files_does(store: Store, operations: list[tuple[Any, ...]]) -> None:
    _forget(store)
    model = Model()
    for operation, *arguments in operations:
        assert getattr(store, operation)(*arguments) == getattr(model, operation)(*arguments), (operation, arguments)


def _forget(store: Store) -> None:
    for folder in ("", "progress", "deep/er"):
        for name in store.names(folder):
            store.remove(f"{folder}/{name}".lstrip("/"))


def test_a_store_that_nobody_has_written_to_is_empty(store: Store) -> None:
    assert store.read("state.json") is None
    assert store.names("") == []
    assert store.names("progress") == []
    assert store.folders("") == []
    store.remove("state.json")


def test_what_is_written_is_read_by_who_opens_it_further_down(store: Store) -> None:
    store.replace("asyncsink/orders/progress/7.json", b"seven")
    sink = store.within("asyncsink/orders")
    assert sink.read("progress/7.json") == b"seven"
    assert sink.within("progress").names("") == ["7.json"]
    assert sink.location == f"{store.location}/asyncsink/orders"


def test_a_file_that_was_written_later_is_newer_by_the_clock_of_the_store(store: Store) -> None:
    assert store.modified_s("a/none") is None
    for name in ("a/first", "a/second"):
        store.replace(name, b"x")
    first, second = store.modified_s("a/first"), store.modified_s("a/second")
    assert first is not None
    assert second is not None
    assert first <= second


def test_only_the_first_creates_and_its_contents_stay(store: Store) -> None:
    assert store.create("slots/slot-1", b"first")
    assert not store.create("slots/slot-1", b"second")
    assert store.read("slots/slot-1") == b"first"
    assert store.names("slots") == ["slot-1"]


def test_what_was_replaced_counts_as_created_and_what_was_removed_does_not(store: Store) -> None:
    store.replace("slot", b"1")
    assert not store.create("slot", b"2")
    store.remove("slot")
    assert store.create("slot", b"3")
    assert store.read("slot") == b"3"


def test_many_files_are_removed_at_once_and_only_these(store: Store) -> None:
    for n in range(5):
        store.replace(f"progress/{n}.json", b"")
    store.remove("progress/0.json", "progress/2.json", "progress/3.json")
    assert store.names("progress") == ["1.json", "4.json"]
    store.remove()
    store.sweep("progress")
    store.sweep("none")
    assert store.names("progress") == ["1.json", "4.json"]


def test_a_folder_that_looks_like_a_pattern_is_none(store: Store) -> None:
    pattern, other = store.within("orders[12]"), store.within("orders1")
    for each in (pattern, other):
        each.replace("0.json", b"")
        each.replace("1.json", b"")
    pattern.remove("0.json", "1.json")
    assert (pattern.names(""), other.names("")) == ([], ["0.json", "1.json"])


def test_files_and_folders_are_listed_apart(store: Store) -> None:
    for name in ("b", "a", "sub/c", "about/d"):
        store.replace(name, b"")
    assert store.names("") == ["a", "b"]
    assert store.folders("") == ["about", "sub"]
    assert store.folders("sub") == []


def test_folders_are_listed_by_their_own_name_at_any_depth(store: Store) -> None:
    for name in ("asyncsink/http/state.json", "asyncsink/http/progress/1.json", "asyncsink/toy/state.json", "commits"):
        store.replace(name, b"")
    assert store.folders("asyncsink") == ["http", "toy"]
    assert store.within("asyncsink").folders("") == ["http", "toy"]
    assert store.folders("asyncsink/http") == ["progress"]
    assert store.folders("none") == []


def test_contents_larger_than_a_page_come_back_whole(store: Store) -> None:
    data = bytes(range(256)) * 4096
    store.replace("large", data)
    assert store.read("large") == data


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", ".hidden", "a/.tmp", "a\0b"])
def test_a_name_that_leaves_the_store_is_refused(store: Store, name: str) -> None:
    for operation in (store.read, store.remove, store.within):
        with pytest.raises(ValueError, match="is no name within a store; give parts joined by '/'"):
            operation(name)
    for write in (store.replace, store.create):
        with pytest.raises(ValueError, match="is no name within a store"):
            write(name, b"")
