"""Mutants of the group ``lifecycle``."""

from __future__ import annotations
