from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from asyncsink_testing.processor_time import spent_s, tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc, which only Linux has")

ENOUGH_S = 0.25
"""Of the 0.3 s that they take; Linux counts in steps of 10 ms."""
BUSY = "import sys, time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\nsys.stdin.read()\n"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}], check=True)\n"
ORPHAN = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BUSY!r}])\n"
KEEPER = f"""
import os, subprocess, sys
from asyncsink_testing.processor_time import keep_orphans, spent_s, tree

keep_orphans()
with subprocess.Popen([sys.executable, "-c", {ORPHAN!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as left:
    left.stdout.readline()
    left.wait()
    print(spent_s({{}}, tree(os.getpid())) >= {ENOUGH_S})
"""


@contextmanager
def busy(program: str) -> Iterator[int]:
    """One that has used 0.3 s, itself or by a child, and is still there."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate("")


@pytest.mark.parametrize("program", [BUSY, PARENT])
def test_what_was_started_counts_and_what_that_has_started(program: str) -> None:
    before = tree(os.getpid())
    with busy(program):
        assert spent_s(before, tree(os.getpid())) >= ENOUGH_S


def test_a_process_is_left_out_with_what_it_has_started() -> None:
    with busy(PARENT) as pid:
        everything, without_it = tree(os.getpid()), tree(os.getpid(), without=pid)
    assert len(everything) == len(without_it) + 2
    assert spent_s(without_it, everything) >= ENOUGH_S


def test_one_that_has_ended_takes_nothing_from_what_the_others_used() -> None:
    with busy(BUSY):
        before = tree(os.getpid())
    assert spent_s(before, tree(os.getpid())) >= 0


def test_orphans_are_kept() -> None:
    assert subprocess.run([sys.executable, "-c", KEEPER], check=True, capture_output=True).stdout == b"True\n"
