"""The rules of region, endpoint, proxy and TLS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from asyncsink.errors import ConfigurationError

if TYPE_CHECKING:
    from asyncsink_aws.options.aws_options import AwsOptions

_REGION: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def check_connection(options: AwsOptions) -> None:
    """:raises ConfigurationError: an option breaks its rule or contradicts another; shows no password"""
    if options.region is not None and not _REGION.fullmatch(options.region):
        raise ConfigurationError(
            f"option 'region' = {options.region!r} is no region; write for example eu-west-1, or leave it out to have "
            "that of the environment"
        )
    endpoints = {
        "endpoint": _checked_url("endpoint", options.endpoint, "https://kinesis.eu-west-1.amazonaws.com"),
        "stsEndpoint": _checked_url("stsEndpoint", options.sts_endpoint, "https://sts.eu-west-1.amazonaws.com"),
    }
    _check_proxy(options, endpoints)
    _check_tls(options)
    for name, given in (("fips", options.fips), ("dualStack", options.dual_stack)):
        if given and options.endpoint is not None:
            raise ConfigurationError(
                f"option {name!r} = true chooses among the endpoints of AWS, and 'endpoint' = {options.endpoint!r} is "
                "given; leave one of them out"
            )
    for name, value in (("connectTimeout", options.connect_timeout_s), ("readTimeout", options.read_timeout_s)):
        if value <= 0:
            raise ConfigurationError(f"option {name!r} = {value} must be larger than 0; give for example {name}=10s")


def _checked_url(name: str, url: str | None, example: str) -> SplitResult | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError where it is no port
    except ValueError:
        # Neither the text nor the error, which quotes it: what stands for a port may be a password.
        raise ConfigurationError(
            f"option {name!r} is no URL: its host or its port cannot be read; write {example}"
        ) from None
    if parts.username is not None or parts.password is not None:
        remedy = (
            "give them as options 'proxyUsername' and 'proxyPassword'"
            if name == "proxy"
            else "leave them out: requests are signed by credentials"
        )
        raise ConfigurationError(f"option {name!r} carries a user name or a password; {remedy}")
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        # Without a scheme there may be user info all the same.
        shown = "'***'" if "@" in url else repr(url)
        raise ConfigurationError(
            f"option {name!r} = {shown} must begin with http:// or https:// and name a host, as in {example}"
        )
    if parts.query or parts.fragment or re.search(r"[\x00-\x20\x7f]", url):
        raise ConfigurationError(
            f"option {name!r}, of host {parts.hostname!r}, holds a query, a fragment or white space; write {example}"
        )
    return parts


def _check_proxy(options: AwsOptions, endpoints: Mapping[str, SplitResult | None]) -> None:
    _checked_url("proxy", options.proxy, "http://proxy.example.com:3128")
    name, password = options.proxy_username, options.proxy_password
    if (name is None) != (password is None):
        given, missing = ("proxyUsername", "proxyPassword") if password is None else ("proxyPassword", "proxyUsername")
        raise ConfigurationError(f"option {given!r} is given without {missing!r}; a proxy asks for both")
    if options.proxy is None:
        if name is not None:
            raise ConfigurationError("option 'proxyUsername' is given without 'proxy'; give it, or leave both out")
        return
    for place, url in endpoints.items():
        if url is not None and url.scheme.lower() == "http":
            raise ConfigurationError(
                f"option {place!r} = {url.geturl()!r} is not encrypted, and would be read and answered by 'proxy' = "
                f"{options.proxy!r}; use https, or leave the proxy out"
            )


def _check_tls(options: AwsOptions) -> None:
    if options.ca_bundle is not None and not options.verify_tls:
        raise ConfigurationError(
            f"option 'caBundle' = {options.ca_bundle!r} says whom to trust, and verifyTls=false trusts everyone; leave "
            "one of them out"
        )
