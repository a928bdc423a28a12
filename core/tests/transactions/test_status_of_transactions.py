"""``python -m asyncsink status --connect``: what a dead query has left open, and its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from reference import registered
from staged import StagedDestination

from asyncsink import LedgerError, run_local
from asyncsink.cli import run
from asyncsink.cli.machine import Machine
from asyncsink.ledger import FOLDER, BatchProgress
from asyncsink.transactions.log import Decision
from asyncsink_testing.killing import Killed
from asyncsink_testing.staged_sink import StagedCommitter, StagedSink

from .driver import Driver

LOST = (
    "attempt 2 was begun and given up in the query's place: if the query was alive, it has lost what it was writing; "
    "it fails, and writes the batch again when it is started again"
)
NOON_MS = 1_767_268_800_000


@pytest.fixture
def destination() -> Iterator[StagedDestination]:
    with StagedDestination.opened() as opened, registered("staged", "staged:CommitterSink"):
        yield opened


@pytest.fixture
def query(tmp_path: Path, destination: StagedDestination) -> Driver:
    """The driver of a query whose checkpoint is the test's folder."""
    return Driver(tmp_path / FOLDER / "staged", destination.area)


def told(*arguments: str) -> tuple[str, int]:
    """What the command prints, with runs of spaces as one, and its exit status."""
    text, code = run(["status", *arguments], Machine.here())
    return "\n".join(" ".join(line.split()) for line in text.splitlines()), code


def asked(checkpoint: Path, destination: StagedDestination, *arguments: str) -> tuple[str, int]:
    return told(str(checkpoint), "--connect", "staged", "--option", f"endpoint={destination.endpoint}", *arguments)


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def begun(query: Driver, *elements: str) -> Decision:
    """An attempt that has prepared its elements, and is not decided."""
    return query.prepared(query.begin().transaction, *elements)


def test_what_is_open_is_shown_and_nothing_is_changed(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    begun(query, "a")
    (name,) = destination.area.staged
    before = files_in(tmp_path)
    text, code = asked(tmp_path, destination)
    assert code == 0
    assert "last attempt 1, begun, and nothing is decided: writers may be at work" in text.splitlines()
    assert f"open transactions {name}" in text.splitlines()
    assert (files_in(tmp_path), [*destination.area.staged]) == (before, [name])


def test_the_destination_is_not_asked_unless_it_is_named(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    begun(query, "a")
    text, code = told(str(tmp_path))
    assert (code, "open transactions" in text) == (0, False)


def test_what_was_not_decided_is_given_up_with_a_warning(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    begun(query, "a")
    text, code = asked(tmp_path, destination, "--end")
    assert code == 0
    assert text.splitlines()[-6:] == [
        "last attempt 2, given up",
        "ended attempt 1 is given up",
        "1 of 1 transactions that were open have ended",
        "open transactions none",
        "",
        f"warning: {LOST}",
    ]
    assert (destination.area.staged, destination.area.visible) == ({}, [])


def test_what_was_decided_is_committed_and_what_became_of_it_is_noted(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    progress = BatchProgress(sink="staged", query_id=None, batch_id=0, committed_at_ms=NOON_MS, rows_in=1, rows=1)
    query.log.decide(replace(begun(query, "a"), note={"progress": asdict(progress)}))
    text, _ = told(str(tmp_path))
    assert "last attempt 1, decided: what is prepared is being committed, or waits for the next start" in text
    text, code = asked(tmp_path, destination, "--end")
    assert code == 0
    assert "ended attempt 1 was prepared, and is committed\n1 of 1 transactions that were open have ended" in text
    assert "last committed batch 0, 2026-01-01 12:00:00 UTC" in text
    assert (destination.area.staged, destination.area.visible) == ({}, ["a"])


def test_a_query_that_was_alive_cannot_commit_and_writes_the_batch_again(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    query.whole_batch("a")
    prepared = begun(query, "b")
    asked(tmp_path, destination, "--end")
    with pytest.raises(LedgerError, match="was decided before"):
        query.commit(prepared)
    query.whole_batch("b", batch_id=1)
    assert destination.area.visible == ["a", "b"]
    text, _ = told(str(tmp_path))
    assert "last attempt 4, committed" in text


def test_an_end_without_need_does_no_harm(tmp_path: Path, query: Driver, destination: StagedDestination) -> None:
    query.whole_batch("a")
    for _ in range(2):
        text, code = asked(tmp_path, destination, "--end")
        assert (code, "0 of 0 transactions that were open have ended" in text) == (0, True)
    query.whole_batch("b", batch_id=1)
    assert destination.area.visible == ["a", "b"]


def test_where_nothing_was_begun_nothing_is(tmp_path: Path, destination: StagedDestination) -> None:
    (tmp_path / FOLDER / "staged").mkdir(parents=True)
    text, code = asked(tmp_path, destination, "--end")
    assert (code, "ended nothing was ever begun\nopen transactions none" in text) == (0, True)
    assert files_in(tmp_path) == {}


def test_what_is_still_open_in_the_end_is_an_error(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    successors = f"{begun(query, 'a').transaction.sink_id}-9-0-0-1"
    destination.area.stage(successors, ["b"])
    text, code = asked(tmp_path, destination, "--end")
    assert code == 1
    assert f"1 of 2 transactions that were open have ended\nopen transactions {successors}" in text
    assert "error: 1 transactions are open all the same: a warning that was logged says why, or the query is" in text


def test_a_destination_that_cannot_be_asked_is_an_error_beside_what_can_be_told(tmp_path: Path, query: Driver) -> None:
    query.whole_batch("a")
    elsewhere = ("--connect", "staged", "--option", "endpoint=gone", "--option", "token=hush")
    text, code = told(str(tmp_path), *elsewhere)
    assert code == 1
    assert "last committed batch 0" in text
    assert text.splitlines()[-1] == (
        "error: the destination of 'staged': DestinationUnavailableError: no staging area is there to list; name one "
        "that is open"
    )
    assert "hush" not in text
    document, code = run(["status", str(tmp_path), *elsewhere, "--json"], Machine.here())
    assert (code, "hush" in document) == (1, False)


def test_so_is_one_that_does_not_answer(
    tmp_path: Path, query: Driver, destination: StagedDestination, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> Any:
        await anyio.sleep_forever()

    query.whole_batch("a")
    monkeypatch.setattr("asyncsink.transactions.committers._TIDY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(StagedCommitter, "open_transactions", hang)
    text, code = asked(tmp_path, destination)
    assert code == 1
    assert text.splitlines()[-1] == (
        "error: the destination of 'staged': TimeoutError: no answer within 0.05 s; what was logged before may say why"
    )


def test_json_has_what_the_text_shows(tmp_path: Path, query: Driver, destination: StagedDestination) -> None:
    begun(query, "a")
    (name,) = destination.area.staged
    document, _ = run(
        ["status", str(tmp_path), "--connect", "STAGED", "--option", f"endpoint={destination.endpoint}", "--json"],
        Machine.here(),
    )
    (sink,) = json.loads(document)["sinks"]
    assert sink["attempt"] == {"number": 1, "state": "begun"}
    assert sink["destination"] == {"open": [name], "ended": None, "warning": None, "error": None}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--connect", "staged"], "option 'endpoint' is missing"),
        (["--connect", "staged", "--option", "endpoint=x", "--option", "tokn=hush"], "did you mean 'token'?"),
        (["--connect", "nowhere"], "connector 'nowhere' is not installed"),
        (["--connect", "other", "--option", "endpoint=x"], "there is no ledger of 'other' in "),
        (["--connect", "storing", "--option", "endpoint=x"], "'storing' with these options commits nothing, so that"),
    ],
)
def test_a_sink_that_cannot_be_asked_is_an_error_without_a_secret(
    arguments: list[str], expected: str, tmp_path: Path, query: Driver
) -> None:
    query.whole_batch("a")
    with registered("other", "staged:CommitterSink"), registered("storing", "staged:StoringSink"):
        text, code = told(str(tmp_path), *arguments)
    assert (code, "hush" in text) == (1, False)
    assert expected in text


def test_options_of_the_door_may_be_given_with_those_of_the_sink(
    tmp_path: Path, query: Driver, destination: StagedDestination
) -> None:
    query.whole_batch("a")
    _, code = asked(tmp_path, destination, "--option", f"checkpointLocation={tmp_path}", "--option", "commitTimeout=5s")
    assert code == 0


def test_arguments_may_stand_in_a_file(tmp_path: Path, query: Driver, destination: StagedDestination) -> None:
    begun(query, "a")
    settings = tmp_path / "settings.txt"
    settings.write_text(f"--connect=staged\n--option=endpoint={destination.endpoint}\n--option=token=hush\n")
    text, code = told(str(tmp_path), f"@{settings}")
    assert (code, "hush" in text) == (0, False)
    assert f"open transactions {next(iter(destination.area.staged))}" in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--connect", "staged", "--option", "hush"], "an option has no key, or no value; give it as KEY=VALUE"),
        (["--connect", "staged", "--option", "=hush"], "an option has no key, or no value; give it as KEY=VALUE"),
        (["--end"], "--option and --end need --connect CONNECTOR, whose destination they are about"),
        (["--option", "token=hush"], "--option and --end need --connect CONNECTOR, whose destination they are about"),
    ],
)
def test_arguments_without_a_meaning_are_refused(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(["status", "somewhere", *arguments], Machine.here())
    said = capsys.readouterr().err
    assert (caught.value.code, "hush" in said) == (2, False)
    assert expected in said


def test_the_state_of_run_local_is_told_and_its_dead_run_is_settled(
    tmp_path: Path, destination: StagedDestination
) -> None:
    sink, elements = StagedSink(destination.area), ["a", "b"]

    def killed(what: str) -> None:
        if what.startswith("commit ") and destination.area.visible:
            raise Killed(what)

    async def main() -> Any:
        return await run_local(sink, elements, tmp_path, checkpoint_every=1)

    destination.area.meet = killed
    try:
        anyio.run(main)
    except* Killed:
        destination.area.meet = lambda what: None
    text, code = asked(tmp_path, destination)
    assert code == 0
    assert text.splitlines()[:3] == [
        str(tmp_path),
        "query none, this is the state of run_local",
        "last committed batch 1, at a time that is not kept",
    ]
    text, code = asked(tmp_path, destination, "--end")
    assert (code, "ended attempt 2 was prepared, and is committed" in text) == (0, True)
    assert destination.area.visible == elements
    assert anyio.run(main).position == len(elements)
    assert destination.area.visible == elements
