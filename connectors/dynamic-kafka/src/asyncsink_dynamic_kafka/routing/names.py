"""What the option ``router`` may say, without loading what it names."""

from __future__ import annotations

from typing import Final

from asyncsink.errors import ConfigurationError
from asyncsink.options import did_you_mean, folded

STANDARD: Final = ("round-robin", "sticky", "weighted", "mirror")


def checked_router(text: str) -> str:
    """The router of an option: one of :data:`STANDARD` as it is spelled, or an import path.

    :raises ConfigurationError: it is neither
    """
    name = text.strip()
    known = {folded(each): each for each in STANDARD}
    if folded(name) in known:
        return known[folded(name)]
    module, colon, attribute = name.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        return name
    words = ", ".join(map(repr, STANDARD))
    hint = did_you_mean(name, STANDARD)
    nearest = f"; {hint}" if hint.startswith("did") else ""
    raise ConfigurationError(f"option 'router' = {text!r} must be {words} or 'package.module:Class'{nearest}")
