"""Sessions of botocore, which share what is read once in a process: models of services and rules of endpoints."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aiobotocore.session import AioSession
from botocore.configprovider import ConstantProvider
from botocore.exceptions import ProfileNotFound

from asyncsink_aws.client_config import nested_config
from asyncsink_aws.profiles import needs_profile, no_such_profile, profile_of

if TYPE_CHECKING:
    from botocore.loaders import Loader

    from asyncsink_aws.options import AwsOptions

# As botocore declares them: name in a profile, variable of the environment, default, type. By default it asks the
# metadata service of an instance once, for 1 s, and takes what does not answer for no instance.
_METADATA: Final = {
    "metadata_service_num_attempts": ("metadata_service_num_attempts", "AWS_METADATA_SERVICE_NUM_ATTEMPTS", 3, int),
    "metadata_service_timeout": ("metadata_service_timeout", "AWS_METADATA_SERVICE_TIMEOUT", 2, int),
}


@cache
def _loader() -> Loader:
    """The loader of this process: each has a cache of its own, and reading a service's model takes tens of ms."""
    return AioSession().get_component("data_loader")


@cache
def warm_up(service: str) -> None:
    """Read what clients of a service are made of; blocks."""
    loader = _loader()
    for name in ("_retry", "endpoints", "partitions", "sdk-default-configuration"):
        loader.load_data_with_path(name)
    for kind in ("service-2", "endpoint-rule-set-1"):
        loader.load_service_model(service, kind)


def session_for(options: AwsOptions) -> AioSession:
    """A session of the options' profile, whose clients go by the options' proxy and trust whom they say.

    Reads files.

    :raises ConfigurationError: there is no such profile, and credentials are to come from it
    """
    # As a variable of the session a profile takes precedence over keys of the environment.
    session = AioSession(_METADATA, profile=profile_of(options))
    session.register_component("data_loader", _loader())
    session.set_default_client_config(nested_config(options))
    if (verify := verification(options)) is not None:
        session.set_config_variable("ca_bundle", verify)
    if options.profile_path is not None:
        session.set_config_variable("credentials_file", options.profile_path)
    _read_profile(session, options)
    return session


def _read_profile(session: AioSession, options: AwsOptions) -> None:
    try:
        session.get_scoped_config()
    except ProfileNotFound as error:
        if needs_profile(options):
            raise no_such_profile(options) from error
        # AWS_PROFILE is for others then, and botocore would ask for it at every turn.
        session.get_component("config_store").set_config_provider("profile", ConstantProvider(None))


def verification(options: AwsOptions) -> Any:
    """botocore's ``verify``: False, the path of a bundle, or None for what the environment says."""
    return options.ca_bundle if options.verify_tls else False
