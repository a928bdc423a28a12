"""What the option ``partitioner`` may say, without loading what it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink.errors import ConfigurationError
from asyncsink.options.names import did_you_mean, folded

STANDARD: Final = ("murmur2", "sticky", "round-robin", "fixed")

_OTHER_WORDS: Final[Mapping[str, str]] = {"default": "murmur2"}  # Flink's sink.partitioner

_JAVA: Final[Mapping[str, str]] = {
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "round-robin",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": "sticky",
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "murmur2",
    "org.apache.flink.streaming.connectors.kafka.partitioner.FlinkFixedPartitioner": "fixed",
}


def checked_partitioner(text: str) -> str:
    """The partitioner of an option: one of :data:`STANDARD` as it is spelled, or an import path.

    :raises ConfigurationError: it is neither, nor the Java class of a standard one
    """
    name = text.strip()
    known = {**{folded(each): each for each in STANDARD}, **_OTHER_WORDS}
    if folded(name) in known:
        return known[folded(name)]
    if name in _JAVA:
        return _JAVA[name]
    module, colon, attribute = name.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        return name
    raise ConfigurationError(f"option 'partitioner' = {text!r} {_remedy(name)}")


def _remedy(name: str) -> str:
    if ":" not in name and "." in name:
        simple = name.rpartition(".")[2]
        nearest = {each.rpartition(".")[2]: named for each, named in _JAVA.items()}.get(simple)
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        return (
            "is the name of a Java class, which cannot run here; write it in Python, with a method "
            f"partition(topic, key, value, partitions), and give its import path as 'package.module:Class'{hint}"
        )
    words = ", ".join(repr(each) for each in STANDARD)
    hint = did_you_mean(name, STANDARD)
    nearest_word = f"; {hint}" if hint.startswith("did") else ""
    return f"must be {words} or 'package.module:Class'{nearest_word}"
