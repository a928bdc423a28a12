"""Mutants of the group ``configuration``."""

from __future__ import annotations
