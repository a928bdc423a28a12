"""The checks, a module for each group."""

from __future__ import annotations

from importlib import import_module

GROUPS = ("delivery", "faults", "limits", "ordering", "lifecycle", "configuration", "packaging", "spark")
"""In the order of the specification."""


def load() -> None:
    """Import every group, so that its checks are known."""
    for group in GROUPS:
        import_module(f"{__name__}.{group}")
