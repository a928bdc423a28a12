"""Cancellation: it leaves at once, and leaves nothing behind."""

from __future__ import annotations
