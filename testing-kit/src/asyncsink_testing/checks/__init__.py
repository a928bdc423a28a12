"""The checks, a module for each group, and further ones where a group is long."""

from __future__ import annotations

from importlib import import_module

GROUPS = ("delivery", "faults", "limits", "ordering", "lifecycle", "committing", "configuration", "packaging", "spark")
"""In the order of the specification."""

_MODULES = (
    "delivery", "faults", "failed_entries", "retrying", "scripts", "limits", "backpressure", "ordering", "lifecycle",
    "cancelling", "states", "sharing", "committing", "sweeping", "global_committing", "interrupting", "committables",
    "configuration", "capabilities", "secrets_hidden", "packaging", "spark", "spark_kills",
)  # fmt: skip


def load() -> None:
    """Import every group, so that its checks are known."""
    for module in _MODULES:
        import_module(f"{__name__}.{module}")
