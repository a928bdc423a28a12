"""Kill and replay: the processes that are found, killed and started again."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from asyncsink_testing.chaos import ChaosError, processes
from asyncsink_testing.chaos.__main__ import main
from asyncsink_testing.chaos.log import LogReader, open_log, read_log
from asyncsink_testing.chaos.programs import Destination, Program
from asyncsink_testing.chaos.source import row

pytestmark = pytest.mark.skipif(not processes.is_supported(), reason="processes are found in /proc")

SERVICE = "asyncsink_testing.chaos.http_service"

# A daemon as Spark's: it forks a worker, which has the same command line, and tells of it.
DAEMON = textwrap.dedent(
    """
    import os, sys
    worker = os.fork()
    if worker:
        print(worker, flush=True)
    sys.stdin.read()
    """
)


@contextmanager
def daemon(*arguments: str, new_session: bool = False) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-c", DAEMON, *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=new_session
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def test_a_worker_is_told_from_its_daemon_and_from_the_planner() -> None:
    with daemon("pyspark.daemon", "pyspark.worker") as (_, worker):
        with daemon("pyspark.daemon", "pyspark.sql.worker.write_into_data_source") as (_, planner):
            with daemon("pyspark.daemon", "pyspark.sql.worker.python_streaming_sink_runner") as (_, committer):
                found = {kind: processes.python_processes(kind, os.getpid()) for kind in processes.MODULES}
    assert found == {"worker": [worker], "planner": [planner], "commit process": [committer]}


def test_the_workers_of_another_driver_are_not_found() -> None:
    with daemon("pyspark.daemon", "pyspark.worker") as (mine, worker), daemon("pyspark.daemon", "pyspark.worker"):
        assert processes.python_processes("worker", mine.pid) == [worker]


def test_killing_what_has_ended_says_so() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert not processes.kill(process.pid)


def test_a_driver_is_killed_with_what_it_has_started() -> None:
    with daemon("driver", new_session=True) as (driver, jvm), os.fdopen(os.pidfd_open(jvm)) as jvm_has_ended:
        assert processes.kill_driver(driver.pid)
        driver.wait()
        # No child of ours: a signal is not an end yet, and on a busy machine it takes its time.
        select.select([jvm_has_ended], [], [], 30.0)
        assert not {driver.pid, jvm} & {each.pid for each in processes.processes()}


def test_the_daemons_of_a_killed_driver_are_left_to_notice_and_end_with_its_session() -> None:
    with daemon("pyspark.daemon", "pyspark.worker", new_session=True) as (process, worker):
        assert not processes.kill_driver(process.pid)
        assert {process.pid, worker} <= {each.pid for each in processes.processes()}
        assert processes.kill_session(process.pid)
        process.wait()
        assert not processes.kill_session(process.pid)
        assert not {process.pid, worker} & {each.pid for each in processes.processes()}


# ---- the log -----------------------------------------------------------------------------------------------------


def test_the_log_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    assert read_log(tmp_path) == ([], 0)
    with open_log(tmp_path) as log:
        log.write(b'[{"id": 1}, {"id": 2}]\n')
        first, position = read_log(tmp_path)
        log.write(b'[{"id": 3}]\n[{"id"')
        second, _ = read_log(tmp_path, position)
    assert (first, second) == ([{"id": 1}, {"id": 2}], [{"id": 3}])


def test_a_reader_of_the_log_gives_each_row_once_and_in_the_end_all(tmp_path: Path) -> None:
    reader = LogReader(tmp_path)
    seen = [reader.fresh()]
    with open_log(tmp_path) as log:
        for number in (1, 2):
            log.write(b'[{"id": %d}]\n' % number)
            seen.append(reader.fresh())
    assert seen == [[], [{"id": 1}], [{"id": 2}]]
    assert reader.everything() == [{"id": 1}, {"id": 2}]


def test_a_line_that_a_kill_has_cut_short_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "stored.log").write_bytes(b'[{"id": 1}]\n[{"id": 2')
    with open_log(tmp_path) as log:
        log.write(b'[{"id": 3}]\n')
    assert read_log(tmp_path)[0] == [{"id": 1}, {"id": 3}]


# ---- the destination ---------------------------------------------------------------------------------------------


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[Destination]:
    with Destination(SERVICE, tmp_path) as started:
        started.start()
        yield started


def post(endpoint: str, rows: list[dict[str, Any]]) -> None:
    with urlopen(endpoint, json.dumps(rows).encode()) as answer:
        assert answer.status == 200


def wait_listening(destination: Destination) -> str:
    """The endpoint of a destination that answers."""
    endpoint = destination.endpoint()
    while True:
        try:
            post(endpoint, [])
        except OSError:
            assert destination.is_running, destination.text()
        else:
            return endpoint


def test_a_destination_that_was_killed_comes_back_where_it_was_with_all_it_had_acknowledged(
    destination: Destination, tmp_path: Path
) -> None:
    endpoint = wait_listening(destination)
    post(endpoint, [row(1), row(2)])
    assert processes.kill(destination.pid)
    destination.buried()
    assert not destination.is_running
    destination.start()
    assert wait_listening(destination) == endpoint
    post(endpoint, [row(3)])
    assert read_log(tmp_path)[0] == [row(1), row(2), row(3)]
    assert destination.starts == 2


def test_a_program_ends_with_the_harness_that_holds_its_stdin(destination: Destination) -> None:
    wait_listening(destination)
    destination.buried()
    assert not destination.is_running


def test_a_destination_that_does_not_start_says_what_it_logged(tmp_path: Path) -> None:
    (tmp_path / "endpoint.draft").mkdir()
    with Destination(SERVICE, tmp_path) as started:
        started.start()
        with pytest.raises(ChaosError, match=r"did not come to listen; it logged last:\n(.*\n)*.*IsADirectoryError"):
            started.endpoint()


def test_leaving_a_program_ends_it(tmp_path: Path) -> None:
    with Program(SERVICE, tmp_path) as program:
        program.start()
    assert program.pid not in {each.pid for each in processes.processes()}


# ---- the command line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--sink", "http", "--guarantee", "exactly-once", "--kills", "1"], "it offers at-least-once, eff"),
        (["--sink", "http", "--guarantee", "at-least-once", "--kills", "0"], "'0' is no number of kills"),
        (["--sink", "parrot", "--guarantee", "at-least-once", "--kills", "1"], "invalid choice: 'parrot'"),
    ],
)
def test_what_cannot_be_run_is_refused_with_what_can(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert told in capsys.readouterr().err
