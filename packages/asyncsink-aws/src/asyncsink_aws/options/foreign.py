"""Names that users bring from other systems and that are no plain aliases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asyncsink.errors import ConfigurationError
from asyncsink.options import folded

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

_TRUSTS_ALL: Final = "aws.trust.all.certificates"
_VERIFY: Final = "verify"
_PROVIDERS: Final = frozenset(map(folded, ("aws.credentials.provider", "credentialsProvider", "credentials_provider")))
_ROLE_PROVIDERS: Final = frozenset(
    map(folded, ("aws.credentials.role.provider", "aws.credentials.provider.role.provider"))
)
_PROXY_ADDRESS, _PROXY_PORT = map(folded, ("kinesis.sink.proxyAddress", "kinesis.sink.proxyPort"))


def translated(options: Mapping[str, str]) -> dict[str, str]:
    """The options with those turned into ours whose values change, too.

    :raises ConfigurationError: a value has no counterpart here; names the option, the value and the remedy
    """
    own: dict[str, str] = {}
    proxy: dict[str, tuple[str, str]] = {}
    for key, text in options.items():
        name = folded(key)
        if name == folded(_TRUSTS_ALL):
            _add(own, "verifyTls", _inverted(key, text), key)
        elif name == _VERIFY:
            _add(own, *_verification(text), key)
        elif name in _ROLE_PROVIDERS:
            _check_role_provider(key, text)
        elif name in (_PROXY_ADDRESS, _PROXY_PORT):
            proxy[name] = (key, text)
        else:
            if name in _PROVIDERS:
                _check_provider(key, text)
            own[key] = text
    if proxy:
        _add(own, "proxy", _proxy(proxy), next(iter(proxy.values()))[0])
    return own


def _add(own: dict[str, str], name: str, value: str, key: str) -> None:
    """Set an option under a spelling that is still free, so that contradictions are found where options are read."""
    for spelling in (name, "".join(f"_{each.lower()}" if each.isupper() else each for each in name)):
        if spelling not in own:
            own[spelling] = value
            return
    if own[name] != value:
        raise ConfigurationError(f"option {key!r} contradicts option {name!r} = {own[name]!r}; give one of them")


def _inverted(key: str, text: str) -> str:
    said = text.strip().lower()
    if said not in ("true", "false"):
        raise ConfigurationError(f"option {key!r} = {text!r} must be true or false")
    return "false" if said == "true" else "true"


def _verification(text: str) -> tuple[str, str]:
    """boto3's ``verify``: a truth value, or the path of a bundle."""
    said = text.strip().lower()
    return ("verifyTls", said) if said in ("true", "false") else ("caBundle", text)


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


def _proxy(given: Mapping[str, tuple[str, str]]) -> str:
    if _PROXY_ADDRESS not in given:
        key, text = given[_PROXY_PORT]
        raise ConfigurationError(f"option {key!r} = {text!r} names no host; give proxy, as in http://host:{text}")
    address = given[_PROXY_ADDRESS][1].strip()
    port = f":{given[_PROXY_PORT][1].strip()}" if _PROXY_PORT in given else ""
    return f"{address}{port}" if "://" in address else f"http://{address}{port}"
