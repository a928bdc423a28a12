"""Which profile of the shared configuration the options mean, and what is said where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from asyncsink.errors import ConfigurationError

if TYPE_CHECKING:
    from asyncsink_aws.options import AwsOptions

_WHERE: Final = "where tasks run, which is on every worker under Spark"
_VARIABLES: Final = ("AWS_DEFAULT_PROFILE", "AWS_PROFILE")  # in botocore's order


def profile_of(options: AwsOptions) -> str | None:
    """The profile that the options ask for; None where nothing but the environment may name one."""
    if options.profile is not None:
        return options.profile
    if options.provider == "profile" or options.profile_path is not None:
        return profile_of_environment() or "default"
    return None


def profile_of_environment() -> str | None:
    """The profile that the environment names."""
    return next((os.environ[each] for each in _VARIABLES if os.environ.get(each)), None)


def needs_profile(options: AwsOptions) -> bool:
    """Whether credentials come from a profile, or may: one that is missing is a mistake then."""
    if options.provider == "assume_role":
        return options.access_key_id is None
    return options.provider in ("auto", "profile")


def no_such_profile(options: AwsOptions) -> ConfigurationError:
    """The error for a profile that is not in the shared configuration."""
    if options.profile_path is not None:
        return ConfigurationError(
            f"option 'profilePath' = {options.profile_path!r} has no {_named(options)}, and ~/.aws/config has none; "
            f"correct the path or the name, or add the profile {_WHERE}"
        )
    said = f"option 'profile' = {options.profile!r}" if options.profile is not None else _named(options)
    return ConfigurationError(
        f"{said} is not in the shared configuration; add it to ~/.aws/config {_WHERE}, or name another one"
    )


def no_credentials_in_profile(options: AwsOptions) -> ConfigurationError:
    """The error for a profile that says other things, such as a region, and not whose credentials to take."""
    places = "~/.aws" if options.profile_path is None else f"'profilePath' = {options.profile_path!r} and ~/.aws/config"
    return ConfigurationError(
        f"{_named(options)} in {places} has no credentials; give it an access key, a role, SSO or a process {_WHERE}, "
        "or name another one"
    )


def _named(options: AwsOptions) -> str:
    given = profile_of_environment()
    if options.profile is None and given is not None:
        return f"profile {given!r} (of AWS_PROFILE)"
    return f"profile {options.profile or 'default'!r}"
