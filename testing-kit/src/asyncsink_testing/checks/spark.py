"""The connector through Spark, batch and streaming."""

from __future__ import annotations
