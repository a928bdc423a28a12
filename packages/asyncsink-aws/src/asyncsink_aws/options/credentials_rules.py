"""The rules of credentials: what must be given together, and what contradicts each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from asyncsink.errors import ConfigurationError

if TYPE_CHECKING:
    from asyncsink_aws.options.aws_options import AwsOptions

_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+")
_SESSION_NAME: Final = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)  # AssumeRole's RoleSessionName

# By provider: the options that it reads.
_READ: Final = {
    "auto": (),
    "basic": ("access_key_id", "secret_access_key", "session_token"),
    "env_var": (),
    "profile": ("profile", "profile_path"),
    "assume_role": (
        *("role_arn", "role_session_name", "role_external_id", "sts_endpoint"),
        *("access_key_id", "secret_access_key", "session_token", "profile", "profile_path"),
    ),
    "web_identity_token": (
        *("web_identity_token_file", "role_arn", "role_session_name", "role_external_id", "sts_endpoint"),
    ),
    "custom": ("custom_credentials",),
}
_ALL: Final = tuple(dict.fromkeys(name for names in _READ.values() for name in names))


def roles_of(text: str | None) -> tuple[str, ...]:
    """The roles that an option names, separated by commas."""
    # A role's name may hold a comma: what follows one is a role only if it looks like its beginning.
    return () if text is None else tuple(each.strip() for each in re.split(r",(?=\s*arn:)", text))


def check_credentials(options: AwsOptions) -> None:
    """:raises ConfigurationError: the options contradict each other or lack one; names no secret"""
    _check_keys(options)
    _check_effect(options)
    _check_needed(options)
    _check_roles(options)
    _check_custom(options)


def _check_keys(options: AwsOptions) -> None:
    key, secret = options.access_key_id, options.secret_access_key
    if (key is None) != (secret is None):
        given, missing = ("accessKeyId", "secretAccessKey") if secret is None else ("secretAccessKey", "accessKeyId")
        raise ConfigurationError(f"option {given!r} is given without {missing!r}; a request is signed with both")
    if options.session_token is not None and key is None:
        raise ConfigurationError(
            "option 'sessionToken' is given without 'accessKeyId' and 'secretAccessKey'; it belongs to these"
        )
    if key is not None and (options.profile is not None or options.profile_path is not None):
        other = "profile" if options.profile is not None else "profilePath"
        raise ConfigurationError(f"options 'accessKeyId' and {other!r} both say who asks; give one of them")


def _check_effect(options: AwsOptions) -> None:
    """Refuse what the provider would not look at: who gives it expects to be signed for by it."""
    provider = options.provider
    for name in _ALL:
        if getattr(options, name) is None or name in _READ[provider]:
            continue
        readers = " or ".join(each for each, read in _READ.items() if name in read)
        reason = "the default chain" if provider == "auto" else f"credentialsProvider={provider}"
        raise ConfigurationError(
            f"option {_camel(name)!r} has no effect with {reason}; it is read by credentialsProvider={readers}"
        )


def _check_needed(options: AwsOptions) -> None:
    missing = {
        "basic": options.access_key_id is None and "'accessKeyId' and 'secretAccessKey'",
        "assume_role": options.role_arn is None and "'roleArn', as in arn:aws:iam::123456789012:role/writer",
        "custom": options.custom_credentials is None and "'customCredentials', as in package.module:Class",
    }.get(options.provider)
    if missing:
        raise ConfigurationError(f"option 'credentialsProvider' = {options.provider!r} needs {missing}")
    if options.web_identity_token_file is not None and options.role_arn is None:
        raise ConfigurationError(
            "option 'webIdentityTokenFile' is given without 'roleArn'; a token is exchanged for a role's credentials"
        )
    if options.provider == "web_identity_token" and options.role_external_id is not None and len(options.roles) < 2:
        raise ConfigurationError(
            "option 'roleExternalId' has no effect on a role that is assumed by a web identity; leave it out"
        )


def _check_roles(options: AwsOptions) -> None:
    for role in options.roles:
        if not _ROLE.fullmatch(role):
            raise ConfigurationError(
                f"option 'roleArn' names {role!r}, which is no ARN of a role; write for example "
                "arn:aws:iam::123456789012:role/writer"
            )
    name = options.role_session_name
    if name is not None and not _SESSION_NAME.fullmatch(name):
        raise ConfigurationError(
            f"option 'roleSessionName' = {name!r} must have 2 to 64 letters, digits or characters of _+=,.@-"
        )


def _check_custom(options: AwsOptions) -> None:
    path = options.custom_credentials
    if path is not None and ":" not in path:
        raise ConfigurationError(
            f"option 'customCredentials' = {path!r} is no import path; classes of Java cannot be loaded: write one in "
            "Python with a method load(), and name it as package.module:Class"
        )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)
