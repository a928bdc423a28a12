"""What others' HTTP sinks call their options, where the meaning is the same, and what to do where it is not."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias
from asyncsink.options.names import folded

_RETRIES: Final = "failures are retried until retry.timeout, and single rows retry.maxAttempts times; set these"
_BACKOFF: Final = "waits double from retry.initialBackoff to retry.maxBackoff; set these"
_KEY_STORE: Final = "only PEM is read; take certificate and key out of it, and set tls.certificateFile and tls.keyFile"

REFUSED: Final[Mapping[str, str]] = {
    "http.sink.writer.thread-pool.size": "requests need no threads; set maxInFlightRequests",
    "http.sink.error.code": "every status but 2xx is an error; fatalCodes, rejectCodes and retryCodes say which",
    "http.sink.max-retries": _RETRIES,
    "http.sink.retry-strategy.exponential-delay.backoff-multiplier": _BACKOFF,
    "http.sink.retry-strategy.fixed-delay.delay": _BACKOFF,
    "http.sink.request-callback": "it names a class of Java; set responseCallback to a function of Python",
    "http.security.cert.server.allowSelfSigned": "set tls.caFile to the file of that certificate",
    "http.security.keystore.path": _KEY_STORE,
    "http.security.keystore.password": _KEY_STORE,
    "http.security.keystore.type": _KEY_STORE,
    "http.error.log.severity": "set the level of the logger asyncsink_http",
    "http.logging.level": "set the level of the logger asyncsink_http; no body is ever logged",
    "drop_on": "set rejectCodes, and onRejected=drop",
}
"""Names without an equal here, each with what to do instead."""

LENT: Final[Mapping[str, Alias]] = {
    "maxBatchSize": Alias("http.sink.request.batch.size"),
    "requestTimeout": Alias("http.sink.request.timeout", unit="s"),
    "retry.initialBackoff": Alias("http.sink.retry-strategy.exponential-delay.initial-backoff"),
    "retry.maxBackoff": Alias("http.sink.retry-strategy.exponential-delay.max-backoff"),
}
"""Names for options of the writer."""

_IDENTIFIER: Final = "gid.connector."
"""Flink's and getindata's names begin with it in some releases."""


def translated(options: Mapping[str, str]) -> Mapping[str, str]:
    """The strings of a user with Flink's names turned into ours, where an alias does not suffice.

    :raises ConfigurationError: a value has no equal here, or contradicts an option of ours
    """
    found: dict[str, str] = {}
    for key, value in options.items():
        name = key[len(_IDENTIFIER) :] if folded(key).startswith(_folded_identifier) else key
        translate = _TRANSLATIONS.get(folded(name))
        for ours, text in {name: value}.items() if translate is None else translate(name, value).items():
            _add(found, options, key, ours, text)
    return found


def _add(found: dict[str, str], options: Mapping[str, str], key: str, ours: str, text: str) -> None:
    """Take over an option; one that is given under another name, too, must have the same value."""
    others = {folded(each): value for each, value in (found | dict(options)).items() if folded(each) != folded(key)}
    if others.get(folded(ours), text) != text:
        raise ConfigurationError(f"options {key!r} and {ours!r} contradict each other; give one of them")
    found[ours] = text


def _mode(name: str, value: str) -> Mapping[str, str]:
    bodies = {"batch": "json-array", "single": "single"}
    body = bodies.get(value.strip().lower())
    if body is None:
        raise ConfigurationError(f"option {name!r} = {value!r} must be 'batch' or 'single'; or set body")
    return {"body": body}


def _strategy(name: str, value: str) -> Mapping[str, str]:
    if folded(value.strip()) != "exponentialdelay":
        raise ConfigurationError(f"option {name!r} = {value!r} is not supported: {_BACKOFF}, or leave it out")
    return {}


def _authorization(name: str, value: str) -> Mapping[str, str]:
    """Flink encodes a value without a scheme, which is a name and a password; sent as it is, anybody could read it."""
    if not _SCHEME.match(value):
        value = f"Basic {b64encode(value.encode()).decode()}"
    return {"header.Authorization": value}


def _token_request(name: str, value: str) -> Mapping[str, str]:
    """The form that asks for a token: it holds a secret, so no error quotes it."""
    fields = dict(parse_qsl(value.strip(), keep_blank_values=True))
    unknown = sorted(fields.keys() - {"grant_type", *_TOKEN_FIELDS})
    if fields.pop("grant_type", "client_credentials") != "client_credentials" or unknown or not fields:
        raise ConfigurationError(
            f"option {name!r} must be a form of grant_type=client_credentials with client_id, client_secret, scope and "
            "audience; set the oauth2.* options, or auth for other grants"
        )
    return {_TOKEN_FIELDS[field]: text for field, text in fields.items()} | {"oauth2.authStyle": "post"}


_SCHEME: Final = re.compile(r"[A-Za-z][\w.+-]*\s")
_TOKEN_FIELDS: Final = {
    "client_id": "oauth2.clientId",
    "client_secret": "oauth2.clientSecret",
    "scope": "oauth2.scope",
    "audience": "oauth2.audience",
}
_folded_identifier: Final = folded(_IDENTIFIER)
_TRANSLATIONS: Final[Mapping[str, Callable[[str, str], Mapping[str, str]]]] = {
    "http.sink.writer.request.mode": _mode,
    "http.sink.retrystrategy.type": _strategy,
    "http.sink.header.authorization": _authorization,
    "http.security.oidc.token.request": _token_request,
}
"""By the names as they compare."""
