"""What can be wrong with metadata; subclasses of the errors of asyncsink."""

from __future__ import annotations

from asyncsink.errors import ConfigurationError, DestinationUnavailableError


class MetadataError(ConfigurationError):
    """A metadata service has answered, and nobody can write by its answer.

    It contradicts itself, names no topic for a stream, does not know a stream, or cannot be read. The message names
    the stream or cluster and the rule; values of properties are secret and not shown.
    """


class MetadataUnavailableError(DestinationUnavailableError):
    """A metadata service has no answer, and what is known without it is too little or too old."""
