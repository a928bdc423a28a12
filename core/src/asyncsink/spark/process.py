"""What is told once to a Python process of Spark's, which does one piece of work after another."""

from __future__ import annotations

import gc
from functools import cache

_BLOCK_BYTES = (32 << 20) - (64 << 10)
"""Just below the 32 MiB up to which glibc learns."""


def keep_freed_memory() -> None:
    """Have the C library keep the memory of Spark's batches for the next ones.

    They are of megabytes. glibc gives such blocks back to the system, and to be given fresh pages costs more than to
    fill them: a tenth of the processor time of a job with rows of 1 KB. It keeps up to 64 MiB as soon as it has seen
    that the program frees blocks of 32 MiB (mallopt(3), M_MMAP_THRESHOLD). Nobody writes to this one, so it takes none.
    """
    bytes(_BLOCK_BYTES)


@cache
def spare_what_is_loaded() -> None:
    """Have the garbage collector pass by all that is there now: the modules, above all.

    PySpark collects all garbage after every task, every plan and every commit. Its own modules, Arrow's and a client's
    make that 40 ms each time, most of what a small job takes in Python. What has become garbage is gone before.
    """
    gc.collect()
    gc.freeze()
