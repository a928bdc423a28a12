"""The limits of the service and of the writer hold, and what they leave is used."""

from __future__ import annotations
