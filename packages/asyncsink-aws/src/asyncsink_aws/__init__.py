"""What the sinks for AWS services share: options, credentials, clients and errors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_aws.keys import AwsKeys
    from asyncsink_aws.options import AwsOptions

    __version__: str

__all__ = ["AwsKeys", "AwsOptions"]

_MODULES = {"AwsKeys": "keys", "AwsOptions": "options"}


def __getattr__(name: str) -> Any:
    # A connector that is only looked for must not pay for its client (PEP 562).
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_aws.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-aws")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_aws' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
