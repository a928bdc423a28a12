"""How clients reach a broker: its listeners, and what they ask of who comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PLAINTEXT = "PLAINTEXT"
PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_SECURITY = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """The certificates of the SSL listeners, as PEM files.

    :param certificate: the broker's, and those between it and its authority; for ``localhost`` and ``127.0.0.1``
    :param private_key: not encrypted; any form of PEM, though Java itself reads PKCS #8 only
    :param authority: whose clients' certificates are believed; None believes none
    :param client_auth: ``none``, ``requested`` or ``required``
    """

    certificate: Path
    private_key: Path
    authority: Path | None = None
    client_auth: str = "none"

    def properties(self, folder: Path) -> dict[str, str]:
        """The broker's properties; a file of the form that Java reads is written into `folder`."""
        keystore = folder / "keystore.pem"
        keystore.write_text(_pkcs8(self.private_key.read_bytes()) + self.certificate.read_text())
        properties = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.client.auth": self.client_auth,
        }
        if self.authority is not None:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        return properties


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """Who may come to the SASL listeners, and how they prove who they are.

    OAUTHBEARER takes tokens that nobody signed, ``{"alg": "none"}``, with ``sub``, ``iat`` and ``exp``.

    :param mechanisms: of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER
    :param users: their passwords by name, for PLAIN and SCRAM
    :param max_reauth_ms: after how long the broker closes a connection that has not authenticated again; None: never
    """

    mechanisms: Sequence[str] = ("PLAIN",)
    users: Mapping[str, str] = field(default_factory=dict)
    max_reauth_ms: int | None = None

    def properties(self, listener: str) -> dict[str, str]:
        """The broker's properties for one listener."""
        prefix = f"listener.name.{listener.lower()}"
        properties = {f"{prefix}.sasl.enabled.mechanisms": ",".join(self.mechanisms)}
        for mechanism in self.mechanisms:
            properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = self._login(mechanism)
        if self.max_reauth_ms is not None:
            properties["connections.max.reauth.ms"] = str(self.max_reauth_ms)
        return properties

    def scram_users(self) -> list[str]:
        """What ``kafka-storage format --add-scram`` takes, one for each user and mechanism."""
        return [
            f"{mechanism}=[name={name},password={password}]"
            for mechanism in self.mechanisms
            if mechanism.startswith("SCRAM")
            for name, password in self.users.items()
        ]

    def _login(self, mechanism: str) -> str:
        if mechanism == "PLAIN":
            users = "".join(f' user_{name}="{password}"' for name, password in self.users.items())
            return f"{_SECURITY}.plain.PlainLoginModule required{users};"
        if mechanism == "OAUTHBEARER":
            # The broker logs in by its own mechanism too, and so needs a token of its own.
            return f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        return f"{_SECURITY}.scram.ScramLoginModule required;"


def listener_properties(protocols: Sequence[str], tls: Tls | None, sasl: Sasl | None, folder: Path) -> dict[str, str]:
    """What these listeners need beside their ports.

    :raises ValueError: a protocol is unknown, or what it needs was not given
    """
    properties: dict[str, str] = {}
    for protocol in protocols:
        if protocol not in PROTOCOLS:
            raise ValueError(f"no listener can speak {protocol!r}; it is one of {', '.join(PROTOCOLS)}")
        if protocol.endswith("SSL"):
            if tls is None:
                raise ValueError(f"the listener {protocol} needs certificates: give tls=Tls(...)")
            properties |= tls.properties(folder)
        if protocol.startswith("SASL"):
            if sasl is None:
                raise ValueError(f"the listener {protocol} needs mechanisms: give sasl=Sasl(...)")
            properties |= sasl.properties(protocol)
    return properties


def _pkcs8(key: bytes) -> str:
    if b"BEGIN PRIVATE KEY" in key:
        return key.decode()
    from cryptography.hazmat.primitives import serialization

    loaded = serialization.load_pem_private_key(key, password=None)
    return loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
