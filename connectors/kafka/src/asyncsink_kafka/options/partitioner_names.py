"""What the option ``partitioner`` may say, without loading what it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from asyncsink.errors import ConfigurationError
from asyncsink.options.names import did_you_mean, folded

STANDARD: Final = ("murmur2", "sticky", "round-robin", "fixed")

_ELSEWHERE: Final[Mapping[str, str]] = {
    "default": "murmur2",  # Flink's sink.partitioner
    # Kafka's and Flink's classes, without their packages: these have moved from release to release.
    "defaultpartitioner": "murmur2",
    "roundrobinpartitioner": "round-robin",
    "uniformstickypartitioner": "sticky",
    "flinkfixedpartitioner": "fixed",
}


def standard_partitioner(text: str) -> str | None:
    """The one of :data:`STANDARD` that is meant, in our, Java's or Flink's words; None if it is none of these."""
    name = folded(text.strip().strip("'"))
    known = {folded(each): each for each in STANDARD}
    package, _, simple = name.rpartition(".")
    return known.get(name) or (_ELSEWHERE.get(simple) if not package or package.startswith("org.apache.") else None)


def is_java_class(text: str) -> bool:
    """Whether a text looks like a class of Java."""
    return re.fullmatch(r"[\w$]+(\.[\w$]+)+", text.strip()) is not None


def checked_partitioner(text: str) -> str:
    """The partitioner of an option: one of :data:`STANDARD` as it is spelled, or an import path.

    :raises ConfigurationError: it is neither, nor the Java class of a standard one
    """
    name = text.strip()
    known = standard_partitioner(name)
    if known is not None:
        return known
    module, colon, attribute = name.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        return name
    raise ConfigurationError(f"option 'partitioner' = {text!r} {_remedy(name)}")


def _remedy(name: str) -> str:
    if is_java_class(name):
        meant = standard_partitioner(name.rpartition(".")[2])
        hint = f"; did you mean {meant!r}?" if meant else ""
        return (
            "is the name of a Java class, which cannot run here; write it in Python, with a method "
            f"partition(topic, key, value, partitions), and give its import path as 'package.module:Class'{hint}"
        )
    words = ", ".join(repr(each) for each in STANDARD)
    hint = did_you_mean(name, STANDARD)
    nearest_word = f"; {hint}" if hint.startswith("did") else ""
    return f"must be {words} or 'package.module:Class'{nearest_word}"
