"""A metadata service from what a user says of it: a name, or the import path of a class."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
from asyncsink_dynamic_kafka.metadata.http import HttpMetadataService
from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService

NAMES: Final = ("single-cluster", "file", "http")


def make_metadata_service(
    service: str,
    properties: Mapping[str, str],
    *,
    cluster_id: str | None = None,
    path: str | None = None,
    url: str | None = None,
    bearer_token: str | None = None,
    bearer_token_file: str | None = None,
    ca_file: str | None = None,
) -> KafkaMetadataService:
    """The service that the option ``metadataService`` names; the others are ``metadataService.*``.

    A class of a user's own is given the sink's Kafka properties, as in Flink, or nothing where it takes nothing. It is
    loaded where this is called.

    :param properties: the sink's own Kafka properties, by the names of Java's clients
    :raises ConfigurationError: there is none of that name, or what it needs is not given
    """
    if service == "single-cluster":
        from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService

        return SingleClusterTopicMetadataService(_given(service, "clusterId", cluster_id, "A"), properties)
    if service == "file":
        return FileMetadataService(_given(service, "path", path, "/shared/streams.yaml"))
    if service == "http":
        return HttpMetadataService(
            _given(service, "url", url, "https://metadata.example.com/streams"),
            bearer_token=bearer_token,
            bearer_token_file=bearer_token_file,
            ca_file=ca_file,
        )
    if ":" not in service:
        raise ConfigurationError(
            f"option 'metadataService' = {service!r} must be {', '.join(NAMES)}, or a KafkaMetadataService of your own "
            "as package.module:Class"
        )
    return _loaded(service, properties)


def _given(service: str, name: str, value: str | None, example: str) -> str:
    if not value:
        raise ConfigurationError(
            f"option 'metadataService' = {service!r} needs 'metadataService.{name}'; give for example "
            f"metadataService.{name}={example}"
        )
    return value


def _loaded(path: str, properties: Mapping[str, str]) -> KafkaMetadataService:
    found = load_given("option 'metadataService':", path)
    made = _made(path, found, properties) if isinstance(found, type) else found
    if not isinstance(made, KafkaMetadataService):
        raise ConfigurationError(
            f"option 'metadataService' = {path!r} names no KafkaMetadataService; give a subclass of it, or an instance"
        )
    return made


def _made(path: str, found: type[Any], properties: Mapping[str, str]) -> Any:
    try:
        return found(dict(properties)) if inspect.signature(found).parameters else found()
    except Exception as error:
        raise ConfigurationError(
            f"option 'metadataService' = {path!r} cannot be made of the Kafka properties: {type(error).__name__}: "
            f"{error}"
        ) from error
