"""``python core/tests/simulation --runs 20000 --seed 0``, or ``python -m simulation`` beside it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.exit(import_module("simulation.runner").main())
