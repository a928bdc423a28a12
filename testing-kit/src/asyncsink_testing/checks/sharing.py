"""One sink, several writers and event loops."""

from __future__ import annotations
