"""``python -m asyncsink_testing badge`` and ``python -m asyncsink_testing new``."""

from __future__ import annotations

import sys

from asyncsink_testing.cli import run

if __name__ == "__main__":
    text, status = run(sys.argv[1:])
    print(text, file=sys.stderr if status else sys.stdout)
    sys.exit(status)
