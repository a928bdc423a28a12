"""Closing, cancelling, and what a writer leaves to its successor."""

from __future__ import annotations
