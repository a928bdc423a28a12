"""Where files go: a folder of this machine, or one that all machines mount, or a folder of a bucket on S3."""

from __future__ import annotations

from asyncsink.errors import ConfigurationError, LedgerUnavailableError
from asyncsink.ledger.location import Location


def place_of(path: str) -> Location:
    """The place that a path or a URL names; a relative path is one of this process.

    :raises ConfigurationError: it names none that files can be written to
    """
    try:
        place = Location.of(path)
    except LedgerUnavailableError as error:
        raise ConfigurationError(
            f"option 'path' cannot be taken: {error}; write for example /data/flights or s3://bucket/flights"
        ) from error
    if place.path is not None:
        absolute = place.path.absolute()
        return Location(str(absolute), absolute)
    if place.scheme != "s3":
        raise ConfigurationError(
            f"option 'path' has the scheme {place.scheme!r}, and files are written to folders of this machine, or that "
            "all machines mount, and to S3: write for example /data/flights, file:/data/flights or s3://bucket/flights"
        )
    bucket = place.url.removeprefix("s3://").partition("/")[0]
    if not bucket or "?" in place.url:
        raise ConfigurationError(
            f"option 'path' = {place.shown!r} has no bucket, or more than bucket and folder; write for example "
            "s3://bucket/flights"
        )
    return place
