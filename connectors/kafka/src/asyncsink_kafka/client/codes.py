"""Kafka's error codes by number, and what an exception of aiokafka is called among them.

aiokafka knows the codes up to 72; a broker also answers with newer ones, such as 87, which it takes for an unknown
error. The names are those of ``org.apache.kafka.common.protocol.Errors``.
"""

from __future__ import annotations

from typing import Final

from aiokafka import errors as aiokafka_errors

NONE: Final = 0
DUPLICATE_SEQUENCE_NUMBER: Final = 46

NAMES: Final[dict[int, str]] = {
    -1: "UNKNOWN_SERVER_ERROR",
    NONE: "NONE",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    8: "BROKER_NOT_AVAILABLE",
    9: "REPLICA_NOT_AVAILABLE",
    10: "MESSAGE_TOO_LARGE",
    13: "NETWORK_EXCEPTION",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    17: "INVALID_TOPIC_EXCEPTION",
    18: "RECORD_LIST_TOO_LARGE",
    19: "NOT_ENOUGH_REPLICAS",
    20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    21: "INVALID_REQUIRED_ACKS",
    29: "TOPIC_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    32: "INVALID_TIMESTAMP",
    33: "UNSUPPORTED_SASL_MECHANISM",
    34: "ILLEGAL_SASL_STATE",
    35: "UNSUPPORTED_VERSION",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    44: "POLICY_VIOLATION",
    45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    DUPLICATE_SEQUENCE_NUMBER: "DUPLICATE_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    50: "INVALID_TRANSACTION_TIMEOUT",
    51: "CONCURRENT_TRANSACTIONS",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    54: "SECURITY_DISABLED",
    56: "KAFKA_STORAGE_ERROR",
    58: "SASL_AUTHENTICATION_FAILED",
    59: "UNKNOWN_PRODUCER_ID",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    87: "INVALID_RECORD",
    89: "THROTTLING_QUOTA_EXCEEDED",
    90: "PRODUCER_FENCED",
    105: "TRANSACTIONAL_ID_NOT_FOUND",
    120: "TRANSACTION_ABORTABLE",
}

# What a broker answers before it has written anything of the batch. Of every other failure the batch may yet be in the
# log: it was appended and not replicated in time, or the leader stepped down while it waited for its followers.
NOT_STORED: Final = frozenset(
    {
        "CORRUPT_MESSAGE",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_RECORD",
        "INVALID_REQUEST",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TIMESTAMP",
        "INVALID_TOPIC_EXCEPTION",
        "MESSAGE_TOO_LARGE",
        "NOT_ENOUGH_REPLICAS",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "POLICY_VIOLATION",
        "PRODUCER_FENCED",
        "RECORD_LIST_TOO_LARGE",
        "THROTTLING_QUOTA_EXCEEDED",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "UNKNOWN_PRODUCER_ID",
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "UNSUPPORTED_VERSION",
    }
)

NEVER_SENT: Final = "BROKER_NOT_AVAILABLE"
"""No connection to the broker came about, so that nothing was sent."""
CLIENT_FAILED: Final = "CLIENT_FAILED"
"""Ours, not Kafka's: the client itself broke down."""
TRANSACTION_FAILED: Final = "TRANSACTION_FAILED"
"""Ours, not Kafka's: the transaction cannot be committed any more."""
CLIENT_CLOSED: Final = "CLIENT_CLOSED"
"""Ours, not Kafka's: the client was given up while the batch was under way."""

_OF_THE_CLIENT: Final[tuple[tuple[type[Exception], str], ...]] = (
    (aiokafka_errors.NodeNotReadyError, NEVER_SENT),
    (aiokafka_errors.StaleMetadata, NEVER_SENT),
    (aiokafka_errors.AuthenticationFailedError, "SASL_AUTHENTICATION_FAILED"),
    (aiokafka_errors.AuthenticationMethodNotSupported, "UNSUPPORTED_SASL_MECHANISM"),
    (aiokafka_errors.IncompatibleBrokerVersion, "UNSUPPORTED_VERSION"),
    (aiokafka_errors.ProducerFenced, "INVALID_PRODUCER_EPOCH"),
    (aiokafka_errors.ProducerClosed, CLIENT_CLOSED),
    (aiokafka_errors.KafkaConnectionError, "NETWORK_EXCEPTION"),
    (aiokafka_errors.KafkaProtocolError, "NETWORK_EXCEPTION"),
    (aiokafka_errors.KafkaTimeoutError, "REQUEST_TIMED_OUT"),
    (OSError, "NETWORK_EXCEPTION"),
)


def name_of(number: int) -> str:
    """Kafka's name of an error code."""
    return NAMES.get(number) or f"KAFKA_ERROR_{number}"


def name_of_exception(error: BaseException) -> str:
    """Kafka's name for what aiokafka raises."""
    if isinstance(error, aiokafka_errors.BrokerResponseError):
        return name_of(error.errno)
    return next((name for kind, name in _OF_THE_CLIENT if isinstance(error, kind)), CLIENT_FAILED)
