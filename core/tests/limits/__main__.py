"""``python core/tests/limits``, or ``python -m limits`` beside it: all strategies in all scenarios, as a page."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":  # the processes that measure import this file as well
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(import_module("limits.command").main())
