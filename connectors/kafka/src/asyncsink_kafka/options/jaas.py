"""Reads the value of Java's ``sasl.jaas.config``: one login module with its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from asyncsink.errors import ConfigurationError
from asyncsink.options import did_you_mean

_SHAPE: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";'
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")

# As JaasConfig reads it with StreamTokenizer, except that words without quotes may hold any character.
_BETWEEN = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([=;])|([^\s=;"']+))""", re.DOTALL)
_ESCAPED = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Jaas(NamedTuple):
    """What a login module says: its name, the mechanisms it is for, and our options' fields."""

    module: str
    mechanisms: tuple[str, ...]
    fields: Mapping[str, str]


class _Module(NamedTuple):
    mechanisms: tuple[str, ...]
    fields: Mapping[str, str]
    ignored: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


_AWS: Final[Mapping[str, str]] = {
    "awsProfileName": "aws_profile",
    "awsRoleArn": "aws_role_arn",
    "awsRoleSessionName": "aws_role_session_name",
    "awsRoleExternalId": "aws_external_id",
}
# A role is assumed in the region of the cluster: what it gives holds everywhere.
_AWS_IGNORED: Final = ("awsStsRegion", "awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs", "isInitialLogin")
_AWS_REFUSED: Final[Mapping[str, str]] = dict.fromkeys(
    ("awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken"),
    "put the keys into a profile of the AWS configuration where tasks run, and name it by awsProfileName",
)
_PROVIDER: Final = "give saslTokenProvider, an import path of your own provider"
_KEYTAB: Final = (
    "the Kerberos library takes its ticket from the cache of the user that tasks run as; run kinit -k -t with keytab "
    "and principal there, or set the environment variable KRB5_CLIENT_KTNAME, and leave it out"
)

_MODULES: Final[Mapping[str, _Module]] = {
    "PlainLoginModule": _Module(
        ("PLAIN",), {"username": "sasl_username", "password": "sasl_password"}, ("serviceName",)
    ),
    "ScramLoginModule": _Module(
        ("SCRAM-SHA-256", "SCRAM-SHA-512"),
        {"username": "sasl_username", "password": "sasl_password"},
        refused={"tokenauth": "delegation tokens are not supported; give user and password"},
    ),
    "OAuthBearerLoginModule": _Module(
        ("OAUTHBEARER", "AWS_MSK_IAM"),
        {
            "clientId": "sasl_oauthbearer_client_id",
            "clientSecret": "sasl_oauthbearer_client_secret",
            "scope": "sasl_oauthbearer_scope",
            **_AWS,
        },
        _AWS_IGNORED,
        _AWS_REFUSED,
    ),
    "IAMLoginModule": _Module(("AWS_MSK_IAM",), _AWS, _AWS_IGNORED, _AWS_REFUSED),
    "Krb5LoginModule": _Module(
        ("GSSAPI",),
        {"serviceName": "sasl_kerberos_service_name"},
        (
            *("useTicketCache", "renewTGT", "storeKey", "doNotPrompt", "debug", "refreshKrb5Config"),
            *("isInitiator", "useFirstPass", "tryFirstPass", "clearPass", "storePass"),
        ),
        dict.fromkeys(("useKeyTab", "keyTab", "principal", "ticketCache"), _KEYTAB),
    ),
}


def read_jaas(text: str) -> Jaas:
    """The login module of a JAAS configuration. Packages before its name do not count: vendors move them.

    :raises ConfigurationError: it cannot be read, or asks for what is not supported; shows no value
    """
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[1].text.lower() not in _FLAGS or not tokens[-1].is_end:
        raise _unreadable("it must be a login module, the word required, options as name=value, and a semicolon")
    if any(each.is_end for each in tokens[:-1]):
        raise _unreadable("it holds more than one login module")
    name = tokens[0].text.rpartition(".")[2]
    module = _MODULES.get(name)
    if module is None:
        hint = did_you_mean(name, _MODULES)
        raise ConfigurationError(f"option 'saslJaasConfig' names the login module {name!r}, which is not known; {hint}")
    found = _fields(name, module, _pairs(tokens[2:-1]))
    return Jaas(name, module.mechanisms, found)


class _Token(NamedTuple):
    text: str
    sign: bool = False

    @property
    def is_end(self) -> bool:
        return self.sign and self.text == ";"


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while (position := _after_blanks(text, position)) < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable("a quotation mark is not closed")
        position = match.end()
        double, single, sign, word = match.groups()
        quoted = double if double is not None else single
        tokens.append(_Token(_unescaped(quoted)) if quoted is not None else _Token(sign or word, sign is not None))
    return tokens


def _after_blanks(text: str, position: int) -> int:
    """Where the next token begins, behind blanks and Java's comments."""
    match = _BETWEEN.match(text, position)
    return position if match is None else match.end()


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda each: _character(each[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape, 8)) if escape[0] in "01234567" else _CONTROLS.get(escape, escape)


def _pairs(tokens: list[_Token]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    if len(tokens) % 3:
        raise _unreadable("its options must be written as name=value; put quotation marks around values")
    for name, sign, value in zip(*[iter(tokens)] * 3, strict=True):
        if name.sign or value.sign or (sign.text, sign.sign) != ("=", True):
            raise _unreadable("its options must be written as name=value; put quotation marks around values")
        pairs[name.text] = value.text
    return pairs


def _fields(name: str, module: _Module, pairs: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for key, value in pairs.items():
        if key in module.fields:
            found[module.fields[key]] = value
        elif key in module.refused:
            if value.lower() != "false":
                raise _not_supported(name, key, module.refused[key])
        elif key.startswith(("extension_", "unsecuredLogin")):
            raise _not_supported(name, key, _PROVIDER)
        elif key not in module.ignored:
            # A name that is not known may be the half of a password that was not quoted.
            known = [*module.fields, *module.refused, *module.ignored]
            hint = did_you_mean(key, known)
            shown = f"{key!r}" if hint.startswith("did") else "an option"
            raise _unreadable(f"{name} has {shown} that is not known; {hint}")
    return found


def _not_supported(module: str, key: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(f"option 'saslJaasConfig': {key} of {module} is not supported: {remedy}")


def _unreadable(reason: str) -> ConfigurationError:
    return ConfigurationError(f"option 'saslJaasConfig' cannot be read: {reason}; write for example {_SHAPE}")
