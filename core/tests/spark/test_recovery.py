"""The ledger between Spark's processes, without Spark: what is read once, said once, and handed on."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as t

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import AccountingError, LedgerError
from asyncsink.ledger import FOLDER, BatchProgress, Ledger, LedgerState, open_store
from asyncsink.limits import RateLimit
from asyncsink.options.door import DoorOptions
from asyncsink.plugins import load_sink
from asyncsink.spark import recovery
from asyncsink.spark.batch import BatchWriter
from asyncsink.spark.commit import TaskCommit, at_once, commits, summed
from asyncsink.spark.limits import with_its_part
from asyncsink.spark.planning import plan
from asyncsink.spark.recovery import Recovered, keep, recover, succeeding
from asyncsink.spark.stream import StreamWriter

IDS = t.StructType([t.StructField("id", t.LongType(), False)])


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_said", set())
    monkeypatch.setattr(recovery, "_committed", {})


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The locations of the ledgers that were read."""
    found: list[str] = []
    read = Ledger.read

    def noted(ledger: Ledger) -> LedgerState | None:
        found.append(ledger.location)
        return read(ledger)

    monkeypatch.setattr(Ledger, "read", noted)
    return found


def checkpoint(folder: Path, query_id: str = "q") -> DoorOptions:
    folder.mkdir(exist_ok=True)
    (folder / "metadata").write_text(f'{{"id":"{query_id}"}}')
    return DoorOptions.of(checkpoint_location=str(folder))


def progress(batch_id: int = 1, **counts: Any) -> BatchProgress:
    return BatchProgress(sink="toy", query_id="q", batch_id=batch_id, committed_at_ms=1, **counts)


@pytest.mark.parametrize("kind", [StreamWriter, BatchWriter])
def test_a_writer_reads_the_ledger_once_however_often_it_is_pickled(
    site: Path, tmp_path: Path, reads: list[str], kind: type[Any]
) -> None:
    checkpoint(tmp_path)
    where = "checkpointLocation" if kind is StreamWriter else "stateLocation"
    made = plan("toy", {"folder": "f", where: str(tmp_path)}, IDS, overwrite=False, streaming=kind is StreamWriter)
    writer = kind(made)
    assert reads == []
    copies = [pickle.loads(pickle.dumps(writer)) for _ in range(2)]
    assert len(reads) == 1
    assert copies[0].__dict__["_recovered"] == copies[1].__dict__["_recovered"]
    pickle.dumps(copies[0])
    assert len(reads) == 1


def test_a_new_ledger_is_proven_by_sparks_own_metadata(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = recover("toy", checkpoint(tmp_path), streaming=True)
    assert found is not None
    assert found.is_of("q")
    assert not found.is_of("another")
    assert "the checkpoint of query q, but this is query another; it goes on without a ledger" in caplog.text
    assert not [*tmp_path.rglob("probe*")]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "was given no checkpointLocation"),
        ({"checkpoint_location": "{folder}"}, "holds no file metadata of Spark's"),
        ({"checkpoint_location": "nowhere://{folder}"}, "nowhere"),
    ],
)
def test_without_a_place_it_goes_on_without_a_ledger_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, str], told: str
) -> None:
    door = DoorOptions.of(**{name: text.format(folder=tmp_path) for name, text in options.items()})
    with caplog.at_level(logging.WARNING):
        assert [recover("toy", door, streaming=True) for _ in range(3)] == [None] * 3
    assert len(caplog.records) == 1
    assert told in caplog.text


def test_batch_jobs_without_a_place_say_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert recover("toy", DoorOptions(), streaming=False) is None
    assert caplog.records == []


def test_a_ledger_that_cannot_be_written_is_an_error_and_no_silent_start(tmp_path: Path) -> None:
    door = checkpoint(tmp_path)
    (tmp_path / "asyncsink").write_text("a file in the folder's place")
    with pytest.raises(LedgerError, match="asyncsink"):
        recover("toy", door, streaming=True)


def test_only_the_last_batch_is_skipped_and_a_smaller_one_is_an_error() -> None:
    found = Recovered("here", LedgerState(query_id="q", batch_id=5))
    assert [found.is_committed(batch) for batch in (5, 6, 9)] == [True, False, False]
    with pytest.raises(LedgerError, match="batch 4, but the ledger here says that batch 5 was committed"):
        found.is_committed(4)
    with pytest.raises(LedgerError, match="is that of query q, but this is query other"):
        found.is_of("other")


def test_a_batch_is_kept_only_if_the_ledger_is_the_querys(tmp_path: Path) -> None:
    door = checkpoint(tmp_path)
    keep("toy", door, True, progress(0), [TaskCommit(0, query_id="q", is_kept=False)])
    assert not [*tmp_path.rglob("state.json")]
    keep("toy", door, True, progress(0), [TaskCommit(0, query_id="q", is_kept=True)])
    assert [*tmp_path.rglob("state.json")]


def test_a_repeated_batch_must_have_as_many_rows_as_were_committed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    door = checkpoint(tmp_path)
    keep("toy", door, True, progress(0, rows_in=2, rows=2), [TaskCommit(0, query_id="q", is_kept=True)])

    def repeat(rows_in: int) -> None:
        task = TaskCommit(0, query_id="q", is_kept=True, follows=0, skipped=True, rows_in=rows_in)
        keep("toy", door, True, summed("toy", 0, [task]), [task])

    repeat(2)
    with pytest.raises(LedgerError, match=r"handed over 3 rows as batch 0, .* committed with 2: another .* remove the"):
        repeat(3)
    assert caplog.records == []
    (tmp_path / "asyncsink" / "toy" / "progress" / "0.json").unlink()
    repeat(3)
    assert "has no progress of batch 0 any more, so it is taken for the one that was committed by its" in caplog.text


def test_a_task_that_skipped_beside_one_that_did_not_is_not_accounted_for() -> None:
    with pytest.raises(AccountingError):
        summed("toy", 7, [TaskCommit(0, rows_in=1, rows=1), TaskCommit(1, rows_in=1, skipped=True)])


STATES = ((3, b"1"), (3, b"2"))


@pytest.mark.parametrize(
    ("streaming", "remedy"), [(True, "checkpointLocation of the query, or ledgerLocation"), (False, "stateLocation")]
)
def test_states_that_no_ledger_would_keep_are_an_error(streaming: bool, remedy: str) -> None:
    tasks = [TaskCommit(0), TaskCommit(1, states=STATES)]
    with pytest.raises(LedgerError, match=f"writers of 'toy' leave 2 states to the next batch, .* {remedy}"):
        keep("toy", DoorOptions(), streaming, progress(0), tasks)


def test_states_that_are_everybodys_are_handed_to_each_writer_once() -> None:
    recovered = Recovered("/there", LedgerState(writer_states={0: ((3, b"a"), (3, b"b")), 4: ((3, b"a"),)}))
    assert recovered.all_states == ((3, b"a"), (3, b"b"))


def test_a_ledger_that_the_tasks_had_and_the_commit_cannot_open_is_an_error(tmp_path: Path) -> None:
    door = DoorOptions.of(checkpoint_location=f"nowhere://{tmp_path}")
    with pytest.raises(LedgerError, match=r"was planned with a ledger, which cannot be opened where .*: .*nowhere"):
        keep("toy", door, True, progress(0), [TaskCommit(0, query_id="q", is_kept=True)])


def test_the_states_that_the_ledger_keeps_are_counted_with_the_batch(tmp_path: Path) -> None:
    door = checkpoint(tmp_path)
    keep("toy", door, True, progress(0), [TaskCommit(0, query_id="q", is_kept=True, states=STATES)])
    # The next batch's writer had no rows, so that it took over nothing.
    keep("toy", door, True, progress(1), [TaskCommit(0, query_id="q", is_kept=True, follows=0)])
    ledger = Ledger(open_store(str(tmp_path)).within(FOLDER).within("toy"))
    assert [told.writer_states for batch in (0, 1) if (told := ledger.progress(batch))] == [2, 2]


def test_the_process_that_commits_reads_the_ledger_only_if_another_has_written_it(
    tmp_path: Path, reads: list[str]
) -> None:
    door = checkpoint(tmp_path)
    for batch in range(3):
        task = TaskCommit(0, query_id="q", is_kept=True, follows=batch - 1 if batch else None)
        keep("toy", door, True, progress(batch), [task])
    assert len(reads) == 1
    keep("toy", door, True, progress(9), [TaskCommit(0, query_id="q", is_kept=True, follows=8)])
    assert len(reads) == 2


def test_what_was_learned_is_one_snapshot_for_each_worker_and_stays_until_it_is_learned_anew() -> None:
    before = LedgerState(query_id="q", batch_id=0, learned={"a": (b"old",), "b": (b"kept",)})
    tasks = [
        TaskCommit(0, worker="h:1", learned=(("a", b"1"),)),
        TaskCommit(1, worker="h:1", learned=(("a", b"2"),)),
        TaskCommit(2, worker="h:2", learned=(("a", b"3"),)),
    ]
    assert succeeding(before, progress(), tasks).learned == {"a": (b"2", b"3"), "b": (b"kept",)}


def test_the_scopes_that_were_learned_last_are_kept_and_no_more_than_a_task_can_carry() -> None:
    before = LedgerState(learned={f"{scope}": (b"1",) for scope in range(recovery.MOST_SCOPES)})
    after = succeeding(before, progress(), [TaskCommit(0, worker="h:1", learned=(("0", b"2"), ("new", b"3")))])
    assert len(after.learned) == recovery.MOST_SCOPES
    assert (after.learned["0"], after.learned["new"], "1" in after.learned) == ((b"2",), (b"3",), False)


def test_states_that_nobody_took_over_go_to_a_partition_that_there_is() -> None:
    before = LedgerState(query_id="q", batch_id=0, writer_states={each: ((3, b"%d" % each),) for each in range(4)})
    task = TaskCommit(0, claimed=(0,), states=((3, b"new"),))
    after = succeeding(before, progress(), [task])
    assert after.writer_states == {0: ((3, b"new"), (3, b"1"), (3, b"2"), (3, b"3"))}
    two = succeeding(before, progress(), [TaskCommit(0, claimed=(0,)), TaskCommit(1, claimed=(1,))])
    assert two.writer_states == {0: ((3, b"2"),), 1: ((3, b"3"),)}


@pytest.mark.parametrize(
    ("spans", "most"),
    [([], None), ([(0, 1)], 1), ([(0, 1), (2, 1)], 1), ([(0, 5), (1, 1), (3, 1)], 2), ([(0, 2), (1, 2), (1.5, 1)], 3)],
)
def test_tasks_at_work_at_once_are_counted_by_their_times(spans: list[tuple[float, float]], most: int | None) -> None:
    assert at_once([TaskCommit(0, started_s=start, seconds=lasted) for start, lasted in spans]) == most


def test_a_row_that_is_not_accounted_for_is_an_error_of_the_batch() -> None:
    with pytest.raises(AccountingError, match=r"toy batch 7 were handed 5 rows and 0 entries .* 4 stored, 0 dead"):
        summed("toy", 7, [TaskCommit(0, rows_in=5, rows=4)])


def test_a_message_of_another_release_has_defaults() -> None:
    older = TaskCommit(0, rows_in=1, rows=1)
    for name in ("learned", "states", "follows", "is_kept"):
        older.__dict__.pop(name)
    (task,) = commits([pickle.loads(pickle.dumps(older)), None])
    assert (task.learned, task.states, task.follows, task.is_kept) == ((), (), None, False)


def test_a_total_rate_is_shared_by_the_tasks_that_were_at_work_at_once(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toy: Any = load_sink("toy")

    def sink(limit: RateLimit) -> Any:
        return toy(folder="f", config=replace(AsyncSinkWriterConfig(), rate_limit=limit))

    def writers(limit: RateLimit, last: int | None, parallelism: int | None = None) -> int | None:
        parted: Any = with_its_part(sink(limit), Recovered("here", LedgerState(writers=last)), parallelism)
        found: int | None = parted.config.rate_limit.writers
        return found

    total = RateLimit.fixed(requests=100)
    assert writers(total, last=4) == 4
    assert writers(replace(total, writers=2), last=4) == 2
    assert writers(RateLimit.aimd(), last=4) is None
    assert writers(total, last=4, parallelism=8) == 4
    assert writers(total, last=None, parallelism=8) == 8
    assert not caplog.records
    assert [writers(total, last=None) for _ in range(2)] == [None, None]
    assert [record.message for record in caplog.records if "rateLimit.writers" in record.message] == [
        caplog.records[0].message
    ]
