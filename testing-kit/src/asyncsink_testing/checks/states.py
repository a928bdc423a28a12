"""What a writer leaves to its successor, as bytes and without them."""

from __future__ import annotations
