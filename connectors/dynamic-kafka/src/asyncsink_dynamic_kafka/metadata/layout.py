"""The layout of metadata in files and in answers: one of our own, with a version, and that of Flink's YAML files.

Ours holds streams by their ids, and in each its clusters by their names::

    {"version": 1, "streams": {"orders": {"clusters": {"A": {
        "bootstrapServers": "a1:9092,a2:9092", "topics": ["orders"],
        "properties": {"security.protocol": "SSL"}, "active": true}}}}}

``properties`` and ``active`` may be left out: none, and true. Flink's is a list of streams, with lists of clusters that
have the same fields and a ``clusterId``, which by default is ``bootstrapServers``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from asyncsink.options import did_you_mean
from asyncsink_dynamic_kafka.metadata.errors import MetadataError
from asyncsink_dynamic_kafka.metadata.streams import BOOTSTRAP_SERVERS, ClusterMetadata, KafkaStream

VERSION: Final = 1
_CLUSTER: Final = ("bootstrapServers", "topics", "properties", "active")


@dataclass(frozen=True, slots=True)
class MetadataDocument:
    """All that a file or an answer tells."""

    streams: Mapping[str, KafkaStream]
    inactive: frozenset[str] = frozenset()

    def describe(self, stream_ids: Collection[str]) -> dict[str, KafkaStream]:
        """Those of `stream_ids` that it tells of."""
        return {each: self.streams[each] for each in stream_ids if each in self.streams}

    def is_active(self, cluster_id: str) -> bool:
        """Whether a stream has the cluster, and nothing says that it is not active."""
        told = any(cluster_id in stream.cluster_metadata_map for stream in self.streams.values())
        return told and cluster_id not in self.inactive


def read_layout(content: object) -> MetadataDocument:
    """What a parsed document tells, in either layout.

    :raises MetadataError: it is in neither; names the place and the field, and no property's value
    """
    states: dict[str, bool] = {}
    streams: dict[str, KafkaStream] = {}
    for stream_id, clusters in _flinks(content) if isinstance(content, list) else _ours(content):
        place = f"stream {stream_id!r}"
        if stream_id in streams:
            raise MetadataError(f"{place} is there twice; write one entry with all its clusters")
        found: dict[str, ClusterMetadata] = {}
        for name, fields in clusters:
            at = f"{place}, cluster {name!r}"
            if name in found:
                raise MetadataError(f"{at} is there twice; write one entry with all its topics")
            found[name] = _cluster(at, fields)
            is_active = _optional(at, fields, "active", bool, True)
            if states.setdefault(name, is_active) != is_active:
                raise MetadataError(f"{at} has another 'active' than in another stream; write the same in all")
        streams[stream_id] = KafkaStream(stream_id, found)
    return MetadataDocument(streams, frozenset(name for name, is_active in states.items() if not is_active))


_Clusters = list[tuple[str, Mapping[str, Any]]]


def _ours(content: object) -> Iterator[tuple[str, _Clusters]]:
    document = _fields("the document", content, ("version", "streams"))
    version = _required("the document", document, "version", int)
    if version != VERSION:
        raise MetadataError(
            f"the document has 'version' = {version}, and this release reads {VERSION}; upgrade "
            "asyncsink-dynamic-kafka where the writers run"
        )
    for stream_id, stream in _named("'streams'", _required("the document", document, "streams", dict)):
        place = f"stream {stream_id!r}"
        clusters = _required(place, _fields(place, stream, ("clusters",)), "clusters", dict)
        yield (
            stream_id,
            [
                (name, _fields(f"{place}, cluster {name!r}", fields, _CLUSTER))
                for name, fields in _named(f"{place}, 'clusters'", clusters)
            ],
        )


def _flinks(content: list[object]) -> Iterator[tuple[str, _Clusters]]:
    for number, each in enumerate(content, 1):
        place = f"stream number {number}"
        stream = _fields(place, each, ("streamId", "clusterMetadataList"))
        stream_id = _required(place, stream, "streamId", str)
        place = f"stream {stream_id!r}"
        clusters: _Clusters = []
        for index, one in enumerate(_required(place, stream, "clusterMetadataList", list), 1):
            at = f"{place}, cluster number {index}"
            fields = _fields(at, one, ("clusterId", *_CLUSTER))
            servers = _required(at, fields, "bootstrapServers", str)
            clusters.append((_optional(at, fields, "clusterId", str, servers), fields))
        yield stream_id, clusters


def _cluster(place: str, fields: Mapping[str, Any]) -> ClusterMetadata:
    topics = _required(place, fields, "topics", list)
    if not all(isinstance(each, str) for each in topics):
        raise MetadataError(f"{place}: each of 'topics' must be a string; put quotes around it")
    properties = {
        key: _property(place, key, value)
        for key, value in _named(f"{place}, 'properties'", _optional(place, fields, "properties", dict, {}))
    }
    if BOOTSTRAP_SERVERS in properties:
        raise MetadataError(f"{place}: {BOOTSTRAP_SERVERS} is no one of 'properties'; write it as 'bootstrapServers'")
    properties[BOOTSTRAP_SERVERS] = _required(place, fields, "bootstrapServers", str)
    return ClusterMetadata(frozenset(topics), properties)


def _property(place: str, key: str, value: object) -> str:
    """The value as Java's clients take it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise MetadataError(
        f"{place}: property {key!r} is of type {type(value).__name__}; write a string, a number, true or false"
    )


def _fields(place: str, found: object, known: Collection[str]) -> dict[str, Any]:
    """A mapping with no other keys than `known`: one that is misspelt would be left out unseen."""
    if not isinstance(found, dict):
        raise MetadataError(
            f"{place} is of type {type(found).__name__}; write a mapping with {', '.join(map(repr, known))}"
        )
    for key in found:
        if key not in known:
            raise MetadataError(f"{place} has the field {key!r}, which nobody knows; {did_you_mean(str(key), known)}")
    return found


def _named(place: str, found: dict[object, Any]) -> list[tuple[str, Any]]:
    """The entries of a mapping by names that users give; YAML takes some names for numbers, others for booleans."""
    for key in found:
        if not isinstance(key, str) or not key:
            raise MetadataError(f"{place} has the name {key!r}; names are strings that are not empty, quote it")
    return [(str(key), value) for key, value in found.items()]


def _required(place: str, fields: Mapping[str, Any], name: str, kind: type) -> Any:
    if fields.get(name) is None:
        raise MetadataError(f"{place} has no field {name!r}; add it")
    return _optional(place, fields, name, kind, None)


def _optional(place: str, fields: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = fields.get(name)
    if value is None:
        return default
    # In Python a bool is an int too.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise MetadataError(f"{place}: {name!r} is of type {type(value).__name__}, and must be {_KINDS[kind]}")
    return value


_KINDS: Final = {bool: "true or false", dict: "a mapping", int: "a whole number", list: "a list", str: "a string"}
