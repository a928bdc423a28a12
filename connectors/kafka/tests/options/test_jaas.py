"""The parser of Java's JAAS configurations: what it reads, and that its errors show no value."""

from __future__ import annotations

import pytest

from asyncsink import ConfigurationError
from asyncsink_kafka.options.jaas import read_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.mark.parametrize(
    ("text", "mechanisms", "fields"),
    [
        (
            f'{PLAIN} required username="me" password="s3cret";',
            ("PLAIN",),
            {"sasl_username": "me", "sasl_password": "s3cret"},
        ),
        (
            f"kafkashaded.{PLAIN}\n  Required\n  username='$me' password = \"a;b='c' \" ;\n",
            ("PLAIN",),
            {"sasl_username": "$me", "sasl_password": "a;b='c' "},
        ),
        (
            rf'{PLAIN} required username=me password="a\"b\\c\tdAé";',
            ("PLAIN",),
            {"sasl_username": "me", "sasl_password": 'a"b\\c\tdAé'},
        ),
        (
            f"/* for\nall */ {PLAIN} required // ours\n username=u@https://x password='//'; // s3cret",
            ("PLAIN",),
            {"sasl_username": "u@https://x", "sasl_password": "//"},
        ),
        (rf'{PLAIN} required password="\101\x";', ("PLAIN",), {"sasl_password": "Ax"}),
        (
            'x.scram.ScramLoginModule required username="u" password="" tokenauth="false";',
            ("SCRAM-SHA-256", "SCRAM-SHA-512"),
            {"sasl_username": "u", "sasl_password": ""},
        ),
        (
            f'{OAUTH} required clientId="c" clientSecret="s3cret" scope="write";',
            ("OAUTHBEARER", "AWS_MSK_IAM"),
            {
                "sasl_oauthbearer_client_id": "c",
                "sasl_oauthbearer_client_secret": "s3cret",
                "sasl_oauthbearer_scope": "write",
            },
        ),
        ("software.amazon.msk.auth.iam.IAMLoginModule required;", ("AWS_MSK_IAM",), {}),
        (
            (
                'x.iam.IAMLoginModule required awsRoleArn="arn:aws:iam::123456789012:role/w" awsProfileName="p"\n'
                '  awsRoleSessionName="s" awsStsRegion="eu-west-1" awsRoleExternalId="x";'
            ),
            ("AWS_MSK_IAM",),
            {
                "aws_role_arn": "arn:aws:iam::123456789012:role/w",
                "aws_role_session_name": "s",
                "aws_profile": "p",
                "aws_external_id": "x",
            },
        ),
        (
            'com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true serviceName="kafka";',
            ("GSSAPI",),
            {"sasl_kerberos_service_name": "kafka"},
        ),
    ],
)
def test_a_login_module_is_read(text: str, mechanisms: tuple[str, ...], fields: dict[str, str]) -> None:
    found = read_jaas(text)
    assert (found.mechanisms, found.fields) == (mechanisms, fields)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it must be a login module, the word required"),
        (f'{PLAIN} username="s3cret";', "it must be a login module, the word required"),
        (f'{PLAIN} required username="me" password="s3cret"', "it must be a login module, the word required"),
        (f'{PLAIN} required password="s3cret;', "a quotation mark is not closed"),
        (f"{PLAIN} required password=s3cret s3cret;", "put quotation marks around values"),
        (f"{PLAIN} required s3cret password=s3cret x;", "put quotation marks around values"),
        (f"{PLAIN} required password==s3cret;", "put quotation marks around values"),
        (f'{PLAIN} required password="=" "=" s3cret;', "put quotation marks around values"),
        (f"{PLAIN} required password=s3cret; {PLAIN} required password=s3cret;", "more than one login module"),
        (f'{PLAIN} required pasword="s3cret";', "PlainLoginModule has 'pasword' that is not known; did you mean"),
        (f'{PLAIN} required password=s3cret xs3cretx="s3cret";', "PlainLoginModule has an option that is not known"),
        ("a.b.PlainLoginModul required;", "login module 'PlainLoginModul', which is not known; did you mean"),
        ("x.ScramLoginModule required tokenauth=true;", "delegation tokens are not supported"),
        (f"{OAUTH} required unsecuredLoginStringClaim_sub=s3cret;", "give saslTokenProvider"),
        (f"{OAUTH} required extension_logicalCluster=s3cret;", "give saslTokenProvider"),
        ("x.IAMLoginModule required awsRoleSecretAccessKey=s3cret;", "put the keys into a profile"),
        ("x.Krb5LoginModule required useKeyTab=true;", "run kinit -k -t with keytab and principal"),
        ('x.Krb5LoginModule required keyTab="/etc/s3cret";', "KRB5_CLIENT_KTNAME"),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_value(text: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_jaas(text)
    assert sentence in str(caught.value)
    assert "saslJaasConfig" in str(caught.value)
    assert "s3cret" not in str(caught.value)
