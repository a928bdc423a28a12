"""Keeps credentials out of aiokafka's log, which at the level DEBUG writes every request, passwords and tokens too."""

from __future__ import annotations

import logging

# SaslAuthenticate's, in Kafka's protocol.
_API_KEY = 36


class _Veil(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                f"{type(each).__name__}(***)" if getattr(each, "API_KEY", None) == _API_KEY else each
                for each in record.args
            )
        return True


_VEIL = _Veil()


def hide_credentials() -> None:
    """Let ``aiokafka.conn`` log requests and answers of SaslAuthenticate by their names alone. May be repeated."""
    logging.getLogger("aiokafka.conn").addFilter(_VEIL)
