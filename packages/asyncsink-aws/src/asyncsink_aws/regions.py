"""Which region a client is for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from botocore.exceptions import UnknownRegionError

from asyncsink.errors import ConfigurationError
from asyncsink.options import did_you_mean

if TYPE_CHECKING:
    from aiobotocore.session import AioSession

    from asyncsink_aws.options import AwsOptions

_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")


def region_of(options: AwsOptions, session: AioSession) -> str:
    """The region of the options or of the stream's ARN, else of the environment, else of the session's profile.

    :raises ConfigurationError: none of them says
    """
    given = options.default_region or next((os.environ[each] for each in _VARIABLES if os.environ.get(each)), None)
    if given is not None:
        return given
    configured = session.get_config_variable("region")
    if not configured:
        raise ConfigurationError(
            "no region is given; set option 'region', such as eu-west-1, or name the stream by its ARN, or set "
            "AWS_REGION or a region in the profile where tasks run"
        )
    return str(configured)


def check_region(session: AioSession, region: str) -> None:
    """:raises ConfigurationError: no partition of AWS has regions of that name"""
    try:
        session.get_partition_for_region(region)
    except UnknownRegionError:
        known = [each for partition in session.get_available_partitions() for each in _regions_of(session, partition)]
        hint = did_you_mean(region, known)
        nearest = f"; {hint}" if hint.startswith("did") else ""
        raise ConfigurationError(
            f"option 'region' = {region!r} is no region of AWS{nearest or '; write for example eu-west-1'}"
        ) from None


def _regions_of(session: AioSession, partition: str) -> list[str]:
    data = session.get_component("data_loader").load_data("endpoints")
    return [region for each in data["partitions"] if each["partition"] == partition for region in each["regions"]]
