"""Options of TLS, by the names of Java's clients; the stores are PEM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_kafka.options.given_options import given_options

_JAVA_STORES = (".jks", ".p12", ".pfx", ".pkcs12", ".keystore")
_VERSIONS = ("TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1")
_TO_PEM = {
    "truststore": "keytool -list -rfc -keystore {path} > truststore.pem",
    "keystore": "keytool -importkeystore -srckeystore {path} -destkeystore keystore.p12 -deststoretype PKCS12 && "
    "openssl pkcs12 -in keystore.p12 -out keystore.pem",
}


@dataclass(frozen=True, kw_only=True)
class TlsOptions(ConnectorOptions):
    """Whom this client trusts, and what it shows of itself."""

    ssl_truststore_location: str | None = option(
        None, doc="PEM file of the authorities that brokers are trusted by, where tasks run. By default the system's."
    )
    ssl_truststore_certificates: str | None = option(
        None, doc="The same as PEM text in place of a file.", name="sslTruststoreCertificates"
    )
    ssl_truststore_type: str | None = option(None, doc="Type of the truststore; PEM is the one that is read.")
    ssl_keystore_location: str | None = option(
        None, doc="PEM file of this client's private key and certificate chain, where tasks run, for mutual TLS."
    )
    ssl_keystore_type: str | None = option(None, doc="Type of the keystore; PEM is the one that is read.")
    ssl_keystore_certificate_chain: str | None = option(
        None, doc="Certificate chain of this client as PEM text, in place of a file; needs sslKeystoreKey too."
    )
    ssl_keystore_key: str | None = option(None, doc="Private key of this client as PEM text, PKCS 8.", secret=True)
    ssl_key_password: str | None = option(None, doc="Password of the private key, if it is encrypted.", secret=True)
    ssl_endpoint_identification_algorithm: Literal["https", ""] = option(
        "https", doc="https checks that a certificate names the broker; empty leaves that out, which is not safe."
    )
    ssl_cipher_suites: str | None = option(
        None, doc="Cipher suites that may be used, as Java or OpenSSL names them, separated by commas."
    )
    ssl_enabled_protocols: str | None = option(
        None, doc="Versions of TLS that may be used, such as TLSv1.2,TLSv1.3. By default both of these."
    )

    @property
    def tls_given(self) -> list[str]:
        """The options of TLS that are not at their defaults."""
        return [each.name for each in given_options(self, "ssl_")]

    def check_tls(self) -> None:
        """:raises ConfigurationError: the options of TLS contradict each other, or name what cannot be read"""
        for kind in ("truststore", "keystore"):
            self._check_store(kind)
        self._refuse_both("sslTruststoreLocation", "sslTruststoreCertificates")
        self._refuse_both("sslKeystoreLocation", "sslKeystoreCertificateChain")
        self._refuse_both("sslKeystoreLocation", "sslKeystoreKey")
        chain, key = self.ssl_keystore_certificate_chain is not None, self.ssl_keystore_key is not None
        if chain != key:
            given, missing = ("CertificateChain", "Key") if chain else ("Key", "CertificateChain")
            raise ConfigurationError(
                f"option 'sslKeystore{given}' is given without 'sslKeystore{missing}'; mutual TLS needs both"
            )
        if self.ssl_key_password is not None and not key and self.ssl_keystore_location is None:
            raise ConfigurationError(
                "option 'sslKeyPassword' is given, and there is no private key; give 'sslKeystoreLocation', or "
                "'sslKeystoreKey' and 'sslKeystoreCertificateChain', or leave it out"
            )
        self._check_versions()

    def _check_store(self, kind: str) -> None:
        path, given = getattr(self, f"ssl_{kind}_location"), getattr(self, f"ssl_{kind}_type")
        name = kind.capitalize()
        command = _TO_PEM[kind].format(path=path or f"{kind}.jks")
        if given is not None and given.strip().upper() != "PEM":
            raise ConfigurationError(
                f"option 'ssl{name}Type' = {given!r}: Java's stores are not read, only PEM; make that by {command}, "
                f"then give ssl{name}Location={kind}.pem and leave the type out"
            )
        if path is not None and path.lower().endswith(_JAVA_STORES):
            raise ConfigurationError(
                f"option 'ssl{name}Location' = {path!r} is one of Java's stores by its name, and only PEM is read; "
                f"make that by {command}, then give ssl{name}Location={kind}.pem"
            )

    def _refuse_both(self, one: str, other: str) -> None:
        given = self.tls_given
        if one in given and other in given:
            raise ConfigurationError(f"options {one!r} and {other!r} say the same in two ways; give one of them")

    def _check_versions(self) -> None:
        if self.ssl_enabled_protocols is None:
            return
        versions = [each.strip() for each in self.ssl_enabled_protocols.split(",")]
        for version in versions:
            if version not in _VERSIONS:
                raise ConfigurationError(
                    f"option 'sslEnabledProtocols' names {version!r}; write for example TLSv1.2,TLSv1.3"
                )
        if not {"TLSv1.2", "TLSv1.3"} & set(versions):
            raise ConfigurationError(
                f"option 'sslEnabledProtocols' = {self.ssl_enabled_protocols!r} allows only versions that are no "
                "longer safe; add TLSv1.2 or TLSv1.3"
            )
