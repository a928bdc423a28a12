"""Order, as far as it is promised."""

from __future__ import annotations
