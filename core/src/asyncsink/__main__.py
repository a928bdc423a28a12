"""The program ``python -m asyncsink``."""

from __future__ import annotations

import sys

from asyncsink.cli import run
from asyncsink.cli.machine import Machine

if __name__ == "__main__":
    text, status = run(sys.argv[1:], Machine.here())
    print(text)
    sys.exit(status)
