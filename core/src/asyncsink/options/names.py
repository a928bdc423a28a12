"""How names compare: options and connectors are found in any of the spellings that users bring."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def folded(name: str) -> str:
    """A name as it compares: without case, ``-`` and ``_``. Dots count."""
    return name.lower().replace("-", "").replace("_", "")


def is_near(name: str, other: str) -> bool:
    """Whether `name` is `other` with a slip of the keyboard, and not `other` itself."""
    one, two = folded(name), folded(other)
    return one != two and bool(get_close_matches(one, [two], cutoff=0.8))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest known one, or all of them."""
    spellings = {folded(each): each for each in known}
    nearest = get_close_matches(folded(name), spellings, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean {spellings[nearest[0]]!r}?"
    return f"known are {', '.join(sorted(spellings.values(), key=str.lower))}" if spellings else "none is known"
