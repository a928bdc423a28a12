"""Mutants of the group ``packaging``."""

from __future__ import annotations
