"""The weights of clusters as an option writes them."""

from __future__ import annotations

import re
from typing import Final

from asyncsink.errors import ConfigurationError

MOST: Final = 1000
"""The largest weight: the order of turns is computed for all of a round."""

_PAIR: Final = re.compile(r"\s*(?P<name>.+?)\s*:\s*(?P<weight>\d{1,9})\s*", re.DOTALL)
_EXAMPLE: Final = "write for example router.weights=blue:3,green:1"


def read_weights(text: str) -> dict[str, int]:
    """Weights by the name of the cluster, from ``"blue:3,green:1"``.

    :raises ConfigurationError: the text is not of that form, names a cluster twice, or a weight is out of bounds
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        match = _PAIR.fullmatch(part)
        if match is None:
            raise ConfigurationError(
                f"option 'router.weights' has the part {part!r}, which is no name of a cluster and whole number; "
                f"{_EXAMPLE}"
            )
        if match["name"] in found:
            raise ConfigurationError(f"option 'router.weights' names cluster {match['name']!r} twice; {_EXAMPLE}")
        found[match["name"]] = int(match["weight"])
    return checked_weights(found)


def checked_weights(weights: dict[str, int]) -> dict[str, int]:
    """:raises ConfigurationError: a weight is not from 1 to :data:`MOST`"""
    for name, weight in weights.items():
        if not 1 <= weight <= MOST:
            raise ConfigurationError(
                f"option 'router.weights' gives cluster {name!r} the weight {weight}; it must be from 1 to {MOST}: for "
                "none at all let the metadata service take the cluster out of the stream, or call it inactive"
            )
    return weights
