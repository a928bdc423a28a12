"""Where a ledger, or another thing, lies, as Spark's users name it: a path, or a URL of Hadoop's kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from asyncsink.dead_letters.location import shown
from asyncsink.errors import LedgerUnavailableError

# Two letters at least, as `C:` is a drive.
_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<rest>.*)", re.DOTALL)
_OF_THIS_MACHINE: Final = re.compile(r"(?://(?:localhost)?|(?!//))(?P<path>/.*)", re.DOTALL | re.IGNORECASE)
_SAME_AS: Final = {"s3a": "s3", "s3n": "s3"}
_DBFS: Final = Path("/dbfs")


@dataclass(frozen=True, slots=True)
class Location:
    """A place: `path` if it is a folder of this machine, else `url`, as fsspec writes it.

    :param shown: what messages say: as the user wrote it, without credentials
    """

    shown: str
    path: Path | None = None
    scheme: str = "file"
    url: str = ""

    @classmethod
    def of(cls, location: str, dbfs: Path = _DBFS) -> Location:
        """The place that `location` names.

        Nothing is decoded: for Hadoop ``file:/a%20b`` is a folder with a per cent sign.

        :param dbfs: where the Databricks file system is mounted, if it is
        :raises LedgerUnavailableError: it names none
        """
        if not location.strip() or "\0" in location:
            raise LedgerUnavailableError(f"{location!r} names no place; name a folder or a URL")
        url = _URL.fullmatch(location)
        if url is None:
            return cls(location, Path(location))
        scheme, rest = url["scheme"].lower(), url["rest"]
        if scheme in ("file", "local"):
            return cls(location, _local(location, rest))
        if scheme == "dbfs" and dbfs.is_dir():
            return cls(location, dbfs / _local(location, rest).relative_to("/"))
        scheme = _SAME_AS.get(scheme, scheme)
        said = _shown(location, url["scheme"], rest)
        if scheme == "s3" and "***@" in said:
            raise LedgerUnavailableError(
                f"the location {said} has credentials in its URL, which neither Hadoop nor s3fs reads; "
                "give them to both as the environment does, and name bucket and folder only"
            )
        return cls(said.rstrip("/"), None, scheme, f"{scheme}:{_with_authority(rest)}".rstrip("/"))


def _shown(location: str, scheme: str, rest: str) -> str:
    url = f"{scheme}:{_with_authority(rest)}"
    # For Azure the part before the @ is the container.
    masked = shown(url, with_user=scheme.lower() in ("abfs", "abfss"))
    return location if masked == url else masked


def _local(location: str, rest: str) -> Path:
    match = _OF_THIS_MACHINE.fullmatch(rest)
    if match is None:
        raise LedgerUnavailableError(
            f"the location {shown(location)} names no absolute path of this machine; write file:/folder"
        )
    return Path(match["path"])


def _with_authority(rest: str) -> str:
    """``/x`` is Hadoop's way to name no host, which others write ``///x``."""
    return rest if rest.startswith("//") else f"//{rest}"
