"""The connector's own options, all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.options.destination import DestinationOptions
from asyncsink_kafka.options.sasl import SaslOptions
from asyncsink_kafka.options.tls import TlsOptions

_FORMAT: Final = (
    "the column value is sent as it is; make it with Spark, as in to_json(struct('*')) AS value, and the column key "
    "likewise"
)
_SOURCE: Final = "it is an option of a source; leave it out"


@dataclass(frozen=True, kw_only=True)
class KafkaOptions(TlsOptions, SaslOptions, DestinationOptions):
    """Where records go, how, and who sends them. Settings of Java's producer and Flink's options become these."""

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("format", "key.format", "value.format"), _FORMAT),
        **dict.fromkeys(("key.fields", "key.fields-prefix", "value.fields-include"), _FORMAT),
        "sink.transactional-id-naming-strategy": "ids are used again, as by Flink's POOLING; leave it out",
        "sink.semantic": "use deliveryGuarantee",
        "sink.parallelism": "a task writes each partition of the DataFrame; use repartition",
        "sink.buffer-flush.max-rows": "use maxBatchSize, the records of a batch",
        "sink.buffer-flush.interval": "use maxTimeInBuffer",
        **dict.fromkeys(("subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets"), _SOURCE),
        **dict.fromkeys(("failOnDataLoss", "maxOffsetsPerTrigger", "minPartitions", "groupIdPrefix"), _SOURCE),
    }

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        # The table of settings is no small one, and workers never read it.
        from asyncsink_kafka.options.properties import translated

        return translated(options)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_security()

    def check_security(self) -> None:
        """Check who connects, and how, as a whole.

        :raises ConfigurationError: the options of SASL or TLS contradict each other, or do not suffice
        """
        self.check_sasl()
        self._check_tls_is_used()
        self.check_tls()

    @property
    def encrypted(self) -> bool:
        return self.security_protocol.endswith("SSL")

    def _check_tls_is_used(self) -> None:
        if not self.encrypted and self.tls_given:
            safe = "SASL_SSL" if self.security_protocol.startswith("SASL_") else "SSL"
            raise ConfigurationError(
                f"option {self.tls_given[0]!r} is given, and 'securityProtocol' = {self.security_protocol!r} encrypts "
                f"nothing; set securityProtocol={safe}, or leave it out"
            )
