"""``python -m asyncsink status`` on ledgers that are whole, foreign, rewound, damaged, or not there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from asyncsink.cli import run
from asyncsink.cli.machine import Machine
from asyncsink.cli.status import Status, status
from asyncsink.ledger import FOLDER, BatchProgress, Ledger, LedgerState, open_store

QUERY = "3b6d6c1c-6a1f-4d0e-9a53-0c9a3a5f7f10"
NOON_MS = 1_767_268_800_000
"""2026-01-01 12:00:00 UTC."""


def progress(batch_id: int, query_id: str | None = QUERY, **counts: Any) -> BatchProgress:
    return BatchProgress(
        sink="http", query_id=query_id, batch_id=batch_id, committed_at_ms=NOON_MS + 1000 * batch_id, **counts
    )


def ledger_in(location: str | Path, sink: str = "http") -> Ledger:
    return Ledger(open_store(str(location)).within(FOLDER).within(sink))


def committed(
    location: str | Path, batches: int, query_id: str | None = QUERY, sink: str = "http", **state: Any
) -> None:
    """A ledger of so many batches: batch n had 100 rows, n of them dead-lettered."""
    ledger = ledger_in(location, sink)
    for batch_id in range(batches):
        counts = {"rows_in": 100, "rows": 100 - batch_id, "dead_lettered": batch_id, "retried": 2, "throttled": 1}
        told = progress(batch_id, query_id, requests=5, **counts)
        ledger.commit(LedgerState(query_id=query_id, batch_id=batch_id, **state), told)


def checkpoint(folder: Path, noted: int, query_id: str = QUERY) -> None:
    """What Spark writes when it has noted batches 0 to `noted` as committed, and has planned the next."""
    (folder / "commits").mkdir(parents=True)
    (folder / "offsets").mkdir()
    (folder / "metadata").write_text(json.dumps({"id": query_id}))
    for batch_id in range(noted + 2):
        (folder / "offsets" / str(batch_id)).write_text("v1\n{}")
    for batch_id in range(noted + 1):
        (folder / "commits" / str(batch_id)).write_text("v1\n{}")
        (folder / "commits" / f".{batch_id}.crc").write_bytes(b"crc")


def told(*arguments: str) -> tuple[str, int]:
    """What the command prints, with runs of spaces as one, and its exit status."""
    text, code = run(["status", *arguments], Machine.here())
    return "\n".join(" ".join(line.split()) for line in text.splitlines()), code


def of_json(*arguments: str) -> tuple[dict[str, Any], int]:
    text, code = run(["status", *arguments, "--json"], Machine.here())
    document: dict[str, Any] = json.loads(text)
    return document, code


def test_a_query_in_good_order_is_told_in_full(tmp_path: Path) -> None:
    learned = {"1f3a9c2b7d5e/None": (b"congestion:500", b"congestion:480"), "1f3a9c2b7d5e/'eu'": (b"paced:70",)}
    states = {0: ((1, b"four"),), 1: ((1, b"more"), (1, b""))}
    committed(tmp_path, 3, learned=learned, writers=4, writer_states=states)
    checkpoint(tmp_path, 2)
    text, code = told(str(tmp_path))
    assert code == 0
    assert text.splitlines() == [
        f"{tmp_path}/asyncsink/http",
        f"query {QUERY}",
        "last committed batch 2, 2026-01-01 12:00:02 UTC",
        "noted by Spark 2",
        "tasks at work at once 4",
        "writer states kept 3 (8 bytes)",
        "learned limit 1f3a9c2b7d5e/'eu': paced 70",
        "learned limit 1f3a9c2b7d5e/None: congestion 500, congestion 480",
        "",
        "batch committed (UTC) rows in stored dead-lettered dropped retried throttled",
        "0 2026-01-01 12:00:00 100 100 0 0 2 1",
        "1 2026-01-01 12:00:01 100 99 1 0 2 1",
        "2 2026-01-01 12:00:02 100 98 2 0 2 1",
        "all 3 kept 300 297 3 0 6 3",
    ]


def test_what_a_sink_wants_kept_of_its_writers_is_told_of_the_last_batch_that_has_some(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    kept = {"cluster.a.b.numBytesOut": 900, "cluster.a.b.numRecordsAcknowledged": 9, "metadataAgeSeconds": 0.25}
    for batch_id, metrics in enumerate(({"old": 1}, kept, {})):
        ledger.commit(LedgerState(query_id=QUERY, batch_id=batch_id), progress(batch_id, metrics=metrics))
    text, _ = told(str(tmp_path))
    at = text.splitlines().index("metrics of last batch metadataAgeSeconds 0.25")
    assert text.splitlines()[at + 1 : at + 3] == ["cluster.a.b: numBytesOut 900, numRecordsAcknowledged 9", ""]
    document, _ = of_json(str(tmp_path))
    assert document["sinks"][0]["last"][1]["metrics"] == kept


@pytest.mark.parametrize(("last", "shown"), [("2", [10, 11]), ("0", []), ("99", [*range(12)])])
def test_the_last_batches_are_shown_newest_last_and_the_sums_are_over_all(
    last: str, shown: list[int], tmp_path: Path
) -> None:
    committed(tmp_path, 12)
    document, _ = of_json(str(tmp_path), "--last", last)
    (sink,) = document["sinks"]
    assert [each["batch_id"] for each in sink["last"]] == shown
    assert sink["kept"] == {
        "batches": 12,
        "rows_in": 1200,
        "rows": 1200 - 66,
        "dead_lettered": 66,
        "dropped": 0,
        "retried": 24,
        "throttled": 12,
    }


def test_ten_batches_are_shown_unless_said_otherwise(tmp_path: Path) -> None:
    committed(tmp_path, 12)
    text, _ = told(str(tmp_path))
    assert [line.split()[0] for line in text.splitlines()[-11:]] == [*map(str, range(2, 12)), "all"]


@pytest.mark.parametrize("last", ["-1", "x", "1.5", ""])
def test_a_number_of_batches_that_is_none_is_refused(last: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["status", "somewhere", f"--last={last}"], Machine.here())
    assert caught.value.code == 2
    assert f"{last!r} is no number of batches; give a whole number such as 10" in capsys.readouterr().err


def test_json_has_every_field_that_is_read_and_every_field_of_a_batch(tmp_path: Path) -> None:
    committed(tmp_path, 1, learned={"x/None": (b"adaptive:7",)})
    checkpoint(tmp_path, 0)
    document, code = of_json(str(tmp_path))
    assert code == 0
    assert document == json.loads(json.dumps(asdict(status(str(tmp_path), 10))))
    assert [*document] == [each.name for each in fields(Status)]
    assert (document["query_id"], document["spark_batch_id"], document["error"]) == (QUERY, 0, None)
    (sink,) = document["sinks"]
    assert sink["learned"] == [{"scope": "x/None", "strategy": "adaptive", "limit": 7}]
    kept = ledger_in(tmp_path).progress(0)
    assert kept is not None
    assert sink["last"] == [asdict(kept)]


def test_a_batch_that_spark_has_not_noted_is_said_to_be_repeated_and_not_sent(tmp_path: Path) -> None:
    committed(tmp_path, 3)
    checkpoint(tmp_path, 1)
    text, code = told(str(tmp_path))
    assert code == 0
    assert text.splitlines()[-1] == (
        "warning: Spark has not noted batch 2 as committed: unless the query is doing so now, Spark repeats the batch "
        "when the query starts, and its rows, if they are as many as before, are not sent again"
    )


@pytest.mark.parametrize("batches", [3, 1])
def test_a_checkpoint_rewound_by_one_batch_is_told_from_a_batch_that_is_repeated(batches: int, tmp_path: Path) -> None:
    committed(tmp_path, batches)
    checkpoint(tmp_path, batches - 2)
    (tmp_path / "offsets" / f"{batches - 1}").unlink()
    assert status(str(tmp_path), 0).sinks[0].warning == (
        f"Spark's checkpoint knows nothing of batch {batches - 1}: it was rewound, and Spark plans the batch anew, "
        "perhaps of other rows. The query refuses to go on where that can be told, and skips the batch where not; "
        "remove the ledger before you start it, and the rows are sent again"
    )


@pytest.mark.parametrize(("noted", "expected"), [(-1, "no batch"), (0, "batch 0")])
def test_a_rewound_checkpoint_is_a_warning_with_its_remedy(noted: int, expected: str, tmp_path: Path) -> None:
    committed(tmp_path, 3)
    checkpoint(tmp_path, noted)
    assert status(str(tmp_path), 0).sinks[0].warning == (
        f"Spark has noted {expected} as the last one: the checkpoint was rewound, and the query refuses to go on; to "
        "send the rows again, remove the ledger"
    )


def test_the_first_batch_may_be_the_one_that_spark_has_not_noted(tmp_path: Path) -> None:
    committed(tmp_path, 1)
    checkpoint(tmp_path, -1)
    warning = status(str(tmp_path), 0).sinks[0].warning or ""
    assert warning.startswith("Spark has not noted batch 0 as committed")


@pytest.mark.parametrize(("query_id", "whose"), [("another", "query another"), (None, "batch jobs")])
def test_a_ledger_of_another_query_is_a_warning(query_id: str | None, whose: str, tmp_path: Path) -> None:
    committed(tmp_path, 3, query_id)
    checkpoint(tmp_path, 2)
    warning = status(str(tmp_path), 0).sinks[0].warning or ""
    assert warning.startswith(f"this ledger is that of {whose}, but the checkpoint is that of query {QUERY}, which")


def test_spark_may_have_gone_on_with_batches_that_had_no_task(tmp_path: Path) -> None:
    committed(tmp_path, 3)
    checkpoint(tmp_path, 5)
    assert status(str(tmp_path), 0).sinks[0].warning is None


def test_a_state_of_batch_jobs_is_told_by_the_same_command(tmp_path: Path) -> None:
    committed(tmp_path, 2, None)
    text, code = told(str(tmp_path))
    assert code == 0
    assert "query none, these are batch jobs" in text
    assert "last committed batch 1, 2026-01-01 12:00:01 UTC" in text
    assert "noted by Spark" not in text


def test_each_sink_beneath_a_checkpoint_has_a_part(tmp_path: Path) -> None:
    committed(tmp_path, 1, sink="http")
    committed(tmp_path, 2, sink="toy")
    (tmp_path / FOLDER / "a file").write_text("not a sink")
    text, _ = told(str(tmp_path))
    assert [line for line in text.splitlines() if line.startswith("/")] == [
        f"{tmp_path}/asyncsink/http",
        f"{tmp_path}/asyncsink/toy",
    ]


def test_a_folder_in_which_nothing_was_committed_yet_says_so(tmp_path: Path) -> None:
    (tmp_path / FOLDER / "http").mkdir(parents=True)
    text, code = told(str(tmp_path))
    assert code == 0
    assert "query none is known\nlast committed batch none" in text
    assert "batch committed (UTC)" not in text


def test_a_url_of_a_file_system_elsewhere_is_read_too() -> None:
    location = f"memory://{uuid4().hex}/checkpoint"
    committed(location, 2)
    found = status(location, 10)
    assert (found.failed, [each.batch_id for each in found.sinks[0].last]) == (False, [0, 1])


@pytest.mark.parametrize("exists", [True, False])
def test_no_ledger_is_an_error_that_says_what_was_looked_for(exists: bool, tmp_path: Path) -> None:
    folder = tmp_path if exists else tmp_path / "gone"
    text, code = told(str(folder))
    assert code == 1
    assert text == (
        f"error: there is no ledger in {folder}: looked for folders in {folder}/asyncsink; name the checkpointLocation "
        "or ledgerLocation of a query, or the stateLocation of a batch job, that has committed a batch with asyncsink"
    )
    document, code = of_json(str(folder))
    assert (code, document["sinks"], document["error"]) == (1, [], text.removeprefix("error: "))


def test_a_location_that_nothing_can_open_is_an_error_without_its_secret() -> None:
    for arguments in ([], ["--json"]):
        text, code = run(["status", "nonsense://me:hush@host/x?sig=hush", *arguments], Machine.here())
        assert code == 1
        assert "fsspec has no back end for nonsense:" in text
        assert "hush" not in text


@pytest.mark.parametrize(
    ("damaged", "kept"),
    [("state.json", {"batch_id": None, "batches": 3}), ("progress/1.json", {"batch_id": 2, "batches": 0})],
)
def test_a_damaged_file_is_an_error_and_what_else_can_be_read_is_told(
    damaged: str, kept: Mapping[str, int | None], tmp_path: Path
) -> None:
    committed(tmp_path, 3)
    committed(tmp_path, 2, sink="toy")
    checkpoint(tmp_path, 2)
    (tmp_path / FOLDER / "http" / damaged).write_bytes(b"{")
    found = status(str(tmp_path), 10)
    http, toy = found.sinks
    assert {"batch_id": http.batch_id, "batches": http.kept.batches} == kept
    (error,) = http.errors
    assert error.startswith(f"{tmp_path}/asyncsink/http/{damaged} is damaged (JSONDecodeError: ")
    assert (toy.batch_id, toy.errors) == (1, ())
    text, code = told(str(tmp_path))
    assert code == 1
    assert f"error: {error}" in text.splitlines()


def test_a_damaged_checkpoint_of_sparks_is_an_error_and_the_ledger_is_told(tmp_path: Path) -> None:
    committed(tmp_path, 3)
    (tmp_path / "metadata").write_text("v1")
    text, code = told(str(tmp_path))
    assert code == 1
    assert "last committed batch 2" in text
    assert text.splitlines()[-1].startswith(f"error: {tmp_path}/metadata holds no id of a query, as Spark writes it")


@pytest.mark.parametrize("snapshot", [b"hush", b"token:123", b"paced:1x", b"\xff\x00", b"paced:" + b"9" * 19])
def test_what_a_strategy_of_ones_own_has_learned_is_not_shown(snapshot: bytes, tmp_path: Path) -> None:
    committed(tmp_path, 1, learned={"x/None": (snapshot,)})
    text, _ = told(str(tmp_path))
    assert "learned limit x/None: of a strategy of your own" in text
    document, _ = of_json(str(tmp_path))
    assert document["sinks"][0]["learned"] == [{"scope": "x/None", "strategy": None, "limit": None}]


def test_progress_that_is_removed_meanwhile_is_left_out(tmp_path: Path) -> None:
    committed(tmp_path, 3)
    (tmp_path / FOLDER / "http" / "progress" / "2.json").unlink()
    (sink,) = status(str(tmp_path), 10).sinks
    assert (sink.batch_id, sink.committed_at_ms, sink.kept.batches) == (2, None, 2)
    text, _ = told(str(tmp_path))
    assert "last committed batch 2, at a time that is not kept" in text


def test_the_program_loads_neither_spark_nor_arrow(tmp_path: Path) -> None:
    committed(tmp_path, 1)
    program = f"""
import sys
from asyncsink.cli import run
from asyncsink.cli.machine import Machine
text, code = run(["status", {str(tmp_path)!r}], Machine.here())
assert code == 0
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "asyncsink" in loaded
    assert loaded & {"fsspec", "numpy", "pandas", "pyarrow", "pyspark"} == set()


def test_the_command_runs_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "asyncsink", "status", str(tmp_path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"].startswith("there is no ledger in")
