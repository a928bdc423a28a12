"""What the writer of one cluster fails with."""

from __future__ import annotations

from typing import Final

from asyncsink.errors import DeliveryError, DestinationUnavailableError, FatalRequestError, StalledError

NO_ANSWER: Final = (DestinationUnavailableError, StalledError)
"""What a writer fails with whose brokers do not answer."""


def named(error: Exception, cluster: str) -> Exception:
    """The error of a cluster's writer, which says of which cluster it is."""
    if not isinstance(error, DeliveryError) or f"cluster {cluster!r}" in str(error):
        return error
    told = type(error)(f"cluster {cluster!r}: {error}")
    told.__cause__ = error
    return told


def not_prepared(within_s: float) -> FatalRequestError:
    """The error of a cluster that was removed and does not answer, while it holds a transaction."""
    return FatalRequestError(
        "it was removed from the metadata and has not stored what it was given within 'removedClusterTimeout' = "
        f"{within_s:g} s; its transaction cannot be prepared, and the batch is written again. See whether its brokers "
        "are up, or raise the option"
    )
