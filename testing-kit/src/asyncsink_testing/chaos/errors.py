"""What goes wrong with the run itself."""

from __future__ import annotations


class ChaosError(Exception):
    """The query did not recover in time, or the run could not be made; the message ends with what was logged last."""
