"""Where files of dead letters lie: a folder of this machine, or a URL for fsspec."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from asyncsink.errors import ConfigurationError

# A password may hold slashes, as keys of AWS do: after a colon all up to the last @ is taken for it.
_PASSWORD: Final = re.compile(r"(?<=://)[^/?]*:[^?]*@")
_USER: Final = re.compile(r"(?<=://)[^/]*@")
_QUERY: Final = re.compile(r"\?.*", re.DOTALL)
_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/(?!/)")
_LOCAL: Final = re.compile(r"(?:file|local):(?://(?:localhost)?)?(?=/)", re.IGNORECASE)


def checked_path(path: object) -> str:
    """`path` as text.

    :raises ConfigurationError: it is no path, or a URL without its second slash
    """
    if isinstance(path, Path):
        path = str(path)
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise ConfigurationError(
            f"the path of dead letters = {path!r} is no path; name a folder such as '/data/dead-letters', or a URL "
            "for fsspec such as 's3://bucket/dead-letters'"
        )
    if local_path(path) is not None and not _LOCAL.match(path) and (match := _SCHEME.match(path)):
        scheme = match["scheme"]
        raise ConfigurationError(
            f"the path of dead letters = {path!r} is neither a path nor a URL; write '{scheme}://' with two slashes, "
            "or give the path by which this machine knows the folder"
        )
    return path


def local_path(path: str) -> Path | None:
    """The folder or file of this machine that `path` names, a ``file:`` URL included; None if fsspec must know it."""
    if match := _LOCAL.match(path):
        return Path(unquote(path[match.end() :]))
    return None if "://" in path or "::" in path else Path(path)


def shown(path: str, *, with_user: bool = False) -> str:
    """A path without what may be secret in a URL: its user, its password, its query.

    :param with_user: a user without a password is shown; for Azure it is the container
    """
    if local_path(path) is not None:
        return path
    masked = _QUERY.sub("?***", _PASSWORD.sub("***@", path))
    return masked if with_user else _USER.sub("***@", masked)


def filesystem(path: str, storage_options: Mapping[str, Any]) -> tuple[Any, str]:
    """fsspec's file system of a URL, and the path within it.

    :raises ConfigurationError: fsspec, or what it needs for this kind of URL, is not installed; or it refuses the URL
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ConfigurationError(
            f"dead letters in {shown(path)} need fsspec, which is not installed; run "
            "pip install 'asyncsink-core[fsspec]', or name a folder of this machine"
        ) from error
    try:
        found, root = url_to_fs(path, **storage_options)
    except ImportError as error:
        raise ConfigurationError(
            f"dead letters in {shown(path)} need a package that is not installed: {error}"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"fsspec refuses the URL {shown(path)} of dead letters or its storage_options ({type(error).__name__}); "
            "fsspec.available_protocols() lists the kinds of URL, and each documents its options"
        ) from error
    return found, root.rstrip("/")
