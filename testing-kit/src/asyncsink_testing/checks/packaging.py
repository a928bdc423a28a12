"""The distribution: how it is found, what that costs, and what it must carry."""

from __future__ import annotations
