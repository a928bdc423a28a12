"""The credentials of one client, looked for anew when the service says that they have expired."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
from aiobotocore.credentials import AioCredentials
from botocore.credentials import EnvProvider
from botocore.exceptions import ClientError, CredentialRetrievalError, NoCredentialsError

from asyncsink.errors import ConfigurationError
from asyncsink_aws.errors import EXPIRED

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient
    from botocore.credentials import ReadOnlyCredentials

_GENERATION: Final = "asyncsink.credentials"
"""Where a call's context keeps which credentials it was signed with."""

_log = logging.getLogger(__name__)


class Credentials(Protocol):
    """What botocore's signer asks for: both its own credentials and ours."""

    async def get_frozen_credentials(self) -> ReadOnlyCredentials: ...


Loader = Callable[[], Awaitable[Credentials | None]]
"""Looks for credentials from the beginning; None where there are none."""


async def frozen(credentials: Credentials) -> ReadOnlyCredentials:
    """The keys to sign with, now.

    :raises ConfigurationError: those of the environment have expired, which no renewal can mend
    :raises CredentialRetrievalError: what was found anew has expired as well
    """
    try:
        return await credentials.get_frozen_credentials()
    except RuntimeError as error:
        # botocore's, which has no type of its own for it.
        if "expired" not in str(error):
            raise
        method = getattr(credentials, "method", "asyncsink")
        if method == EnvProvider.METHOD:
            raise ConfigurationError(
                "the credentials of the environment have expired, by AWS_CREDENTIAL_EXPIRATION where tasks run; give "
                "new ones, or a profile or a role that is renewed"
            ) from error
        raise CredentialRetrievalError(provider=method, error_msg="what it gives has expired") from error


class CurrentCredentials(AioCredentials):  # type: ignore[misc]  # aiobotocore has no annotations
    """Credentials that are loaded when the first request is signed, and loaded again after :meth:`expire`.

    What is loaded renews itself by its own clock; a service's says the last word, the token service's as well. Files
    and environment are read again then, so that keys rotated there are found.
    """

    def __init__(self, load: Loader) -> None:
        super().__init__("", "", method="asyncsink")  # the signer asks for the frozen ones
        self.generation = 0
        """Counts how often credentials have been looked for."""
        self._load = load
        self._lock = anyio.Lock()
        self._loaded: Credentials | None = None
        self._expired: ReadOnlyCredentials | None = None
        self._last: ReadOnlyCredentials | None = None

    async def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The keys to sign a request with, now.

        :raises NoCredentialsError: there are none
        :raises ConfigurationError: the same keys are found again after they have expired
        """
        keys = await self._keys()
        if self._expired is not None and keys == self._expired:
            self._loaded = None
            raise ConfigurationError(
                f"AWS says that the credentials have expired, and the same are found again (access key "
                f"{keys.access_key!r}); give new ones, or a profile or a role that is renewed"
            )
        self._last = keys
        return keys

    def expire(self, generation: int) -> None:
        """Forget the credentials, unless others than those of `generation` have been loaded meanwhile."""
        if generation == self.generation and self._loaded is not None:
            _log.info("credentials have expired by the service's clock; looking for new ones")
            self._loaded, self._expired = None, self._last

    async def _keys(self) -> ReadOnlyCredentials:
        loaded = self._loaded
        if loaded is not None:
            try:
                return await frozen(loaded)
            except ClientError as error:
                if not _says_expired(error.response):
                    raise
                _log.info("what credentials are asked for with has expired; looking for new ones")
                if self._loaded is loaded:
                    self._loaded = None
        return await frozen(await self._look())

    async def _look(self) -> Credentials:
        async with self._lock:
            if self._loaded is None:
                found = await self._load()
                if found is None:
                    raise NoCredentialsError
                self._loaded = found
                self.generation += 1
            return self._loaded


def renew_when_expired(client: AioBaseClient, credentials: CurrentCredentials) -> None:
    """Have the `credentials` looked for anew as soon as an answer to the `client` says that they have expired."""

    def note(request: Any, **_: Any) -> None:
        request.context[_GENERATION] = credentials.generation

    def look(parsed: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        if _says_expired(parsed):
            credentials.expire(context.get(_GENERATION, 0))

    # Last of all, which is after the signer: it looks for credentials where there are none yet.
    client.meta.events.register_last("request-created", note)
    client.meta.events.register("after-call", look)


def _says_expired(answer: Mapping[str, Any]) -> bool:
    return answer.get("Error", {}).get("Code") in EXPIRED
