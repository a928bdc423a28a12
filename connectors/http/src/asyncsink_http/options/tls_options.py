"""Options of TLS: whom this client trusts, and what it shows of itself."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option

_JAVA_STORES = (".jks", ".p12", ".pfx", ".pkcs12", ".keystore")


@dataclass(frozen=True, kw_only=True)
class TlsOptions(ConnectorOptions):
    """Files in PEM, where tasks run."""

    tls_ca_file: str | None = option(
        None,
        name="tls.caFile",
        doc="PEM file of the authorities that servers are trusted by, where tasks run, in place of all others; several "
        "with commas between them.",
        aliases=["http.security.cert.server"],
    )
    tls_certificate_file: str | None = option(
        None,
        name="tls.certificateFile",
        doc="PEM file of this client's certificate chain, where tasks run, for mutual TLS.",
        aliases=["http.security.cert.client"],
    )
    tls_key_file: str | None = option(
        None,
        name="tls.keyFile",
        doc="PEM file of this client's private key; left out where it stands in tls.certificateFile.",
        aliases=["http.security.key.client"],
    )
    tls_key_password: str | None = option(
        None, name="tls.keyPassword", doc="Password of the private key, if it is encrypted.", secret=True
    )

    def check_tls(self) -> None:
        """:raises ConfigurationError: an option of TLS breaks its rule, or others are missing"""
        if self.tls_ca_file is not None and not self.tls_ca_files:
            # Nothing would be left of the wish to trust few: whom browsers trust would be trusted.
            raise ConfigurationError(
                f"option 'tls.caFile' = {self.tls_ca_file!r} names no file; give the path of one in PEM, or leave it "
                "out"
            )
        for name, path in (
            *(("tls.caFile", each) for each in self.tls_ca_files),
            ("tls.certificateFile", self.tls_certificate_file),
            ("tls.keyFile", self.tls_key_file),
        ):
            if path is not None and path.lower().endswith(_JAVA_STORES):
                raise ConfigurationError(
                    f"option '{name}' = {path!r} is a store of Java's by its name, and only PEM is read; make that by "
                    "keytool -list -rfc of certificates, by openssl pkcs12 of a key"
                )
        for name, value in (("tls.keyFile", self.tls_key_file), ("tls.keyPassword", self.tls_key_password)):
            if value is not None and self.tls_certificate_file is None:
                raise ConfigurationError(
                    f"option '{name}' is given without 'tls.certificateFile'; mutual TLS needs the certificate of the "
                    "key"
                )

    @property
    def tls_ca_files(self) -> list[str]:
        """The paths in ``tls.caFile``."""
        return [each.strip() for each in (self.tls_ca_file or "").split(",") if each.strip()]
