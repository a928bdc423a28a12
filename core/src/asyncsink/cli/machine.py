"""The surroundings that the doctor looks at, as one thing that tests can replace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    status: int
    stdout: str = ""
    stderr: str = ""

    @property
    def last_line(self) -> str:
        """The last line it wrote, which for Python is the exception."""
        return ((self.stderr.strip() or self.stdout.strip()).splitlines() or ["no output"])[-1].strip()


@dataclass(frozen=True, slots=True)
class Machine:
    """Environment variables, this interpreter, and the ways to find and to run other programs."""

    environ: Mapping[str, str]
    executable: str
    which: Callable[[str], str | None]
    run: Callable[[Sequence[str]], Outcome]

    @classmethod
    def here(cls) -> Machine:
        """The one that this process runs on."""
        return cls(os.environ, sys.executable, shutil.which, run_command)


def run_command(command: Sequence[str]) -> Outcome:
    """Run a command to its end; one that cannot be started or hangs has the status a shell would give it."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return Outcome(124, stderr=f"no answer within {_PATIENCE_S:.0f} s")
    except OSError as error:
        return Outcome(127, stderr=str(error))
    return Outcome(done.returncode, done.stdout, done.stderr)
