"""What the proxy does with one Produce request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from asyncsink_testing.kafka.produce import Outcome, Place, ProduceRequest

Outcomes = Mapping[Place, Outcome]
Ending = Literal["answered", "dropped", "cut", "hung"]


def _nobody(outcomes: Outcomes) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """By default the broker gets the request, and the client its answer.

    :param refused: partitions whose batches the broker does not get, and what the client is told of them
    :param forwarded: whether the broker gets the rest
    :param ending: ``answered``; ``dropped`` is a reset in place of the answer, ``cut`` one within it; ``hung``: no
        answer comes until the client gives up
    :param latency_s: seconds from the arrival to the answer, at least
    :param throttle_ms: what the answer says that the broker holds the client back for; None: what the broker says
    :param told: called with what the broker has answered, before the client gets it
    """

    refused: Outcomes = field(default_factory=dict)
    forwarded: bool = True
    ending: Ending = "answered"
    latency_s: float = 0.0
    throttle_ms: int | None = None
    told: Callable[[Outcomes], None] = _nobody


React = Callable[[ProduceRequest], Reaction]
"""Decides when a request arrives."""
