"""Mutants of the group ``limits``."""

from __future__ import annotations
