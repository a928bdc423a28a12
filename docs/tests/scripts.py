"""The scripts that make pages, which are no modules of any distribution."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parent.parent


def reference_script(name: str) -> ModuleType:
    """A script in ``docs/reference``, imported under a name that nothing else has."""
    spec = importlib.util.spec_from_file_location(f"reference_{name}", DOCS / "reference" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks for its module there
    spec.loader.exec_module(module)
    return module
