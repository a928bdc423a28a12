"""Where metadata comes from, and of which streams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias, ConnectorOptions, did_you_mean, folded, option
from asyncsink_dynamic_kafka.metadata.addresses import checked_token, checked_url

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSubscriber

SERVICES: Final = ("single-cluster", "file", "http")

_NEEDED: Final[Mapping[str, str]] = {
    "single-cluster": "metadata_service_cluster_id",
    "file": "metadata_service_path",
    "http": "metadata_service_url",
}
_BELONGS_TO: Final[Mapping[str, str]] = {
    "metadata_service_cluster_id": "single-cluster",
    "metadata_service_path": "file",
    "metadata_service_url": "http",
    "metadata_service_token": "http",
    "metadata_service_token_file": "http",
    "metadata_service_ca_file": "http",
    "bootstrap_servers": "single-cluster",
}
_NAMES: Final[Mapping[str, str]] = {
    **{field: f"metadataService.{name}" for field, name in (
        ("metadata_service_cluster_id", "clusterId"),
        ("metadata_service_path", "path"),
        ("metadata_service_url", "url"),
        ("metadata_service_token", "token"),
        ("metadata_service_token_file", "tokenFile"),
        ("metadata_service_ca_file", "caFile"),
    )},
    "bootstrap_servers": "bootstrapServers",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ServiceOptions(ConnectorOptions):
    """The streams to write to, the service that knows their clusters and topics, and how often it is asked."""

    stream_ids: str | None = option(
        None,
        doc="Streams that may be written to, separated by commas or semicolons. With one of them rows need no column "
        "stream.",
    )
    stream_pattern: str | None = option(
        None,
        doc="Regular expression for the whole id of streams that may be written to, in place of streamIds; new ones "
        "join as the service tells of them.",
    )
    metadata_service: str | None = option(
        None,
        doc="Who knows the clusters and topics of streams: single-cluster, a stream is a topic of one cluster; file; "
        "http; or a KafkaMetadataService of your own as package.module:Class. Required.",
    )
    metadata_service_cluster_id: str | None = option(
        None, name="metadataService.clusterId", doc="Name of the one cluster, with single-cluster."
    )
    metadata_service_path: str | None = option(
        None, name="metadataService.path", doc="YAML or JSON file with the metadata, where tasks run, with file."
    )
    metadata_service_url: str | None = option(
        None, name="metadataService.url", doc="URL of the metadata as JSON, with http."
    )
    metadata_service_token: str | None = option(
        None, name="metadataService.token", doc="Bearer token for the URL.", secret=True
    )
    metadata_service_token_file: str | None = option(
        None,
        name="metadataService.tokenFile",
        doc="File with the bearer token, where tasks run; read for each request.",
    )
    metadata_service_ca_file: str | None = option(
        None, name="metadataService.caFile", doc="PEM file of the authorities that the URL's server is trusted by."
    )
    metadata_service_timeout_s: float = option(
        30.0,
        name="metadataService.timeout",
        doc="Time for an answer of the service, after which the call has failed.",
        unit="s",
    )
    metadata_service_properties: Mapping[str, str] = option(
        prefix="metadataService.properties.",
        doc="What a service of your own is made with, as a dictionary; without any it is made without arguments.",
        secret=True,
    )
    stream_metadata_discovery_interval_s: float = option(
        60.0,
        doc="Time from an answer of the service to the next call; 0, or with Flink's name a negative number, for a "
        "single answer.",
        unit="s",
        aliases=[Alias("stream-metadata-discovery-interval-ms", unit="ms")],
    )
    stream_metadata_discovery_failure_threshold: int = option(
        10,
        doc="Failures of the service in a row that are borne, while what was known before stays in use; -1 for any "
        "number.",
    )

    def check_service(self, bootstrap_servers: str) -> None:
        """Check the streams and the service.

        :raises ConfigurationError: an option is missing, or belongs to another service
        """
        self._check_streams()
        if self.metadata_service is not None:
            object.__setattr__(self, "metadata_service", _checked_service(self.metadata_service))
        service = self.metadata_service
        for field, owner in _BELONGS_TO.items():
            value = bootstrap_servers if field == "bootstrap_servers" else getattr(self, field)
            if value and service != owner:
                raise ConfigurationError(
                    f"option {_NAMES[field]!r} is for 'metadataService' = {owner!r}, and it is {service!r}; "
                    f"{_otherwise(field)}"
                )
        needed = _NEEDED.get(service or "")
        if needed is not None and not getattr(self, needed):
            raise ConfigurationError(f"option {_NAMES[needed]!r} is missing: 'metadataService' = {service!r} needs it")
        if service == "http":
            self._check_http()
        if self.metadata_service_properties and service in (None, *SERVICES):
            raise ConfigurationError(
                "options 'metadataService.properties.*' are for a service of your own, and 'metadataService' = "
                f"{service!r}; leave them out"
            )
        if self.metadata_service_timeout_s <= 0:
            raise ConfigurationError(
                f"option 'metadataService.timeout' = {self.metadata_service_timeout_s} must be larger than 0; give for "
                "example metadataService.timeout=30s"
            )

    def _check_http(self) -> None:
        checked_url("option 'metadataService.url'", self.metadata_service_url or "")
        if self.metadata_service_token is None:
            return
        checked_token("option 'metadataService.token'", self.metadata_service_token)
        if self.metadata_service_token_file is not None:
            raise ConfigurationError(
                "options 'metadataService.token' and 'metadataService.tokenFile' are both given; leave one of them out"
            )

    @property
    def streams(self) -> tuple[str, ...]:
        """The ids that are subscribed to; none with a pattern."""
        found = (each.strip() for each in re.split("[,;]", self.stream_ids or ""))
        return tuple(dict.fromkeys(each for each in found if each))

    @property
    def only_stream(self) -> str | None:
        """The stream of rows that name none."""
        return self.streams[0] if len(self.streams) == 1 else None

    @property
    def subscriber(self) -> KafkaStreamSubscriber:
        """Chooses the streams among those that the service knows."""
        from asyncsink_dynamic_kafka.metadata.subscribers import KafkaStreamSetSubscriber, StreamPatternSubscriber

        if self.stream_pattern is not None:
            return StreamPatternSubscriber(self.stream_pattern)
        return KafkaStreamSetSubscriber(frozenset(self.streams))

    def _check_streams(self) -> None:
        if (self.stream_ids is None) == (self.stream_pattern is None):
            given = "both are given" if self.stream_ids is not None else "neither is given"
            raise ConfigurationError(
                "the streams to write to come from option 'streamIds', as in streamIds=orders,payments, or from "
                f"'streamPattern', and {given}; give one of them"
            )
        if self.stream_ids is not None and not self.streams:
            raise ConfigurationError(
                f"option 'streamIds' = {self.stream_ids!r} names no stream; write for example streamIds=orders,payments"
            )
        try:
            re.compile(self.stream_pattern or "")
        except re.error as error:
            raise ConfigurationError(
                f"option 'streamPattern' = {self.stream_pattern!r} is no regular expression: {error}; write for "
                "example orders-.*"
            ) from None


def _checked_service(text: str) -> str:
    """One of :data:`SERVICES` as it is spelled, or an import path."""
    name = text.strip().strip("'")
    known = {folded(each): each for each in SERVICES}
    if folded(name) in known:
        return known[folded(name)]
    module, colon, attribute = name.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        return name
    hint = did_you_mean(name, SERVICES)
    nearest = f"; {hint}" if hint.startswith("did") else ""
    raise ConfigurationError(
        f"option 'metadataService' = {text!r} must be {', '.join(map(repr, SERVICES))} or 'package.module:Class', a "
        f"KafkaMetadataService in Python{nearest}"
    )


def _otherwise(field: str) -> str:
    if field == "bootstrap_servers":
        return "the brokers of each cluster come from the service, so leave it out"
    return "leave one of them out"
