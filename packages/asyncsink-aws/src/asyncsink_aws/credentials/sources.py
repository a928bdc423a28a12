"""Where credentials come from, by the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from aiobotocore.credentials import AioCredentials, AioEnvProvider

from asyncsink.errors import ConfigurationError
from asyncsink_aws.credentials.current import Credentials, Loader
from asyncsink_aws.credentials.custom import custom_credentials
from asyncsink_aws.credentials.roles import assumed_role, assumed_web_identity
from asyncsink_aws.profiles import no_credentials_in_profile, profile_of
from asyncsink_aws.sessions import session_for

if TYPE_CHECKING:
    from aiobotocore.session import AioSession

    from asyncsink_aws.options import AwsOptions


_BEHIND_A_PROFILE: Final = ("ec2-credentials-file", "boto-config", "container-role", "iam-role")
"""Where botocore goes on to look; the ``credential_source`` of a role in a profile is asked by another way."""


def loader_of(options: AwsOptions, region: str) -> Loader:
    """What looks for the credentials that the options describe; the region is that of the token service.

    :raises ConfigurationError: the import path that they name does not exist
    """
    if options.provider == "custom":
        custom = custom_credentials(options.custom_credentials or "")

        async def renewed() -> Credentials:
            return custom()

        return renewed

    async def load() -> Credentials | None:
        return await _load(options, region)

    return load


async def _load(options: AwsOptions, region: str) -> Credentials | None:
    match options.provider:
        case "basic":
            return _basic(options)
        case "env_var":
            return await _environment()
        case "assume_role":
            source = _basic(options) if options.access_key_id is not None else await _chain(options, region)
            return None if source is None else assumed_role(options, region, source, options.roles)
        case "web_identity_token":
            return assumed_web_identity(options, region)
        case _:
            return await _chain(options, region)


def _basic(options: AwsOptions) -> Credentials:
    basic: Credentials = AioCredentials(
        options.access_key_id, options.secret_access_key, options.session_token, method="basic"
    )
    return basic


async def _environment() -> Credentials:
    found: Credentials | None = await AioEnvProvider().load()
    if found is None:
        raise ConfigurationError(
            "option 'credentialsProvider' = 'env_var', and AWS_ACCESS_KEY_ID is not set where tasks run, which is on "
            "every worker under Spark; set it there with AWS_SECRET_ACCESS_KEY, or leave the option out"
        )
    return found


async def _chain(options: AwsOptions, region: str) -> Credentials | None:
    """botocore's chain; with a profile that alone.

    :raises ConfigurationError: the profile has no credentials
    """
    session = await anyio.to_thread.run_sync(_configured, options, region)
    chain = session.get_component("credential_provider")
    is_of_profile = profile_of(options) is not None
    for place in _BEHIND_A_PROFILE if is_of_profile else ():
        chain.remove(place)
    found: Credentials | None = await chain.load_credentials()
    if found is None and is_of_profile:
        raise no_credentials_in_profile(options)
    return found


def _configured(options: AwsOptions, region: str) -> AioSession:
    session = session_for(options)
    # The token service of a role that the profile names is that of the service's region.
    session.set_config_variable("region", region)
    return session
