"""What goes from a task to the driver, and into the log: a transaction, and the cluster that it is in."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_dynamic_kafka.metadata.identifiers import KafkaClusterIdentifier
from asyncsink_kafka.transactions.committable import COMMITTABLES, KafkaTransaction


@dataclass(frozen=True)
class DynamicKafkaTransaction:
    """A committable: a transaction, and the cluster that it is to be committed in, also when no stream has it more."""

    cluster: KafkaClusterIdentifier
    transaction: KafkaTransaction


class DynamicKafkaTransactionSerializer(SimpleVersionedSerializer[DynamicKafkaTransaction]):
    """A line of JSON with the cluster and the version of the transaction, then the transaction as it is written."""

    version = 1

    def serialize(self, value: DynamicKafkaTransaction) -> bytes:
        head = {**asdict(value.cluster), "version": COMMITTABLES.version}
        return json.dumps(head).encode() + b"\n" + COMMITTABLES.serialize(value.transaction)

    def deserialize(self, version: int, data: bytes) -> DynamicKafkaTransaction:
        self._check_version(version)
        line, _, rest = data.partition(b"\n")
        try:
            head = json.loads(line)
            cluster = KafkaClusterIdentifier(head["name"], head["bootstrap_servers"])
            return DynamicKafkaTransaction(cluster, COMMITTABLES.deserialize(head["version"], rest))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the bytes of a DynamicKafkaTransaction are damaged: {error}") from error


DYNAMIC_COMMITTABLES = DynamicKafkaTransactionSerializer()
