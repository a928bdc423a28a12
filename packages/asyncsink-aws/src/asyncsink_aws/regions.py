"""Which region a client is for, and whether AWS can have one of that name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from botocore.exceptions import UnknownRegionError

from asyncsink.errors import ConfigurationError
from asyncsink.options import did_you_mean

if TYPE_CHECKING:
    from aiobotocore.session import AioSession

    from asyncsink_aws.options import AwsOptions

_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")


class Region(NamedTuple):
    """A region's name, and where it was found in the words of a message."""

    name: str
    source: str


def region_of(options: AwsOptions, session: AioSession) -> Region:
    """The region of the options or of the stream's ARN, else of the environment, else of the session's profile.

    :raises ConfigurationError: none of them says
    """
    if options.region is not None:
        return Region(options.region, "option 'region'")
    if options.default_region is not None:
        return Region(options.default_region, "the region of the stream's ARN")
    for variable in _VARIABLES:
        if named := os.environ.get(variable):
            return Region(named, variable)
    configured = session.get_config_variable("region")
    if not configured:
        raise ConfigurationError(
            "no region is given; set option 'region', such as eu-west-1, or name the stream by its ARN, or set "
            "AWS_REGION or a region in the profile where tasks run"
        )
    return Region(str(configured), f"region of profile {session.profile or 'default'!r}")


def check_region(session: AioSession, region: Region) -> None:
    """:raises ConfigurationError: no partition of AWS has regions of that name"""
    try:
        session.get_partition_for_region(region.name)
    except UnknownRegionError:
        known = [each for partition in session.get_available_partitions() for each in _regions_of(session, partition)]
        hint = did_you_mean(region.name, known)
        nearest = f"; {hint}" if hint.startswith("did") else ""
        raise ConfigurationError(
            f"{region.source} = {region.name!r} is no region of AWS{nearest or '; write for example eu-west-1'}"
        ) from None


def has_configured_endpoint(session: AioSession, service: str) -> bool:
    """Whether environment or profile give the service another address than AWS' own, by botocore's settings."""
    if session.get_config_variable("ignore_configured_endpoint_urls"):
        return False
    if any(os.environ.get(each) for each in ("AWS_ENDPOINT_URL", f"AWS_ENDPOINT_URL_{service.upper()}")):
        return True
    profile = session.get_scoped_config()
    services = session.full_config.get("services", {}).get(profile.get("services"), {})
    return "endpoint_url" in profile or "endpoint_url" in services.get(service, {})


def _regions_of(session: AioSession, partition: str) -> list[str]:
    data = session.get_component("data_loader").load_data("endpoints")
    return [region for each in data["partitions"] if each["partition"] == partition for region in each["regions"]]
