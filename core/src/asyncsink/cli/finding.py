"""What a check of the doctor found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; an error keeps sinks from working, a warning may."""

    check: str
    level: Level
    message: str
    remedy: str = ""
