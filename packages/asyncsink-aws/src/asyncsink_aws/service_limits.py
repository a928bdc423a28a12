"""Limits of a writer that a service would not take."""

from __future__ import annotations

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError


def check_at_most(config: AsyncSinkWriterConfig, field: str, limit: int, of: str, *, service: str) -> None:
    """Refuse a writer's limit that is beyond the service's.

    :param field: of the configuration, such as ``"max_batch_size"``
    :param of: what the limit counts, behind its number: ``"records a request"``
    :raises ConfigurationError: names the field, its option, the value and the limit
    """
    value = getattr(config, field)
    if value > limit:
        first, *others = field.split("_")
        option = first + "".join(word.capitalize() for word in others)
        raise ConfigurationError(
            f"{field} (option {option}) = {value} is more than {service} takes, {limit} {of}; set it to {limit} or less"
        )
