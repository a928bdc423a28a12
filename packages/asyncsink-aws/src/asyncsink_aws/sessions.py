"""Sessions of botocore, which share what is read once in a process: models of services and rules of endpoints."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from aiobotocore.session import AioSession

from asyncsink_aws.client_config import nested_config

if TYPE_CHECKING:
    from botocore.loaders import Loader

    from asyncsink_aws.options import AwsOptions


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


def session_for(options: AwsOptions, *, profile: str | None = None) -> AioSession:
    """A session whose clients, those for credentials included, go by the options' proxy and trust whom they say."""
    session = AioSession(profile=profile)
    session.register_component("data_loader", _loader())
    session.set_default_client_config(nested_config(options))
    if (verify := verification(options)) is not None:
        session.set_config_variable("ca_bundle", verify)
    if options.profile_path is not None:
        session.set_config_variable("credentials_file", options.profile_path)
    return session


def verification(options: AwsOptions) -> Any:
    """botocore's ``verify``: False, the path of a bundle, or None for what the environment says."""
    return options.ca_bundle if options.verify_tls else False
