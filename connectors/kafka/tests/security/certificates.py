"""Certificates for the tests, by an authority that lives as long as they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization


@dataclass(frozen=True, slots=True)
class Certificates:
    """An authority, the broker's certificate and the client's, in PEM files of one folder."""

    authority: Path
    broker: Path
    broker_key: Path
    client: Path
    client_key: str

    @property
    def client_chain(self) -> str:
        """The client's certificate without its key."""
        text = self.client.read_text()
        return text[text.index("-----BEGIN CERTIFICATE") :]


def make_certificates(folder: Path) -> Certificates:
    """For a broker at 127.0.0.1, and a client; the client's file has key and chain, as Java's PEM keystores do."""
    authority = trustme.CA()
    broker, client = authority.issue_cert("127.0.0.1", "localhost"), authority.issue_cert("client@example.com")
    made = Certificates(
        authority=folder / "authority.pem",
        broker=folder / "broker.pem",
        broker_key=folder / "broker-key.pem",
        client=folder / "client.pem",
        client_key=pkcs8(client.private_key_pem.bytes()),
    )
    authority.cert_pem.write_to_path(made.authority)
    broker.cert_chain_pems[0].write_to_path(made.broker)
    broker.private_key_pem.write_to_path(made.broker_key)
    made.client.write_text(made.client_key + client.cert_chain_pems[0].bytes().decode())
    return made


def pkcs8(key: bytes | str, password: str | None = None) -> str:
    """The key in the form that Java reads, encrypted if there is a password."""
    loaded = serialization.load_pem_private_key(key if isinstance(key, bytes) else key.encode(), password=None)
    encryption = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()
