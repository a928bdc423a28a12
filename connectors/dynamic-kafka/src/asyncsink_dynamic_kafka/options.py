"""The connector's own options, all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink.options import OptionInfo, folded, option
from asyncsink.options.fields import option_fields
from asyncsink_dynamic_kafka.cluster_settings import NOT_OF_CLUSTERS, cluster_settings
from asyncsink_dynamic_kafka.routing.names import checked_router
from asyncsink_dynamic_kafka.routing.weights import read_weights
from asyncsink_dynamic_kafka.service_options import ServiceOptions
from asyncsink_kafka.options import KafkaOptions

if TYPE_CHECKING:
    from asyncsink_dynamic_kafka.metadata.snapshot import Cluster

_MOST_IN_PREFIX: Final = 150
_INTERVAL_MS: Final = "stream-metadata-discovery-interval-ms"


@dataclass(frozen=True, kw_only=True)
class DynamicKafkaOptions(ServiceOptions, KafkaOptions):
    """Which streams are written to, who knows where they are, and how each cluster is written to.

    Settings of Kafka are those of every cluster, unless a cluster has properties of its own. So whether they suffice
    for connecting shows only when the clusters are known.
    """

    refused: ClassVar[Mapping[str, str]] = {
        **KafkaOptions.refused,
        "stream-metadata-removed-cluster-retention-ms": "what a removed cluster was given is waited for, at most for "
        "removedClusterTimeout; use that",
    }

    bootstrap_servers: str = option(
        "",
        doc="Brokers of the one cluster, with metadataService=single-cluster; those of any other service come from it.",
        aliases=["kafka.bootstrap.servers", "properties.bootstrap.servers"],
    )
    delivery_guarantee: Literal["at-least-once", "exactly-once"] = option(
        "at-least-once",
        doc="at-least-once fails the task while a row is not stored; exactly-once shows the rows of a batch all at "
        "once in each cluster, by transactions, to consumers with isolation.level=read_committed.",
        aliases=["sink.delivery-guarantee"],
    )
    router: str = option(
        "round-robin",
        doc="Cluster topic of a row among those of its stream: round-robin, one after another; sticky, the same for "
        "all rows of a key; weighted, by router.weights; mirror, all of them; or a ReconcilableStreamRouter of your "
        "own as package.module:Class.",
    )
    router_weights: str | None = option(
        None,
        name="router.weights",
        doc="Weights of clusters by name, as in blue:3,green:1, with router=weighted; one that is not named has 1.",
    )
    on_inactive_cluster: Literal["spill", "wait", "fail"] = option(
        "spill",
        doc="What follows where the service calls a cluster inactive: spill, its rows go to the stream's other "
        "clusters, and wait where there is none; wait, they wait for it; fail, the task fails.",
    )
    removed_cluster_timeout_s: float = option(
        60.0,
        doc="Time for storing what a cluster was given before it was removed; after it those rows go to the stream's "
        "other clusters, or with exactly-once the task fails.",
        unit="s",
    )

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        return KafkaOptions.translated({key: _interval(key, text) for key, text in options.items()})

    @classmethod
    def describe(cls) -> tuple[OptionInfo, ...]:
        left_out = {each.name for each in option_fields(cls) if each.field in NOT_OF_CLUSTERS}
        return tuple(each for each in super().describe() if each.name not in left_out)

    def __post_init__(self) -> None:
        self._refuse_topics()
        super().__post_init__()
        self.check_service(self.bootstrap_servers)
        object.__setattr__(self, "router", checked_router(self.router))
        self._check_routing()
        if len(self.transaction_prefix) > _MOST_IN_PREFIX:
            raise ConfigurationError(
                f"option 'transactionalIdPrefix' has {len(self.transaction_prefix)} characters; the name of a cluster "
                f"follows it, so give at most {_MOST_IN_PREFIX}"
            )
        if self.metadata_service == "single-cluster":
            KafkaOptions(**{each.name: getattr(self, each.name) for each in fields(KafkaOptions)})

    def check_brokers(self) -> None:
        if self.bootstrap_servers or self.metadata_service == "single-cluster":
            super().check_brokers()

    def check_security(self) -> None:
        """Nothing yet: the properties of a cluster may complete what is said here, or take its place."""

    @property
    def weights(self) -> Mapping[str, int]:
        """Of the router ``weighted``, by the name of the cluster."""
        return {} if self.router_weights is None else read_weights(self.router_weights)

    def for_cluster(self, cluster: Cluster) -> KafkaOptions:
        """The options of a sink that writes to one cluster: these, over which the cluster's properties win.

        Transactional ids get the cluster's name, as two names may be one cluster of Kafka.

        :raises MetadataError: a property is not known or breaks a rule; names cluster and properties, and no value
        """
        return cluster_settings(self, cluster).options

    def config_for_cluster(self, cluster: Cluster, config: AsyncSinkWriterConfig) -> AsyncSinkWriterConfig:
        """The limits of a writer to one cluster: `config`, over which the cluster's properties win, such as linger.ms.

        :raises MetadataError: as :meth:`for_cluster`
        """
        return cluster_settings(self, cluster).config(config)

    def _refuse_topics(self) -> None:
        for field, name in zip(NOT_OF_CLUSTERS, ("topic", "topics", "topicPattern"), strict=True):
            if getattr(self, field) is not None:
                raise ConfigurationError(
                    f"option {name!r} = {getattr(self, field)!r} is not for streams, whose topics the metadata service "
                    "knows; use streamIds or streamPattern, and for a stream a row a column stream"
                )

    def _check_routing(self) -> None:
        if self.router == "weighted" and self.router_weights is None:
            raise ConfigurationError(
                "option 'router.weights' is missing: 'router' = 'weighted' needs it; write for example "
                "router.weights=blue:3,green:1"
            )
        if self.router != "weighted" and self.router_weights is not None:
            raise ConfigurationError(
                f"option 'router.weights' is for 'router' = 'weighted', and it is {self.router!r}; leave one of them "
                "out"
            )
        read_weights(self.router_weights or "all:1")


def _interval(key: str, text: str) -> str:
    """Flink's -1 is off, which is 0 here."""
    return "0" if folded(key) == folded(_INTERVAL_MS) and text.strip().startswith("-") else text
