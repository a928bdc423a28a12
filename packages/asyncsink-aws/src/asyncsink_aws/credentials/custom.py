"""A user's own source of credentials, named by its import path and loaded where the writer runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final

import anyio
import anyio.to_thread
from botocore.exceptions import CredentialRetrievalError

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink_aws.credentials.renewed import RenewedCredentials
from asyncsink_aws.keys import AwsKeys

LOAD_TIMEOUT_S: Final = 30.0
"""How long a source may take."""

# A bug is not an outage: no later call will do better.
_BUGS: Final = (AssertionError, AttributeError, ImportError, LookupError, NameError, NotImplementedError, TypeError)


def custom_credentials(path: str, timeout_s: float = LOAD_TIMEOUT_S) -> Callable[[], RenewedCredentials]:
    """What makes credentials by the source that the option ``customCredentials`` names.

    It names a class that needs no arguments, or an instance, with a method ``load()``, async or not, which returns
    :class:`~asyncsink_aws.AwsKeys` or a tuple of the same. It is called again ahead of the expiry. One that is not
    async runs in a thread, which is left alone if it does not return in time.

    :raises ConfigurationError: the path does not load, or names something else
    """
    found = load_given("option 'customCredentials':", path)
    source = _instance(path, found) if isinstance(found, type) else found
    if not callable(getattr(source, "load", None)):
        raise ConfigurationError(f"option 'customCredentials' = {path!r} names nothing that has a method load()")
    return lambda: RenewedCredentials(partial(_fetch, path, source.load, timeout_s), f"custom credentials {path}")


def _instance(path: str, found: type) -> Any:
    try:
        return found()
    except Exception as error:
        raise ConfigurationError(
            f"option 'customCredentials' = {path!r} cannot be made without arguments: {type(error).__name__}"
        ) from _unsaid(error)


async def _fetch(path: str, load: Callable[[], Any], timeout_s: float) -> AwsKeys:
    try:
        with anyio.fail_after(timeout_s):
            returned = await _call(load)
    except TimeoutError as error:
        raise CredentialRetrievalError(
            provider=path, error_msg=f"load() has not returned within {timeout_s:g} s, or has timed out by itself"
        ) from _unsaid(error)
    except Exception as error:
        # Not its message, which may quote what it was about; nor in the traceback, which Spark shows whole.
        said = f"load() raised {type(error).__name__}"
        if isinstance(error, _BUGS):
            raise ConfigurationError(
                f"option 'customCredentials' = {path!r}: {said}; mend it where the writers run"
            ) from _unsaid(error)
        raise CredentialRetrievalError(provider=path, error_msg=said) from _unsaid(error)
    return _checked(path, returned)


def _unsaid(error: BaseException) -> BaseException:
    """The error, to be chained to, with what led to it: types and frames, without the messages."""
    chain = [error]
    while (before := _before(chain[-1])) is not None and all(before is not each for each in chain):
        chain.append(before)
    copies = [_nameplate(each) for each in chain]
    for copy, cause in pairwise(copies):
        copy.__cause__ = cause
    return copies[0]


def _before(error: BaseException) -> BaseException | None:
    """What a traceback shows above the error."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _nameplate(error: BaseException) -> BaseException:
    kind = type(type(error).__name__, (Exception,), {"__module__": type(error).__module__})
    copy: BaseException = kind()
    return copy.with_traceback(error.__traceback__)


async def _call(load: Callable[[], Any]) -> Any:
    if inspect.iscoroutinefunction(load):
        return await load()
    returned = await anyio.to_thread.run_sync(load, abandon_on_cancel=True)
    return await returned if inspect.isawaitable(returned) else returned


def _checked(path: str, returned: Any) -> AwsKeys:
    rule = _broken_rule(returned)
    if rule is not None:
        raise ConfigurationError(
            f"option 'customCredentials' = {path!r}: load() returned {rule}; it must return AwsKeys(access_key_id, "
            "secret_access_key, session_token or None, expires_at or None), or a tuple of the same"
        )
    return AwsKeys(*returned)


def _broken_rule(returned: Any) -> str | None:
    """What is wrong, without any of the values."""
    if not isinstance(returned, tuple) or not 2 <= len(returned) <= 4:
        return f"a {type(returned).__name__}"
    key, secret, token, expires_at = (*returned, None, None)[:4]
    if not all(isinstance(each, str) and each for each in (key, secret)):
        return "a key or a secret that is no string, or empty"
    if not isinstance(token, str | None):
        return f"a session token of type {type(token).__name__}"
    if isinstance(expires_at, datetime):
        return "a time of expiry without a time zone" if expires_at.tzinfo is None else None
    if isinstance(expires_at, bool) or not isinstance(expires_at, int | float | None):
        return f"a time of expiry of type {type(expires_at).__name__}"
    return "a time of expiry that is no number" if expires_at is not None and math.isnan(expires_at) else None
