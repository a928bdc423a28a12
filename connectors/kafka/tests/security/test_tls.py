"""Java's TLS settings as a context: proven by handshakes in memory with a server of the same authority."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.options import KafkaOptions
from asyncsink_kafka.security.tls import ssl_context

from .certificates import Certificates, pkcs8


def options(**given: Any) -> KafkaOptions:
    return KafkaOptions(bootstrap_servers="127.0.0.1:9092", topic="t", security_protocol="SSL", **given)


def server_context(certificates: Certificates, *, asks_client: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker, certificates.broker_key)
    if asks_client:
        context.load_verify_locations(certificates.authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def handshake(client: ssl.SSLContext, server: ssl.SSLContext, name: str = "127.0.0.1") -> ssl.SSLObject:
    """Both sides over memory; returns the server's, which knows what the client has shown."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ours.version() == theirs.version()
    return theirs


def one_line(text: str) -> str:
    return text.replace("\n", " ")


def escaped(text: str) -> str:
    return text.replace("\n", "\\n")


def without_breaks(text: str) -> str:
    return text.replace("\n", "")


def test_a_truststore_file_is_trusted(certificates: Certificates) -> None:
    handshake(ssl_context(options(ssl_truststore_location=str(certificates.authority))), server_context(certificates))


@pytest.mark.parametrize("written", [str, one_line, escaped, without_breaks])
def test_a_truststore_text_is_trusted_however_its_lines_are_broken(certificates: Certificates, written: Any) -> None:
    text = written(certificates.authority.read_text())
    handshake(ssl_context(options(ssl_truststore_certificates=text)), server_context(certificates))


def test_without_a_truststore_the_systems_authorities_decide(certificates: Certificates) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(ssl_context(options()), server_context(certificates))


def test_another_authority_is_not_trusted(certificates: Certificates, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(
            ssl_context(options(ssl_truststore_location=str(tmp_path / "other.pem"))), server_context(certificates)
        )


def test_an_empty_truststore_text_does_not_mean_the_systems_authorities() -> None:
    with pytest.raises(ConfigurationError, match="sslTruststoreCertificates"):
        ssl_context(options(ssl_truststore_certificates=""))


def test_the_brokers_name_is_checked(certificates: Certificates) -> None:
    client = ssl_context(options(ssl_truststore_location=str(certificates.authority)))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"broker\.example"):
        handshake(client, server_context(certificates), "broker.example")


def test_an_empty_algorithm_checks_the_certificate_but_not_the_name(certificates: Certificates) -> None:
    client = ssl_context(
        options(ssl_truststore_location=str(certificates.authority), ssl_endpoint_identification_algorithm="")
    )
    handshake(client, server_context(certificates), "broker.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(ssl_context(options(ssl_endpoint_identification_algorithm="")), server_context(certificates))


@pytest.mark.parametrize("password", [None, "s3cret"])
@pytest.mark.parametrize("as_text", [False, True])
def test_the_client_shows_its_certificate(
    certificates: Certificates, tmp_path: Path, password: str | None, as_text: bool
) -> None:
    key = pkcs8(certificates.client_key, password)
    if as_text:
        given = {"ssl_keystore_key": one_line(key), "ssl_keystore_certificate_chain": certificates.client_chain}
    else:
        path = tmp_path / "keystore.pem"
        path.write_text(key + certificates.client_chain)
        given = {"ssl_keystore_location": str(path)}
    client = ssl_context(
        options(ssl_truststore_location=str(certificates.authority), ssl_key_password=password, **given)
    )
    shown = handshake(client, server_context(certificates, asks_client=True)).getpeercert()
    assert shown is not None
    assert ("email", "client@example.com") in shown["subjectAltName"]


@pytest.mark.parametrize(
    ("password", "reason"), [(None, "sslKeyPassword is not given"), ("wrong", "sslKeyPassword does not open")]
)
def test_a_key_that_does_not_open_is_an_error_and_not_a_question_on_the_terminal(
    certificates: Certificates, password: str | None, reason: str
) -> None:
    key = pkcs8(certificates.client_key, "s3cret")
    with pytest.raises(ConfigurationError, match=reason) as caught:
        ssl_context(
            options(
                ssl_keystore_key=key,
                ssl_keystore_certificate_chain=certificates.client_chain,
                ssl_key_password=password,
            )
        )
    said = str(caught.value)
    assert "sslKeystoreCertificateChain" in said
    assert key.splitlines()[1] not in said
    assert "wrong" not in said


def test_a_key_of_another_certificate_is_an_error(certificates: Certificates) -> None:
    other = pkcs8(trustme.CA().issue_cert("x").private_key_pem.bytes())
    with pytest.raises(ConfigurationError, match="belongs to another certificate"):
        ssl_context(options(ssl_keystore_key=other, ssl_keystore_certificate_chain=certificates.client_chain))


@pytest.mark.parametrize("name", ["ssl_truststore_location", "ssl_keystore_location"])
def test_a_missing_file_is_named_with_its_option(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "missing.pem")
    with pytest.raises(ConfigurationError) as caught:
        ssl_context(options(**{name: path}))
    said = str(caught.value)
    assert path in said
    assert "No such file" in said
    assert name.replace("_", "").lower() in said.lower()


@pytest.mark.parametrize("name", ["ssl_truststore_location", "ssl_keystore_location"])
def test_a_file_that_is_no_pem_is_named_with_its_option(tmp_path: Path, name: str) -> None:
    path = tmp_path / "store.pem"
    path.write_text("not a certificate")
    with pytest.raises(ConfigurationError, match=r"-----BEGIN|PEM") as caught:
        ssl_context(options(**{name: str(path)}))
    assert str(path) in str(caught.value)


def test_only_the_enabled_versions_are_spoken(certificates: Certificates) -> None:
    trusted = {"ssl_truststore_location": str(certificates.authority)}
    old = ssl_context(options(ssl_enabled_protocols="TLSv1.2, TLSv1.1", **trusted))
    new = ssl_context(options(ssl_enabled_protocols="TLSv1.3", **trusted))
    assert handshake(old, server_context(certificates)).version() == "TLSv1.2"
    assert handshake(new, server_context(certificates)).version() == "TLSv1.3"


def test_cipher_suites_have_javas_names_and_leave_only_their_versions(certificates: Certificates) -> None:
    client = ssl_context(
        options(
            ssl_truststore_location=str(certificates.authority),
            ssl_cipher_suites="TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        )
    )
    server = handshake(client, server_context(certificates))
    assert server.version() == "TLSv1.2"
    used = server.cipher()
    assert used is not None
    assert used[0].endswith("AES128-GCM-SHA256")


def test_suites_of_tls_1_3_alone_leave_that_version_alone(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    client = ssl_context(
        options(ssl_truststore_location=str(certificates.authority), ssl_cipher_suites="TLS_AES_256_GCM_SHA384")
    )
    assert handshake(client, server_context(certificates)).version() == "TLSv1.3"
    assert "TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256" in caplog.text


def test_suites_without_a_version_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"sslCipherSuites.*sslEnabledProtocols"):
        ssl_context(options(ssl_enabled_protocols="TLSv1.3", ssl_cipher_suites="TLS_RSA_WITH_AES_128_GCM_SHA256"))


def test_suites_that_openssl_does_not_know_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="TLS_NO_SUCH"):
        ssl_context(options(ssl_cipher_suites="TLS_NO_SUCH"))
