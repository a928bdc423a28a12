"""Mutants of the group ``spark``."""

from __future__ import annotations
