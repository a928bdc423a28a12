"""A user's own source of tokens, named by its import path and loaded where the writer runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio.to_thread
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError

from asyncsink.errors import ConfigurationError
from asyncsink.plugins import load_given
from asyncsink_kafka.security.tokens import Token, TokenCache, TokenRefusedError, TokenUnavailableError, expiry_of

# A bug is not an outage: no later call will do better.
_BUGS = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def load_token_provider(path: str) -> AbstractTokenProvider:
    """The provider that the option ``saslTokenProvider`` names.

    It names a subclass of ``aiokafka.abc.AbstractTokenProvider`` that needs no arguments, an instance of one, or a
    function without parameters, async or not, that returns the token or ``(token, expires_at)``, with the time in
    seconds since the epoch. What a function returns is kept until four fifths of its life are over; without a time,
    the one in a JSON web token counts. A function that is not async runs in a thread.

    :raises ConfigurationError: the path does not load, or names something else
    """
    found = load_given("option 'saslTokenProvider':", path)
    if isinstance(found, type) and issubclass(found, AbstractTokenProvider):
        return _Guarded(path, _instance(path, found))
    if isinstance(found, AbstractTokenProvider):
        return _Guarded(path, found)
    if isinstance(found, type) or not callable(found):
        raise ConfigurationError(
            f"option 'saslTokenProvider' = {path!r} names neither a subclass of aiokafka.abc.AbstractTokenProvider "
            "nor a function that returns a token"
        )
    return TokenCache(_Function(path, found).fetch)


class _Guarded(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no annotations
    """A provider whose errors aiokafka understands: any other would end its sender, or its look at the metadata."""

    def __init__(self, path: str, provider: AbstractTokenProvider) -> None:
        self._path = path
        self._provider = provider

    async def token(self) -> str:
        with _understood(self._path):
            returned = await self._provider.token()
        return _checked(self._path, returned).value

    def extensions(self) -> Mapping[str, str]:
        with _understood(self._path):
            return dict(self._provider.extensions())


class _Function:
    """A user's function as a source for a :class:`TokenCache`."""

    def __init__(self, path: str, function: Callable[[], Any]) -> None:
        self._path = path
        self._function = function

    async def fetch(self) -> Token:
        with _understood(self._path):
            returned = await self._call()
        return _checked(self._path, returned)

    async def _call(self) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function()
        returned = await anyio.to_thread.run_sync(self._function, abandon_on_cancel=True)
        return await returned if inspect.isawaitable(returned) else returned


def _instance(path: str, found: type[AbstractTokenProvider]) -> AbstractTokenProvider:
    try:
        return found()
    except Exception as error:
        raise ConfigurationError(
            f"option 'saslTokenProvider' = {path!r} cannot be made without arguments: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def _understood(path: str) -> Iterator[None]:
    """Make of what a user's code raises an error that aiokafka takes for a failure to connect."""
    try:
        yield
    except KafkaError:
        raise
    except Exception as error:
        said = f"token provider {path!r} raised {type(error).__name__}: {error}"
        if isinstance(error, _BUGS):
            raise TokenRefusedError(f"{said}; mend it where the writers run") from error
        raise TokenUnavailableError(said) from error


def _checked(path: str, returned: Any) -> Token:
    value, expires_at = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)
    if not isinstance(value, str) or not value or not isinstance(expires_at, int | float | None):
        raise TokenRefusedError(
            f"token provider {path!r} returned {type(returned).__name__}; it must return the token as a str that is "
            "not empty, or (token, seconds since the epoch at which it expires)"
        )
    return Token(value, float(expires_at) if expires_at is not None else expiry_of(value))
