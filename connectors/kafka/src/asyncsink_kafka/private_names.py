"""Names of aiokafka that are not public: looked up, so that a version without one is noticed and told."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, Final

KNOWN_VERSIONS: Final = ">=0.14,<0.15"
"""The aiokafka that all looks at private names are made for; pyproject.toml asks for the same."""


def find(path: str) -> Any:
    """What ``module.name`` names; None where there is no such module, or no such name in it."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


def absent(paths: Iterable[str]) -> list[str]:
    """Those of `paths` that name nothing."""
    return [path for path in paths if find(path) is None]


@cache
def source_of(kind: type) -> str:
    """The source of a class. Python parses the whole module for it, so each is read once and not for each client."""
    return inspect.getsource(kind)
