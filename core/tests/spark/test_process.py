"""What a Python process of Spark's is told, each time in a process of its own: it stays with a process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
from asyncsink.spark.process import keep_freed_memory

def read(zeros):
    batches = []
    for job in range(3):
        for each in range(10):
            batches = [*batches[-2:], zeros.read(10_000_000 + 100 * each)]
        batches.clear()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with open("/dev/zero", "rb") as zeros:
        read(zeros)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if KEEP:
    keep_freed_memory()
faults()
print(faults())
"""

COLLECTED = """
import gc, weakref
from asyncsink.spark.process import spare_what_is_loaded

class Knot:
    def __init__(self):
        self.me = self

gc.disable()
old = weakref.ref(Knot())
spare_what_is_loaded()
spared = gc.get_freeze_count()
young = weakref.ref(Knot())
spare_what_is_loaded()
assert old() is None, "garbage was kept"
assert young() is not None, "not only the first call counts"
assert spared > 1000 and gc.get_freeze_count() <= spared, "what comes later is spared too"
gc.collect()
assert young() is None, "what comes later is not collected"
"""


def ran(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc is told so, and no other C library")
def test_freed_batches_make_room_for_the_next() -> None:
    pages = 30 * 10_000_000 // 4096
    assert int(ran(f"KEEP = False{FAULTS}")) > pages // 2
    assert int(ran(f"KEEP = True{FAULTS}")) < pages // 20


def test_the_collector_passes_by_what_was_there_at_the_first_call() -> None:
    ran(COLLECTED)
