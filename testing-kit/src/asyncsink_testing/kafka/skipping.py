"""Tests do without a Kafka where the machine cannot run one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from asyncsink_testing.kafka.unavailable import KafkaUnavailable


@contextmanager
def skipped_without_kafka() -> Iterator[None]:
    """Skip the tests that need what is started within, with the reason, where something for it is not installed.

    ``with skipped_without_kafka(), KafkaBroker() as broker: yield broker`` is all that a fixture has to say.
    """
    try:
        yield
    except KafkaUnavailable as missing:
        pytest.skip(str(missing))
