"""The metadata service that options name: one of those that are shipped, or a user's own by its import path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink_dynamic_kafka.metadata.file import FileMetadataService
from asyncsink_dynamic_kafka.metadata.http import HttpMetadataService
from asyncsink_dynamic_kafka.metadata.identifiers import KafkaClusterIdentifier
from asyncsink_dynamic_kafka.metadata.service import KafkaMetadataService
from asyncsink_dynamic_kafka.metadata.snapshot import Cluster
from asyncsink_dynamic_kafka.metadata.streams import BOOTSTRAP_SERVERS

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig
    from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService
    from asyncsink_dynamic_kafka.options import DynamicKafkaOptions


def make_metadata_service(options: DynamicKafkaOptions, config: AsyncSinkWriterConfig) -> KafkaMetadataService:
    """What the options ``metadataService`` and ``metadataService.*`` describe, which have been checked.

    A class of a user's own is loaded here, so call it where the service is to run.

    :param config: the limits of the sink's writer, by which ``single-cluster`` connects
    :raises ConfigurationError: a user's own does not load, or is none
    """
    match options.metadata_service:
        case "single-cluster":
            return _single_cluster(options, config)
        case "file":
            return FileMetadataService(options.metadata_service_path or "")
        case "http":
            return HttpMetadataService(
                options.metadata_service_url or "",
                bearer_token=options.metadata_service_token,
                bearer_token_file=options.metadata_service_token_file,
                ca_file=options.metadata_service_ca_file,
                timeout_s=options.metadata_service_timeout_s,
            )
        case None:
            raise ConfigurationError(
                "option 'metadataService' is missing: it says who knows the clusters and topics of streams; give for "
                "example metadataService=file and metadataService.path=/shared/streams.yaml"
            )
        case path:
            return load_metadata_service(path, options.metadata_service_properties)


def load_metadata_service(path: str, properties: Mapping[str, str]) -> KafkaMetadataService:
    """A user's own: an instance, or a class that is made with `properties`, or without arguments if there are none.

    :param path: ``package.module:Name``
    :raises ConfigurationError: it does not load, cannot be made, or is no KafkaMetadataService
    """
    found = load_given("option 'metadataService':", path)
    made = _made(path, found, properties) if isinstance(found, type) else found
    if not isinstance(made, KafkaMetadataService):
        raise ConfigurationError(
            f"option 'metadataService' = {path!r} names no KafkaMetadataService; give a subclass of it, or an instance"
        )
    return made


def _made(path: str, found: type, properties: Mapping[str, str]) -> object:
    try:
        return found(dict(properties)) if properties else found()
    except Exception as error:
        given = "the metadataService.properties.*" if properties else "no metadataService.properties.*"
        raise ConfigurationError(
            f"option 'metadataService' = {path!r} cannot be made of {given}: {type(error).__name__}: {error}"
        ) from error


def _single_cluster(options: DynamicKafkaOptions, config: AsyncSinkWriterConfig) -> SingleClusterTopicMetadataService:
    from asyncsink_dynamic_kafka.metadata.single_cluster import SingleClusterTopicMetadataService
    from asyncsink_kafka.sink import KafkaSink

    name, servers = options.metadata_service_cluster_id or "", options.bootstrap_servers
    sink = KafkaSink(options.for_cluster(Cluster(KafkaClusterIdentifier(name, servers), {})), config=config)
    # The cluster has no properties of its own: the sink's are those of every cluster.
    return SingleClusterTopicMetadataService(name, {BOOTSTRAP_SERVERS: servers}, sink)
