"""How options name statuses: ``503``, ``5XX``, ``500-599``, ``400-``, ``!404``, with commas between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from asyncsink.errors import ConfigurationError

STATUSES: Final = range(200, 600)
"""The statuses that an answer can have in the end: those from 100 to 199 announce another one."""

_EXAMPLE: Final = "write for example 503, 5XX, 500-599, 400- or !404, with commas between them"


class Rank(IntEnum):
    """How closely a status is named: the closest name counts."""

    MASK = 1
    RANGE = 2
    EXACT = 3


class Choice(NamedTuple):
    """The option that a status goes by, and how closely that names it."""

    option: str
    rank: Rank


def named_statuses(option_name: str, text: str) -> Mapping[int, Rank]:
    """The statuses that an option names, each with how closely.

    :raises ConfigurationError: a part of the text cannot be read, or nothing is named
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    named: dict[int, Rank] = {}
    for rank, statuses in sorted(_read(option_name, part) for part in parts if not part.startswith("!")):
        named.update(dict.fromkeys(statuses, rank))
    for part in parts:
        if part.startswith("!"):
            for status in _read(option_name, part[1:].strip())[1]:
                named.pop(status, None)
    if not named:
        raise ConfigurationError(f"option '{option_name}' = {text!r} names no status; {_EXAMPLE}")
    return named


def chosen(options: Mapping[str, str | None]) -> Mapping[int, Choice]:
    """The option that each status goes by, where one names it.

    :param options: what the user wrote, by the name of the option
    :raises ConfigurationError: a text cannot be read, or two options name a status equally closely
    """
    found: dict[int, Choice] = {}
    for option_name, status, rank in _all_named(options):
        other = found.get(status)
        if other is not None and other.rank == rank:
            raise ConfigurationError(
                f"options '{other.option}' and '{option_name}' both name the status {status}, each as {_WORDS[rank]}; "
                f"take it out of one of them, by !{status} for example"
            )
        if other is None or rank > other.rank:
            found[status] = Choice(option_name, rank)
    return found


def _all_named(options: Mapping[str, str | None]) -> Iterator[tuple[str, int, Rank]]:
    for option_name, text in options.items():
        if text is not None:
            for status, rank in named_statuses(option_name, text).items():
                yield option_name, status, rank


_WORDS: Final[Mapping[Rank, str]] = {Rank.EXACT: "itself", Rank.RANGE: "part of a range", Rank.MASK: "part of a mask"}


def _read(option_name: str, part: str) -> tuple[Rank, tuple[int, ...]]:
    """What one part names, and how closely."""
    if re.fullmatch(r"[2-5][xX]{2}", part):
        first = int(part[0]) * 100
        return Rank.MASK, tuple(range(first, first + 100))
    bounds = re.fullmatch(r"([2-5]\d\d)(?:\s*(-)\s*([2-5]\d\d)?)?", part, re.ASCII)
    if bounds is None:
        raise ConfigurationError(
            f"option '{option_name}' has {part!r}, which names no status from {STATUSES[0]} to {STATUSES[-1]}; "
            f"{_EXAMPLE}"
        )
    first, last = int(bounds[1]), int(bounds[3] or STATUSES[-1])
    if not bounds[2]:
        return Rank.EXACT, (first,)
    if last < first:
        raise ConfigurationError(
            f"option '{option_name}' has {part!r}, which ends before it begins; write {last}-{first}"
        )
    return Rank.RANGE, tuple(range(first, last + 1))
