"""Names that users bring from other systems and that are no plain aliases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from asyncsink.errors import ConfigurationError
from asyncsink.options import OptionInfo, folded

_OWN_CODE: Final = (
    "classes of Java cannot be loaded; give customCredentials=package.module:Class, a class in Python with a method "
    "load()"
)
_RETRIES: Final = "the writer repeats requests; use retry.maxAttempts, retry.initialBackoff and retry.maxBackoff"
_IMDS: Final = "set AWS_METADATA_SERVICE_TIMEOUT and AWS_METADATA_SERVICE_NUM_ATTEMPTS where tasks run"

REFUSED: Final[Mapping[str, str]] = {
    "kinesis.credentialProviderClass": _OWN_CODE,
    "kinesis.credentialProviderParam": _OWN_CODE,
    "sink.http-client.max-concurrency": "every request in flight has a connection; use maxInFlightRequests",
    "sink.http-client.protocol.version": "requests go by HTTP/1.1, each on a connection of its own; leave it out",
    "aws.http.protocol.version": "requests go by HTTP/1.1, each on a connection of its own; leave it out",
    "aws.retry-strategy.max-attempts": _RETRIES,
    "aws.retry-strategy.type": _RETRIES,
    "auth.region": "roles are assumed in the region of the service; give stsEndpoint for another place",
    "auth.load_timeout_secs": _IMDS,
    "auth.imds.connect_timeout_seconds": _IMDS,
    "auth.imds.read_timeout_seconds": _IMDS,
    "auth.imds.max_attempts": _IMDS,
    "credentials.from_ec2_role": "credentials of the instance are found by credentialsProvider=auto; leave it out",
    "credentials.expiry_window": "credentials are renewed ahead of their expiry; leave it out",
    "proxy.http": "AWS is reached by https; use proxy",
    "proxy.enabled": "leave 'proxy' out where there is none",
    "proxy.no_proxy": "set NO_PROXY and HTTPS_PROXY where tasks run, in place of 'proxy'",
    "use_ssl": "give the scheme in 'endpoint'",
    "api_version": "botocore's own is used; leave it out",
}
"""What is not there, each with what to use."""

_TRUSTS_ALL: Final = folded("aws.trust.all.certificates")
_VERIFY: Final = "verify"
_PROVIDERS: Final = frozenset(map(folded, ("aws.credentials.provider", "credentialsProvider")))
_ROLE_PROVIDERS: Final = frozenset(
    map(folded, ("aws.credentials.role.provider", "aws.credentials.provider.role.provider"))
)
_PROXY_ADDRESS, _PROXY_PORT = map(folded, ("kinesis.sink.proxyAddress", "kinesis.sink.proxyPort"))


class _Said(NamedTuple):
    """One option under a foreign name: the key as it was written, our option's name and its value."""

    key: str
    name: str
    value: str


def translated(options: Mapping[str, str], declared: Iterable[OptionInfo]) -> dict[str, str]:
    """The options with those turned into ours whose values change, too.

    :param declared: the options there are, with their aliases
    :raises ConfigurationError: a value has no counterpart here, or contradicts another option; names the option and the
        remedy
    """
    own: dict[str, str] = {}
    said: list[_Said] = []
    proxy: dict[str, tuple[str, str]] = {}
    for key, text in options.items():
        name = folded(key)
        if name == _TRUSTS_ALL:
            said.append(_Said(key, "verifyTls", _inverted(key, text)))
        elif name == _VERIFY:
            said.append(_verification(key, text))
        elif name in (_PROXY_ADDRESS, _PROXY_PORT):
            proxy[name] = (key, text)
        elif name in _ROLE_PROVIDERS:
            _check_role_provider(key, text)
        else:
            if name in _PROVIDERS:
                _check_provider(key, text)
            own[key] = text
    if proxy:
        said.append(_proxy(proxy))
    spellings = {each.name: {*map(folded, (each.name, *each.aliases))} for each in declared} if said else {}
    for each in said:
        _add(own, each, spellings[each.name])
    return own


def _add(own: dict[str, str], said: _Said, spellings: Collection[str]) -> None:
    """:raises ConfigurationError: the option is given by another name with another value; shows neither"""
    for key, text in own.items():
        if folded(key) in spellings:
            if text.strip().lower() != said.value.lower():
                raise ConfigurationError(f"options {key!r} and {said.key!r} contradict each other; give one of them")
            return
    own[said.name] = said.value


def _inverted(key: str, text: str) -> str:
    said = text.strip().lower()
    if said not in ("true", "false"):
        raise ConfigurationError(f"option {key!r} = {text!r} must be true or false")
    return "false" if said == "true" else "true"


def _verification(key: str, text: str) -> _Said:
    """boto3's ``verify``: a truth value, or the path of a bundle."""
    said = text.strip().lower()
    return _Said(key, "verifyTls", said) if said in ("true", "false") else _Said(key, "caBundle", text)


def _check_provider(key: str, text: str) -> None:
    if folded(text.strip()) == folded("SYS_PROP"):
        raise ConfigurationError(
            f"option {key!r} = {text!r}: there are no system properties of Java here; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY where tasks run with credentialsProvider=env_var, or use a profile or a role"
        )


def _check_role_provider(key: str, text: str) -> None:
    """Flink's provider of the credentials that assume the role: which one it is, their own options say here."""
    if folded(text.strip()) not in ("auto", "basic", "profile"):
        raise ConfigurationError(
            f"option {key!r} = {text!r} is not supported: a role is assumed by accessKeyId, by profile, by "
            "webIdentityTokenFile or by the default chain, whichever is given; for roles that are assumed by roles "
            "give all of them in order, as in roleArn=first,second"
        )


def _proxy(given: Mapping[str, tuple[str, str]]) -> _Said:
    if _PROXY_ADDRESS not in given:
        key, text = given[_PROXY_PORT]
        raise ConfigurationError(f"option {key!r} = {text!r} names no host; give proxy, as in http://host:{text}")
    key, address = given[_PROXY_ADDRESS][0], given[_PROXY_ADDRESS][1].strip()
    port = f":{given[_PROXY_PORT][1].strip()}" if _PROXY_PORT in given else ""
    return _Said(key, "proxy", f"{address}{port}" if "://" in address else f"http://{address}{port}")
