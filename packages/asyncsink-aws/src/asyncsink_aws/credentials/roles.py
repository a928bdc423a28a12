"""Credentials of roles: assumed with other credentials, one after the other, or with a web identity's token."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from botocore import UNSIGNED
from botocore.exceptions import CredentialRetrievalError

from asyncsink.errors import ConfigurationError
from asyncsink_aws.client_config import nested_config
from asyncsink_aws.credentials.current import Credentials, frozen
from asyncsink_aws.credentials.renewed import RenewedCredentials
from asyncsink_aws.keys import AwsKeys
from asyncsink_aws.sessions import session_for, verification, warm_up

if TYPE_CHECKING:
    from aiobotocore.config import AioConfig
    from aiobotocore.session import AioSession

    from asyncsink_aws.options import AwsOptions

SESSION_NAME: Final = "asyncsink"

_MISTAKES: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def assumed_role(options: AwsOptions, region: str, source: Credentials, roles: Sequence[str]) -> Credentials:
    """Credentials of the last of `roles`, each assumed with the one before, the first one with `source`.

    Each link renews itself, and before it is used renews what it is assumed with: a session by one role to another
    lasts an hour at most, whatever the roles allow.
    """
    for place, role in enumerate(roles, 1):
        external_id = options.role_external_id if place == len(roles) else None
        fetch = partial(_assume, options, region, source, role, external_id)
        source = RenewedCredentials(fetch, f"assumed role {role}")
    return source


def assumed_web_identity(options: AwsOptions, region: str) -> Credentials:
    """Credentials of the options' roles, the first of them by a token, whose file is read for each renewal.

    Without roles in the options, token and role are those of the environment, as Kubernetes sets them.

    :raises ConfigurationError: neither options nor environment name a role and a file
    """
    path = options.web_identity_token_file or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    roles = options.roles or tuple(filter(None, [os.environ.get("AWS_ROLE_ARN")]))
    if not path or not roles:
        missing = (
            "role: give 'roleArn', or set AWS_ROLE_ARN"
            if path
            else "token: give 'webIdentityTokenFile', or set AWS_WEB_IDENTITY_TOKEN_FILE"
        )
        raise ConfigurationError(
            f"option 'credentialsProvider' = 'web_identity_token' finds no {missing} where tasks run"
        )
    given = options.web_identity_token_file is not None
    file = _TokenFile(path, "option 'webIdentityTokenFile'" if given else "AWS_WEB_IDENTITY_TOKEN_FILE")
    fetch = partial(_assume_with_token, options, region, file, roles[0])
    first = RenewedCredentials(fetch, f"web identity as {roles[0]}")
    return assumed_role(options, region, first, roles[1:])


async def _assume(options: AwsOptions, region: str, source: Credentials, role: str, external_id: str | None) -> AwsKeys:
    keys = await frozen(source)
    signing = {
        "aws_access_key_id": keys.access_key,
        "aws_secret_access_key": keys.secret_key,
        "aws_session_token": keys.token,
    }
    request = _request(options, role)
    if external_id is not None:
        request["ExternalId"] = external_id
    return await _ask(options, region, "assume_role", request, nested_config(options), signing)


class _TokenFile:
    """The file of a web identity's token, which others replace from time to time."""

    def __init__(self, path: str, named_by: str) -> None:
        self._path = path
        self._named_by = named_by
        self._was_read = False

    async def read(self) -> str:
        """The token that it holds now.

        :raises ConfigurationError: it has never been there, or to be read by this process
        :raises CredentialRetrievalError: it cannot be read at present
        """
        try:
            token = (await anyio.Path(self._path).read_text()).strip()
        except OSError as error:
            said = f"{self._path!r} cannot be read: {error.strerror}; it must be there where tasks run"
            if isinstance(error, _MISTAKES) and not self._was_read:
                raise ConfigurationError(f"{self._named_by} = {said}") from error
            raise CredentialRetrievalError(provider="web identity", error_msg=f"the token's file {said}") from error
        self._was_read = True
        return token


async def _assume_with_token(options: AwsOptions, region: str, file: _TokenFile, role: str) -> AwsKeys:
    request = {**_request(options, role), "WebIdentityToken": await file.read()}
    return await _ask(options, region, "assume_role_with_web_identity", request, nested_config(options, UNSIGNED), {})


def _request(options: AwsOptions, role: str) -> dict[str, str]:
    return {"RoleArn": role, "RoleSessionName": options.role_session_name or SESSION_NAME}


def _session(options: AwsOptions) -> AioSession:
    """Reads files."""
    warm_up("sts")
    return session_for(options)


async def _ask(
    options: AwsOptions,
    region: str,
    operation: str,
    request: Mapping[str, str],
    config: AioConfig,
    signing: Mapping[str, Any],
) -> AwsKeys:
    session = await anyio.to_thread.run_sync(_session, options)
    made = session.create_client(
        "sts",
        region_name=region,
        endpoint_url=options.sts_endpoint,
        verify=verification(options),
        config=config,
        **signing,
    )
    async with made as client:
        found = (await getattr(client, operation)(**request))["Credentials"]
    return AwsKeys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"], found["Expiration"])
