"""Lets a producer's sessions be renewed (KIP-368) where aiokafka has the private parts that this takes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from aiokafka import AIOKafkaClient, AIOKafkaProducer

from asyncsink.errors import RequestError
from asyncsink_kafka.private_names import KNOWN_VERSIONS, absent, find, source_of

SETTINGS = {
    "_client_id": "client_id",
    "_request_timeout_ms": "request_timeout_ms",
    "_ssl_context": "ssl_context",
    "_security_protocol": "security_protocol",
    "_on_connection_closed": "on_close",
    "_connections_max_idle_ms": "max_idle_ms",
    "_sasl_mechanism": "sasl_mechanism",
    "_sasl_plain_username": "sasl_plain_username",
    "_sasl_plain_password": "sasl_plain_password",
    "_sasl_kerberos_service_name": "sasl_kerberos_service_name",
    "_sasl_kerberos_domain_name": "sasl_kerberos_domain_name",
    "_sasl_oauth_token_provider": "sasl_oauth_token_provider",
}
"""The settings that aiokafka's client hands to each connection: its attribute, and the parameter's name."""

CLIENT_PARTS = (*SETTINGS, "_conns", "_get_conn", "cluster", "force_metadata_update")
"""What an AIOKafkaClient must have."""

CONNECTION_PARTS = (
    "_request_timeout",
    "_sasl_mechanism",
    "_security_protocol",
    "close",
    "connect",
    "connected",
    "host",
    "port",
    "send",
)
"""What an AIOKafkaConnection must have."""

NAMES = (
    "aiokafka.client.ConnectionGroup",
    "aiokafka.conn.AIOKafkaConnection",
    "aiokafka.conn.CloseReason",
    "aiokafka.errors.StaleMetadata",
    "aiokafka.protocol.admin.SaslAuthenticateRequest",
    "aiokafka.protocol.admin.SaslHandShakeRequest",
)
"""What aiokafka's modules must have."""

_log = logging.getLogger(__name__)


def keep_authenticated(
    producer: AIOKafkaProducer,
    *,
    refused: Callable[[RequestError], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Let the connections of `producer` be replaced before their sessions end. Call it before ``producer.start()``.

    With the security protocol PLAINTEXT nothing is done. If this version of aiokafka lacks a part that is needed,
    one warning says so; then aiokafka connects again after a broker has closed an expired connection.

    :param refused: is told when a broker that is known refuses the credentials, or the certificate, of a new
        connection: with a code of :data:`~asyncsink_kafka.security.REFUSAL_CODES`. No later request will do better.
    """
    client = producer.client
    if getattr(client, "_security_protocol", None) == "PLAINTEXT":
        return
    if missing := missing_parts(client):
        _log.warning(
            "aiokafka has no %s any more, so sessions are not renewed before they end: the brokers will close "
            "connections whose session is over, and the producer connects again. Use aiokafka%s",
            ", ".join(missing),
            KNOWN_VERSIONS,
        )
        return
    # Only now: where private parts are missing, it cannot be imported.
    from asyncsink_kafka.security.reauthentication import Sessions

    client._get_conn = Sessions(client, refused, clock).connection


def missing_parts(client: AIOKafkaClient) -> list[str]:
    """The names of what aiokafka lacks of the parts that are used here; none with the versions that are supported."""
    missing = absent(NAMES) + [f"AIOKafkaClient.{name}" for name in CLIENT_PARTS if not hasattr(client, name)]
    if (connection := find("aiokafka.conn.AIOKafkaConnection")) is not None:
        source = source_of(connection)
        missing += [
            f"AIOKafkaConnection.{name}"
            for name in CONNECTION_PARTS
            if not hasattr(connection, name) and f"self.{name} =" not in source
        ]
    return missing
