"""What the ledger keeps, in a store that counts round trips."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsink.errors import LedgerError
from asyncsink.ledger import BatchProgress, Ledger, LedgerState, open_store, query_id_of
from asyncsink.ledger.ledger import KEPT_PROGRESS
from asyncsink.ledger.naming import LEFT_OVER_AFTER_S


class CountingStore:
    """A store in memory; `trips` names its operations, as many as an object store is asked for.

    :ivar grows_only: whether nothing may be removed
    """

    location = "memory"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.trips: list[str] = []
        self.grows_only = False

    def read(self, name: str) -> bytes | None:
        self.trips.append(f"read {name}")
        return self.files.get(name)

    def replace(self, name: str, data: bytes) -> None:
        self.trips.append(f"replace {name}")
        self.files[name] = data

    def create(self, name: str, data: bytes) -> bool:
        self.trips.append("create")
        if name in self.files:
            return False
        self.files[name] = data
        return True

    def prove_exclusive(self) -> None:
        raise AssertionError("the ledger finds out by what it creates")

    def modified_s(self, name: str) -> float | None:
        self.trips.append(f"look at {name}")
        return None

    def names(self, folder: str) -> list[str]:
        self.trips.append(f"names {folder}")
        return sorted(name.removeprefix(f"{folder}/") for name in self.files if name.startswith(f"{folder}/"))

    def folders(self, folder: str) -> list[str]:
        raise AssertionError("the ledger has one folder, and knows its name")

    def remove(self, *names: str) -> None:
        self.trips.append(f"remove {len(names)}")
        if self.grows_only:
            raise LedgerError("the ledger cannot remove: told so")
        for name in names:
            self.files.pop(name, None)

    def sweep(self, folder: str) -> None:
        """An object store holds nothing that was set aside."""

    def within(self, folder: str) -> CountingStore:
        raise AssertionError("the ledger stays in its folder")


def progress(batch_id: int | None = 7, **counts: Any) -> BatchProgress:
    return BatchProgress(sink="toy", query_id="q", batch_id=batch_id, committed_at_ms=1, **counts)


kept = st.tuples(st.integers(0, 9), st.binary(max_size=20))
states = st.builds(
    LedgerState,
    query_id=st.none() | st.text(),
    batch_id=st.none() | st.integers(0),
    learned=st.dictionaries(st.text(), st.lists(st.binary(max_size=20)).map(tuple), max_size=3),
    writers=st.none() | st.integers(1),
    writer_states=st.dictionaries(st.integers(0, 99), st.lists(kept).map(tuple), max_size=3),
)


@given(states)
def test_a_state_is_read_as_it_was_written(state: LedgerState) -> None:
    assert LedgerState.from_bytes(state.to_bytes(), "here") == state


def test_progress_is_read_as_it_was_written_without_what_this_release_does_not_know() -> None:
    told = progress(rows_in=3, rows=2, dropped=1, request_p99_s=0.5, limit=500)
    fields = json.loads(told.to_bytes())
    assert BatchProgress.from_bytes(json.dumps({**fields, "new_field": 1}).encode(), "here") == told


def test_progress_of_an_older_release_has_defaults() -> None:
    fields = json.loads(progress(rows_in=3, rows=3).to_bytes())
    del fields["writer_states"]
    assert BatchProgress.from_bytes(json.dumps(fields).encode(), "here").writer_states == 0


@pytest.mark.parametrize(
    ("kind", "told"),
    [(LedgerState, "what writers had left to the next batch is lost"), (BatchProgress, "its batch is then not known")],
)
def test_a_damaged_file_says_what_is_lost_with_it(kind: type[LedgerState | BatchProgress], told: str) -> None:
    with pytest.raises(LedgerError, match=rf"here is damaged \(.*\); restore it, or remove it.* {told}"):
        kind.from_bytes(b"", "here")


def test_a_batch_costs_one_round_trip_to_plan_and_two_to_commit() -> None:
    store = CountingStore()
    ledger = Ledger(store)
    assert ledger.read() is None
    ledger.commit(LedgerState(query_id="q", batch_id=7), progress(7))
    assert store.trips == ["read state.json", "replace progress/7.json", "replace state.json"]
    assert ledger.read() == LedgerState(query_id="q", batch_id=7)
    assert ledger.progress(7) == progress(7)
    assert ledger.progress(8) is None


def test_progress_comes_before_the_state_so_that_a_committed_batch_always_has_one() -> None:
    store = CountingStore()
    Ledger(store).commit(LedgerState(batch_id=0), progress(0))
    assert [trip for trip in store.trips if trip.startswith("replace")][-1] == "replace state.json"


def test_the_last_thousand_batches_are_kept_and_never_many_more() -> None:
    store = CountingStore()
    ledger = Ledger(store)
    most = 0
    for batch_id in range(KEPT_PROGRESS + 250):
        ledger.commit(LedgerState(batch_id=batch_id), progress(batch_id))
        most = max(most, len(store.files) - 1)
    assert ledger.batches() == list(range(200, KEPT_PROGRESS + 250))
    assert most < KEPT_PROGRESS + 100
    assert len([trip for trip in store.trips if trip.startswith("names")]) < 15


def test_beyond_a_thousand_batches_a_commit_still_costs_two_round_trips_and_hardly_more() -> None:
    store, batches = CountingStore(), range(KEPT_PROGRESS, KEPT_PROGRESS + 300)
    store.files = {f"progress/{batch_id}.json": b"" for batch_id in range(KEPT_PROGRESS)}
    ledger = Ledger(store)
    for batch_id in batches:
        ledger.commit(LedgerState(batch_id=batch_id), progress(batch_id))
    assert len(store.trips) == 2 * len(batches) + 3 * 2
    assert [trip for trip in store.trips if trip.startswith("remove")] == ["remove 100"] * 3


def test_a_batch_is_committed_although_old_progress_cannot_be_removed(caplog: pytest.LogCaptureFixture) -> None:
    store = CountingStore()
    store.files = {f"progress/{batch_id}.json": b"" for batch_id in range(KEPT_PROGRESS + 99)}
    store.grows_only = True
    ledger = Ledger(store)
    ledger.commit(LedgerState(batch_id=KEPT_PROGRESS + 99), progress(KEPT_PROGRESS + 99))
    assert ledger.read() == LedgerState(batch_id=KEPT_PROGRESS + 99)
    assert caplog.messages == [
        "batch 1099 is committed, but files that nobody needs stay in its ledger: the ledger cannot remove: told so"
    ]


def test_what_killed_writers_left_beside_state_and_progress_goes_with_the_hundredth_batch(tmp_path: Path) -> None:
    made = int(time.time()) - LEFT_OVER_AFTER_S - 60
    old = [tmp_path / f"{name}.{made}-{'0' * 32}.tmp" for name in (".state.json", "progress/.7.json")]
    (tmp_path / "progress").mkdir()
    for each in old:
        each.write_bytes(b"half")
    ledger = Ledger(open_store(str(tmp_path)))
    ledger.commit(LedgerState(batch_id=98), progress(98))
    assert all(each.exists() for each in old)
    ledger.commit(LedgerState(batch_id=99), progress(99))
    assert not any(each.exists() for each in old)
    assert ledger.batches() == [98, 99]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data[:-5], "is damaged"),
        (lambda data: b"", "is damaged"),
        (lambda data: b"[]", "is damaged"),
        (lambda data: data.replace(b'"version":1', b'"version":2'), "has version 2, this release reads up to 1"),
        (
            lambda data: data.replace(b'"kind":"state"', b'"kind":"progress"'),
            "is a file of kind 'progress', not 'state'",
        ),
        (lambda data: data.replace(b'"batch_id":7', b'"batch_id":"x"'), "is damaged"),
        (lambda data: data.replace(b'"learned":{}', b'"learned":{"None":["*"]}'), "is damaged"),
        (lambda data: data.replace(b'"writers":', b'"riders":'), "is damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(change: Callable[[bytes], bytes], told: str) -> None:
    store = CountingStore()
    store.files["state.json"] = change(LedgerState(query_id="q", batch_id=7).to_bytes())
    with pytest.raises(LedgerError, match=f"^memory/state.json {told}"):
        Ledger(store).read()


def test_a_probe_leaves_nothing() -> None:
    store = CountingStore()
    Ledger(store).probe()
    assert (store.files, store.trips) == ({}, ["create", "remove 1"])


def test_the_id_of_a_query_is_that_of_sparks_metadata(tmp_path: Path) -> None:
    checkpoint = open_store(str(tmp_path))
    assert query_id_of(checkpoint) is None
    (tmp_path / "metadata").write_text('{"id":"3b6d"}')
    assert query_id_of(checkpoint) == "3b6d"
    (tmp_path / "metadata").write_text("v1")
    with pytest.raises(LedgerError, match="metadata holds no id of a query"):
        query_id_of(checkpoint)


@pytest.mark.parametrize(
    ("counts", "is_whole"),
    [
        ({"rows_in": 5, "rows": 3, "dead_lettered": 1, "dropped": 1}, True),
        ({"rows_in": 5, "restored": 2, "rows": 6, "left": 1}, True),
        ({"rows_in": 5, "rows": 4}, False),
        ({"rows": 1}, False),
    ],
)
def test_a_batch_is_whole_if_every_row_is_accounted_for(counts: dict[str, int], is_whole: bool) -> None:
    assert progress(**counts).is_whole is is_whole
