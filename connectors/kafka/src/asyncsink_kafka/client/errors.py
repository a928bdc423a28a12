"""What Kafka's errors mean for a batch, and what to do about those that no retry can mend."""

from __future__ import annotations

from asyncsink.errors import RequestError
from asyncsink.failures import ErrorTable
from asyncsink_kafka.client.codes import CLIENT_CLOSED, CLIENT_FAILED, NEVER_SENT, TRANSACTION_FAILED

_CREDENTIALS = (
    "Check saslMechanism, saslUsername and saslPassword or what stands for them, and that the listener in "
    "bootstrapServers is one for securityProtocol."
)
_SEQUENCE = (
    "The brokers have lost or mixed up what they know of this producer, and a batch under a new epoch was refused "
    "likewise: look into their logs; enableIdempotence=false does without."
)
_OLD_BROKER = "The brokers are too old: upgrade them, or set compression and enableIdempotence to what they know."
_TRANSACTION = (
    "Nothing of the transaction will be seen, and Spark repeats the task. Where it comes again and again because a "
    "producer is fenced, make batches smaller or transactionTimeout longer, and see that no other query has the same "
    "checkpoint."
)

ERRORS = ErrorTable.of(
    throttled={"THROTTLING_QUOTA_EXCEEDED"},
    retryable={
        NEVER_SENT,
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "CORRUPT_MESSAGE",
        "FENCED_LEADER_EPOCH",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NOT_CONTROLLER",
        "NOT_COORDINATOR",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_LEADER_EPOCH",
    },
    rejected={
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "INVALID_TOPIC_EXCEPTION",
        "MESSAGE_TOO_LARGE",
        "POLICY_VIOLATION",
        "RECORD_LIST_TOO_LARGE",
        # By the time it leaves the client, the topic has been asked for during maxBlock.
        "UNKNOWN_TOPIC_OR_PARTITION",
    },
    fatal={
        CLIENT_CLOSED: "The client was given up while batches were under way; the first error says why.",
        CLIENT_FAILED: "This is a bug in the connector or in aiokafka: report it with the error that it is chained to.",
        "CLUSTER_AUTHORIZATION_FAILED": "Allow the user IdempotentWrite on the cluster, or set "
        "enableIdempotence=false.",
        "ILLEGAL_SASL_STATE": _CREDENTIALS,
        "INVALID_PRODUCER_EPOCH": _SEQUENCE,
        "INVALID_PRODUCER_ID_MAPPING": _TRANSACTION,
        "INVALID_REQUEST": "The brokers do not understand the request: check that they are Kafka 0.11 or newer.",
        "INVALID_REQUIRED_ACKS": "Set acks to all, 1 or 0.",
        "INVALID_TRANSACTION_TIMEOUT": "Set transactionTimeout to at most the brokers' transaction.max.timeout.ms.",
        "INVALID_TXN_STATE": _TRANSACTION,
        "OUT_OF_ORDER_SEQUENCE_NUMBER": _SEQUENCE,
        "PRODUCER_FENCED": _SEQUENCE,
        "SASL_AUTHENTICATION_FAILED": _CREDENTIALS,
        "SECURITY_DISABLED": "The brokers have no security configured: use a securityProtocol without SASL.",
        "SSL_AUTHENTICATION_FAILED": "Check securityProtocol, and the options sslTruststore* and sslKeystore*.",
        "TOPIC_AUTHORIZATION_FAILED": "Allow the user Write and Describe on the topic, and Create if it is to be made.",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "Allow the user Write and Describe on the transactional ids that "
        "begin with transactionalIdPrefix, asyncsink by default.",
        "TRANSACTIONAL_ID_NOT_FOUND": _TRANSACTION,
        "TRANSACTION_ABORTABLE": _TRANSACTION,
        TRANSACTION_FAILED: _TRANSACTION,
        "UNKNOWN_PRODUCER_ID": _SEQUENCE,
        "UNKNOWN_SERVER_ERROR": "The broker failed at it: its log says why.",
        "UNSUPPORTED_COMPRESSION_TYPE": "Set compression to one that the brokers and the topic know.",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT": "The topic keeps an old message format: raise its message.format.version.",
        "UNSUPPORTED_SASL_MECHANISM": _CREDENTIALS,
        "UNSUPPORTED_VERSION": _OLD_BROKER,
    },
)

AGAIN_UNDER_A_NEW_EPOCH = frozenset(
    {"INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER", "PRODUCER_FENCED", "UNKNOWN_PRODUCER_ID"}
)
"""The broker's memory of the producer does not fit; the batch itself was not judged (KIP-360)."""


class UnknownTopicError(RequestError):
    """The cluster does not have the topic, or not the partition: its code is UNKNOWN_TOPIC_OR_PARTITION."""

    def __init__(self, message: str) -> None:
        super().__init__("UNKNOWN_TOPIC_OR_PARTITION", message)
        self.args = (message,)
