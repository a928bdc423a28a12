"""Options: bad ones are refused by name, and secrets stay secret."""

from __future__ import annotations
