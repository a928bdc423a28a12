"""Options: what is accepted, what is refused and in which words, and what is never shown."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from asyncsink import ConfigurationError
from asyncsink.options.fields import option_fields
from asyncsink_kafka.options import KafkaOptions

SASL = {"securityProtocol": "SASL_SSL"}
PASSWORD = {"saslUsername": "me", "saslPassword": "s3cret"}
TOKENS = {
    "saslOauthbearerTokenEndpointUrl": "https://login.example.com/token",
    "saslOauthbearerClientId": "me",
    "saslOauthbearerClientSecret": "s3cret",
}
PLAIN = 'x.PlainLoginModule required username="me" password="s3cret";'
ROLE = "arn:aws:iam::123456789012:role/writer"


def read(**options: str) -> KafkaOptions:
    return KafkaOptions.from_options({"bootstrapServers": "one:9092", **options})


def test_only_the_brokers_are_required() -> None:
    options = KafkaOptions.from_options({"kafka.bootstrap.servers": "one:9092"})
    assert (options.acks, options.idempotent, options.partitioner) == ("all", True, "murmur2")
    assert (options.delivery_guarantee, options.compression, options.batch_size_in_bytes) == (
        "at-least-once",
        "none",
        900_000,
    )
    assert (options.security_protocol, options.sasl_mechanism, options.allowed) == ("PLAINTEXT", None, None)
    with pytest.raises(ConfigurationError, match="'bootstrapServers' is missing"):
        KafkaOptions.from_options({"topic": "orders"})


def test_strings_of_spark_are_read_in_any_spelling() -> None:
    options = KafkaOptions.from_options(
        {
            "BOOTSTRAP-SERVERS": " SASL_SSL://one:9093 ,two, [2001:db8::1]:9094,",
            "topic": "orders",
            "topic-pattern": r"orders(\..*)?",
            "includeheaders": "false",
            "max_block": "500ms",
            "connectionsmaxidle": "inf",
            "security_protocol": "sasl_ssl",
            "sasl-mechanism": "scram_sha_256",
            "sasl_username": "me",
            "sasl_password": "s3cret",
        }
    )
    assert options == KafkaOptions(
        bootstrap_servers="one:9093,two:9092,[2001:db8::1]:9094",
        topic="orders",
        topic_pattern=r"orders(\..*)?",
        include_headers=False,
        max_block_s=0.5,
        connections_max_idle_s=float("inf"),
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_username="me",
        sasl_password="s3cret",
    )


@pytest.mark.parametrize("name", sorted(KafkaOptions.refused))
def test_names_of_other_meaning_are_refused_with_a_remedy(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{name}' is not supported: "):
        read(**{name: "1"})


@pytest.mark.parametrize(
    ("options", "allowed", "others"),
    [
        ({"topics": "orders, events"}, ["orders", "events"], ["order", "orders2", ""]),
        ({"topicPattern": r"orders\..*"}, ["orders.", "orders.eu"], ["orders", "all.orders.eu", "ordersX"]),
        ({"topics": "a", "topicPattern": "b+"}, ["a", "b", "bb"], ["ab", "c"]),
    ],
)
def test_rows_may_name_the_topics_that_are_listed_or_fit(
    options: dict[str, str], allowed: list[str], others: list[str]
) -> None:
    may = read(**options).allowed
    assert may is not None
    assert [topic for topic in (*allowed, *others) if may(topic)] == allowed


@pytest.mark.parametrize(
    ("given", "idempotent"),
    [
        ({}, True),
        ({"acks": "1"}, False),
        ({"enableIdempotence": "false"}, False),
        ({"enableIdempotence": "true"}, True),
    ],
)
def test_a_producer_is_idempotent_where_acks_allow(given: dict[str, str], idempotent: bool) -> None:
    assert read(**given).idempotent is idempotent


@pytest.mark.parametrize(
    ("given", "mechanism"),
    [
        ({"saslJaasConfig": PLAIN}, "PLAIN"),
        ({"saslJaasConfig": PLAIN.replace("Plain", "Scram"), "saslMechanism": "SCRAM-SHA-512"}, "SCRAM-SHA-512"),
        ({"saslJaasConfig": PLAIN, "saslUsername": "me"}, "PLAIN"),
        (TOKENS, "OAUTHBEARER"),
        ({"saslTokenProvider": "company.tokens:Provider"}, "OAUTHBEARER"),
        ({"saslJaasConfig": "x.IAMLoginModule required;"}, "AWS_MSK_IAM"),
        ({"saslJaasConfig": "x.OAuthBearerLoginModule required;", "saslMechanism": "AWS_MSK_IAM"}, "AWS_MSK_IAM"),
        ({"saslJaasConfig": "x.OAuthBearerLoginModule required;", **TOKENS}, "OAUTHBEARER"),
        ({"saslJaasConfig": "x.Krb5LoginModule required;", "saslKerberosServiceName": "brokers"}, "GSSAPI"),
        ({"saslMechanism": "AWS_MSK_IAM", "awsRoleArn": ROLE, "awsExternalId": "x"}, "AWS_MSK_IAM"),
    ],
)
def test_the_mechanism_is_found_where_only_one_fits(given: dict[str, str], mechanism: str) -> None:
    assert read(**SASL, **given).sasl_mechanism == mechanism


def test_a_jaas_configuration_says_what_options_say() -> None:
    options = read(**SASL, saslJaasConfig=PLAIN)
    assert (options.sasl_username, options.sasl_password) == ("me", "s3cret")
    token = 'x.OAuthBearerLoginModule required clientId="me" clientSecret="s3cret" scope="write";'
    url = TOKENS["saslOauthbearerTokenEndpointUrl"]
    options = read(**SASL, saslJaasConfig=token, saslOauthbearerTokenEndpointUrl=url)
    assert (options.sasl_mechanism, options.sasl_oauthbearer_client_secret) == ("OAUTHBEARER", "s3cret")
    kerberos = read(**SASL, saslJaasConfig="x.Krb5LoginModule required serviceName=brokers;")
    assert kerberos.sasl_kerberos_service_name == "brokers"


@pytest.mark.parametrize("handler", ["IAMOAuthBearerLoginCallbackHandler", "IAMClientCallbackHandler"])
def test_msk_iam_is_known_by_its_handlers_in_java(handler: str) -> None:
    options = read(
        **{
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "kafka.sasl.login.callback.handler.class": f"software.amazon.msk.auth.iam.{handler}",
            "kafka.sasl.jaas.config": f'x.OAuthBearerLoginModule required awsRoleArn="{ROLE}";',
        }
    )
    assert (options.sasl_mechanism, options.aws_role_arn) == ("AWS_MSK_IAM", ROLE)


def test_pem_may_be_files_or_text() -> None:
    files = read(securityProtocol="SSL", sslTruststoreLocation="/ca.pem", sslKeystoreLocation="/me.pem")
    assert (files.encrypted, files.ssl_keystore_location) == (True, "/me.pem")
    text = {"sslTruststoreCertificates": "CA", "sslKeystoreKey": "KEY", "sslKeystoreCertificateChain": "CHAIN"}
    assert read(securityProtocol="SSL", sslKeyPassword="s3cret", sslTruststoreType="pem", **text).encrypted


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bootstrapServers": " , "}, "option 'bootstrapServers' names no broker; write host:port"),
        ({"bootstrapServers": "one:port"}, "names the broker 'one:port'; write host:port"),
        ({"bootstrapServers": "one:70000"}, "names the broker 'one:70000'"),
        ({"bootstrapServers": "me:s3cret@one:1"}, "names the broker 'one:1'"),
        ({"topic": "a b"}, "option 'topic' names the topic 'a b'; a topic has 1 to 249 of the characters"),
        ({"topic": "a;b"}, "for several topics write topics=a,b and a column topic"),
        ({"topic": ".."}, "names the topic '..'"),
        ({"topic": "t" * 250}, "a topic has 1 to 249"),
        ({"topics": "a,b c"}, "option 'topics' names the topic 'b c'"),
        ({"topics": " "}, "option 'topics' = '' names no topic"),
        ({"topicPattern": "("}, "option 'topicPattern' = '(' is no regular expression"),
        ({"topic": "c", "topics": "a,b"}, "option 'topic' = 'c' is not among the topics that 'topics' and"),
        ({"partitioner": "murmur"}, "did you mean 'murmur2'?"),
        ({"partitioner": "com.Mine"}, "give its import path as 'package.module:Class'"),
        ({"acks": "0"}, "leave acks out, or set deliveryGuarantee=none"),
        ({"acks": "2"}, "option 'acks' = '2' must be 'all' or '1' or '0'"),
        ({"enableIdempotence": "true", "acks": "1"}, "needs 'acks' = 'all', and it is '1'"),
        ({"compressionLevel": "3"}, "option 'compressionLevel' = 3 is of gzip, lz4 and zstd"),
        ({"compressionLevel": "3", "compression": "snappy"}, "'compression' = 'snappy'"),
        (
            {"compressionLevel": "30", "compression": "zstd"},
            "option 'compressionLevel' = 30 must be from -131072 to 22 with 'compression' = 'zstd', or left out",
        ),
        ({"compressionLevel": "0", "compression": "gzip"}, "must be from 1 to 9 with 'compression' = 'gzip'"),
        ({"compressionLevel": "-1", "compression": "lz4"}, "must be from 1 to 17 with 'compression' = 'lz4'"),
        ({"batchSizeInBytes": "0"}, "option 'batchSizeInBytes' = 0 must be larger than 0"),
        ({"maxBlock": "0s"}, "option 'maxBlock' = 0.0 must be larger than 0"),
        ({"metadataMaxAge": "0s"}, "option 'metadataMaxAge' = 0.0 must be larger than 0"),
        ({"connectionsMaxIdle": "0s"}, "option 'connectionsMaxIdle' = 0.0 must be larger than 0"),
        ({"deliveryGuarantee": "exactly-once", "acks": "1"}, "needs acks=all and idempotence, and 'acks' = '1'"),
        (
            {"deliveryGuarantee": "exactly-once", "enableIdempotence": "false"},
            "needs acks=all and idempotence, and 'enableIdempotence' = false; leave one of them out",
        ),
        (
            {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "my orders"},
            "option 'transactionalIdPrefix' = 'my orders' must be 1 to 200 letters, digits and . _ -; give for example",
        ),
        (
            {"deliveryGuarantee": "exactly-once", "transactionTimeout": "0s"},
            "option 'transactionTimeout' = 0.0 must be larger than 0",
        ),
        (
            {"deliveryGuarantee": "exactly-once", "transactionTimeout": "inf"},
            "option 'transactionTimeout' = inf must be at most 2147483.647 seconds, which is all that Kafka's protocol",
        ),
        (
            {"deliveryGuarantee": "exactly-once", "transactionTimeout": "30d"},
            "option 'transactionTimeout' = 2592000.0 must be at most 2147483.647 seconds",
        ),
        (
            {"transactionalIdPrefix": "orders"},
            "'orders' is of transactions, and 'deliveryGuarantee' = 'at-least-once' makes none; set deliver",
        ),
        ({"transactionTimeout": "60s"}, "option 'transactionTimeout' = 60.0 is of transactions"),
        ({"topicc": "x"}, "option 'topicc' is not known; did you mean 'topic'"),
        # Who sends
        (PASSWORD, "option 'saslUsername' is given, and 'securityProtocol' = 'PLAINTEXT' asks nobody who sends"),
        ({"saslMechanism": "PLAIN", "securityProtocol": "SSL"}, "option 'saslMechanism' is given"),
        ({"awsRegion": "eu-west-1"}, "option 'awsRegion' is given"),
        (SASL, "option 'saslMechanism' is missing, and 'securityProtocol' = 'SASL_SSL' needs it"),
        ({**SASL, "saslMechanism": "PLAIN"}, "option 'saslUsername' is missing: 'saslMechanism' = 'PLAIN' needs"),
        ({**SASL, "saslMechanism": "PLAIN", "saslUsername": "me"}, "option 'saslPassword' is missing"),
        ({**SASL, "saslJaasConfig": "x.ScramLoginModule required;"}, "option 'saslMechanism' is missing"),
        ({**SASL, "saslJaasConfig": PLAIN, "saslPassword": "s3cret-2"}, "'saslJaasConfig' and 'saslPassword' say diff"),
        ({**SASL, "saslJaasConfig": PLAIN, "saslMechanism": "OAUTHBEARER"}, "does not fit PlainLoginModule of"),
        (
            {**SASL, "saslMechanism": "OAUTHBEARER"},
            "'OAUTHBEARER' needs tokens; give 'saslOauthbearerTokenEndpointUrl'",
        ),
        ({**SASL, **TOKENS, "saslTokenProvider": "a:b"}, "two ways to a token; give one of them"),
        ({**SASL, **TOKENS, "saslOauthbearerClientSecret": ""}, "option 'saslOauthbearerClientSecret' is missing"),
        ({**SASL, **TOKENS, "saslOauthbearerTokenEndpointUrl": "file:///t"}, "must be a URL of http or https"),
        ({**SASL, **TOKENS, "saslOauthbearerTokenEndpointUrl": "https://u:s3cret@h/t"}, "without a user's name"),
        ({**SASL, "saslTokenProvider": "provider"}, "must be an import path such as company.tokens:Provider"),
        ({**SASL, **TOKENS, **PASSWORD}, "option 'saslUsername' is for PLAIN and SCRAM-SHA-256"),
        ({**SASL, **PASSWORD, "saslMechanism": "PLAIN", "awsRegion": "x"}, "option 'awsRegion' is for AWS_MSK_IAM"),
        (
            {**SASL, "saslMechanism": "AWS_MSK_IAM", "saslKerberosServiceName": "x"},
            "option 'saslKerberosServiceName' is for GSSAPI",
        ),
        (
            {"securityProtocol": "SASL_PLAINTEXT", "saslMechanism": "AWS_MSK_IAM"},
            "'saslMechanism' = 'AWS_MSK_IAM' needs encrypted connections",
        ),
        ({**SASL, "saslMechanism": "AWS_MSK_IAM", "awsRoleArn": "writer"}, "option 'awsRoleArn' = 'writer' is no ARN"),
        ({**SASL, "saslMechanism": "AWS_MSK_IAM", "awsExternalId": "x"}, "option 'awsExternalId' needs 'awsRoleArn'"),
        # Encryption
        (
            {"sslTruststoreLocation": "/ca.pem"},
            "'securityProtocol' = 'PLAINTEXT' encrypts nothing; set securityProtocol=SSL",
        ),
        ({"sslEndpointIdentificationAlgorithm": ""}, "option 'sslEndpointIdentificationAlgorithm' is given"),
        (
            {"securityProtocol": "SSL", "sslTruststoreLocation": "/ca.jks"},
            "keytool -list -rfc -keystore /ca.jks > trusts",
        ),
        ({"securityProtocol": "SSL", "sslKeystoreLocation": "/me.p12"}, "keytool -importkeystore -srckeystore /me.p12"),
        ({"securityProtocol": "SSL", "sslKeystoreType": "PKCS12"}, "openssl pkcs12 -in keystore.p12 -out keystore.pem"),
        ({"securityProtocol": "SSL", "sslTruststoreType": "JKS"}, "option 'sslTruststoreType' = 'JKS': Java's stores"),
        (
            {"securityProtocol": "SSL", "sslTruststoreLocation": "/ca.pem", "sslTruststoreCertificates": "CA"},
            "options 'sslTruststoreLocation' and 'sslTruststoreCertificates' say the same in two ways",
        ),
        (
            {"securityProtocol": "SSL", "sslKeystoreLocation": "/me.pem", "sslKeystoreKey": "s3cret"},
            "options 'sslKeystoreLocation' and 'sslKeystoreKey' say the same in two ways",
        ),
        ({"securityProtocol": "SSL", "sslKeystoreKey": "s3cret"}, "is given without 'sslKeystoreCertificateChain'"),
        ({"securityProtocol": "SSL", "sslKeystoreCertificateChain": "C"}, "is given without 'sslKeystoreKey'"),
        ({"securityProtocol": "SSL", "sslKeyPassword": "s3cret"}, "and there is no private key"),
        ({"securityProtocol": "SSL", "sslEnabledProtocols": "TLS1.2"}, "option 'sslEnabledProtocols' names 'TLS1.2'"),
        ({"securityProtocol": "SSL", "sslEnabledProtocols": "TLSv1"}, "allows only versions that are no longer safe"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_words(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(**options)
    assert sentence in str(caught.value)
    assert "s3cret" not in str(caught.value)


SECRETS: dict[str, Any] = {
    "sasl_jaas_config": 'x.PlainLoginModule required username="me" password="s3cret-jaas";',
    "sasl_password": "s3cret-jaas",
    "ssl_keystore_key": "s3cret-key",
    "ssl_key_password": "s3cret-of-key",
}


def test_no_repr_shows_a_secret() -> None:
    options = KafkaOptions.of(
        bootstrap_servers="one:1", security_protocol="SASL_SSL", ssl_keystore_certificate_chain="CHAIN", **SECRETS
    )
    tokens = read(**SASL, **TOKENS)
    assert "s3cret" not in repr(options) + repr(tokens)
    assert "sasl_username='me'" in repr(options)


def test_every_option_that_holds_a_secret_is_marked() -> None:
    secret = {each.field for each in option_fields(KafkaOptions) if each.secret}
    assert secret == {*SECRETS, "sasl_oauthbearer_client_secret"}


def test_options_are_the_same_after_a_journey() -> None:
    options = read(**SASL, saslJaasConfig=PLAIN, topics="a,b")
    assert options.allowed is not None
    assert options.allowed("a")
    copy = pickle.loads(pickle.dumps(options))
    assert (copy, copy.fingerprint()) == (options, options.fingerprint())
    assert (
        read(**SASL, saslJaasConfig=PLAIN.replace("s3cret", "other"), topics="a,b").fingerprint() != copy.fingerprint()
    )


@pytest.mark.parametrize(
    ("compression", "level"), [("gzip", -1), ("gzip", 9), ("lz4", 1), ("lz4", 17), ("zstd", -131072), ("zstd", 22)]
)
def test_levels_of_a_codec_are_taken_to_their_ends(compression: str, level: int) -> None:
    assert read(compression=compression, compressionLevel=str(level)).compression_level == level


@pytest.mark.parametrize("each", KafkaOptions.describe(), ids=lambda each: each.name)
def test_every_option_is_described_by_a_sentence(each: Any) -> None:
    assert len(each.doc.split()) > 3
    assert each.doc.endswith(".")
