"""Secrets stay secret, whatever is printed, raised or logged."""

from __future__ import annotations
