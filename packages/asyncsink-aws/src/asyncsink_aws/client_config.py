"""The one place where clients are configured."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isinf
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession

if TYPE_CHECKING:
    from asyncsink_aws.options import AwsOptions

KEEPALIVE_TIMEOUT_S: Final = 60.0
"""How long a connection stays open without a request, as in AWS' SDK for Java: longer than most micro-batches."""


def client_config(options: AwsOptions, *, max_in_flight: int) -> AioConfig:
    """For the client that sends entries: the kernel repeats requests, and entries have been checked already."""
    return AioConfig(
        **_shared(options),
        max_pool_connections=max_in_flight,
        parameter_validation=False,
        retries={"mode": "standard", "total_max_attempts": 1},
        use_fips_endpoint=options.fips or None,
        use_dualstack_endpoint=options.dual_stack or None,
    )


def nested_config(options: AwsOptions, signature_version: Any = None) -> AioConfig:
    """For the clients that fetch credentials; these repeat their own requests, three times at most."""
    return AioConfig(
        **_shared(options),
        signature_version=signature_version,
        retries={"mode": "standard", "total_max_attempts": 3},
        use_fips_endpoint=options.fips or None,
        use_dualstack_endpoint=options.dual_stack or None,
    )


def _shared(options: AwsOptions) -> dict[str, Any]:
    return {
        "user_agent": user_agent(),
        "connect_timeout": _timeout(options.connect_timeout_s),
        "read_timeout": _timeout(options.read_timeout_s),
        "proxies": _proxies(options),
        "connector_args": {"keepalive_timeout": KEEPALIVE_TIMEOUT_S, "socket_factory": _socket},
    }


def _timeout(given_s: float) -> float | None:
    return None if isinf(given_s) else given_s


def _proxies(options: AwsOptions) -> Mapping[str, str] | None:
    """botocore's proxies; None for those of the environment."""
    if options.proxy is None:
        return None
    parts = urlsplit(options.proxy)
    if options.proxy_username is not None and options.proxy_password is not None:
        user = f"{quote(options.proxy_username, safe='')}:{quote(options.proxy_password, safe='')}"
        parts = parts._replace(netloc=f"{user}@{parts.netloc}")
    return {"http": parts.geturl(), "https": parts.geturl()}


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket with keep-alive: aiobotocore leaves botocore's ``tcp_keepalive`` without effect."""
    made = socket.socket(family=address[0], type=address[1], proto=address[2])
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except OSError:
        made.close()
        raise
    return made


@cache
def user_agent() -> str:
    """Who sends, and by what. botocore puts its own together again for each request: a seventh of what one costs."""
    return f"asyncsink/{_version()} {AioSession().user_agent()}"


def _version() -> str:
    try:
        return version("asyncsink-aws")
    except PackageNotFoundError:
        return "unknown"
