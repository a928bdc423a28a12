"""What is raised where this machine cannot run a Kafka."""

from __future__ import annotations


class KafkaUnavailable(RuntimeError):
    """Something that the cluster needs is not installed; the message says what, and how to get it.

    A test that may do without turns it into a skip with this reason.
    """
