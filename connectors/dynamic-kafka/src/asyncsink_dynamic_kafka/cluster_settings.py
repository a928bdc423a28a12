"""What a cluster's own properties make of a sink's options and limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.options import WriterOptions, folded
from asyncsink.options.fields import OptionField, option_fields
from asyncsink.options.values import parse_value
from asyncsink_dynamic_kafka.metadata.errors import MetadataError
from asyncsink_kafka.options import KafkaOptions

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.snapshot import Cluster
    from asyncsink_dynamic_kafka.options import DynamicKafkaOptions

NOT_OF_CLUSTERS: Final = ("topic", "topics", "topic_pattern")
"""Fields of Kafka's options that have no meaning where topics belong to streams."""

_PREFIX: Final = "kafka."

# A service tells sources and sinks the same; KafkaOptions refuse these where a user gives them to a sink.
_OF_SOURCES: Final = frozenset(
    map(folded, ("group.id", "auto.offset.reset", "enable.auto.commit", "key.deserializer", "value.deserializer"))
)

_MOST_IN_IDS: Final = 40
_QUOTED: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<== )[^\s'",;:)]+""")


class ClusterSettings(NamedTuple):
    """How to write to one cluster.

    :param limits: those of the writer that the cluster's properties set
    :param unusable: makes the error where these limits do not fit others
    """

    options: KafkaOptions
    limits: WriterOptions
    unusable: Callable[[ConfigurationError], MetadataError]

    def config(self, config: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
        """The limits of the cluster's writer, of which `config` has those that the cluster leaves open.

        :raises MetadataError: they break a rule together
        """
        try:
            return self.limits.config(config)
        except ConfigurationError as error:
            raise self.unusable(error) from None


def cluster_settings(options: DynamicKafkaOptions, cluster: Cluster) -> ClusterSettings:
    """The sink's own settings, over which the cluster's win.

    :raises MetadataError: a property is not known or cannot be read, or all together break a rule; names the cluster
        and its properties, and shows no value
    """
    properties = {key: value for key, value in (cluster.properties or {}).items() if folded(key) not in _OF_SOURCES}
    values: dict[str, Any] = {}

    def unusable(error: ConfigurationError) -> MetadataError:
        return _unusable(cluster.name, properties, str(error), values)

    try:
        values = _values(options, properties)
        limits = WriterOptions(**{name: values[name] for name in values.keys() & _fields(WriterOptions).keys()})
        given = {name: value for name, value in values.items() if name in _fields(KafkaOptions)}
        merged = {
            **_own(options, given),
            **given,
            "bootstrap_servers": cluster.identifier.bootstrap_servers,
            "transactional_id_prefix": _prefix_of_ids(options, cluster.name),
        }
        return ClusterSettings(KafkaOptions(**merged), limits, unusable)
    except ConfigurationError as error:
        # Without the cause, whose text shows values.
        raise unusable(error) from None


def _values(options: DynamicKafkaOptions, properties: Mapping[str, str]) -> dict[str, Any]:
    """What the properties say, by field of the options or of the writer's."""
    # Some have an effect only beside another, which the sink may have said.
    said: dict[str, str] = {"deliveryGuarantee": options.delivery_guarantee}
    if "compression.type" not in properties:
        said["compression"] = options.compression
    texts = KafkaOptions.translated({**{f"{_PREFIX}{key}": value for key, value in properties.items()}, **said})
    known = {folded(each.name): each for each in (*_fields(KafkaOptions).values(), *_fields(WriterOptions).values())}
    found = ((known[folded(name)], name, text) for name, text in texts.items() if name not in said)
    return {option.field: parse_value(option, name, text, option.unit) for option, name, text in found}


def _fields(section: type) -> dict[str, OptionField]:
    return {each.field: each for each in option_fields(section)}


def _own(options: DynamicKafkaOptions, given: Mapping[str, Any]) -> dict[str, Any]:
    """The sink's own options, without those that what a cluster says makes meaningless, as Java passes over them."""
    own = {name: getattr(options, name) for name in _fields(KafkaOptions) if name not in NOT_OF_CLUSTERS}
    left_out: tuple[str, ...] = ()
    if protocol := given.get("security_protocol"):
        left_out += () if protocol.startswith("SASL_") else ("sasl_", "aws_")
        left_out += () if protocol.endswith("SSL") else ("ssl_",)
    if "sasl_jaas_config" in given:
        left_out += ("sasl_username", "sasl_password")
    if given.get("compression", options.compression) != options.compression:
        left_out += ("compression_level",)
    return {name: value for name, value in own.items() if not name.startswith(left_out)}


def _prefix_of_ids(options: DynamicKafkaOptions, cluster: str) -> str | None:
    """The prefix of transactional ids with the cluster in it: two names may be one cluster of Kafka."""
    if not options.is_transactional:
        return options.transactional_id_prefix
    part = re.sub(r"[^A-Za-z0-9._-]", "_", cluster)
    if part != cluster or len(part) > _MOST_IN_IDS:
        digest = sha256(cluster.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        part = f"{part[: _MOST_IN_IDS - len(digest) - 1]}-{digest}"
    return f"{options.transaction_prefix}-{part}"


def _unusable(cluster: str, properties: Mapping[str, str], told: str, values: Mapping[str, Any]) -> MetadataError:
    named = ", ".join(sorted(properties)) or "no properties"
    shown = _without_values(told.replace(f"'{_PREFIX}", "'"), [*properties.values(), *map(str, values.values())])
    return MetadataError(
        f"cluster {cluster!r} cannot be written to by its own properties ({named}) and the options of the sink: {shown}"
    )


def _without_values(message: str, values: list[str]) -> str:
    """A message of the options, in which a value or a part of one is hidden wherever it is shown as one."""
    hidden = [*_hidden(values)]

    def shown(match: re.Match[str]) -> str:
        text = match[0].strip("'\"")
        whole = text in hidden
        part = len(text) > 2 and match[0][0] in "'\"" and any(text in each for each in hidden)
        return "***" if whole or part else match[0]

    return _QUOTED.sub(shown, message)


def _hidden(values: list[str]) -> Iterator[str]:
    for value in values:
        if value.strip():
            yield value
            yield repr(value)[1:-1]
