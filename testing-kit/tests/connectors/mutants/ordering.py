"""Mutants of the group ``ordering``."""

from __future__ import annotations
