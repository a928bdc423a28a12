"""Kill and replay: a streaming query whose processes are killed at random instants, and an account of its rows.

``python -m asyncsink_testing.chaos --sink http --guarantee at-least-once --kills 50`` starts Spark and a destination in
processes of their own and kills, time after time, a Python worker, the planner, the commit process, the driver with
its JVM, or the destination (SIGKILL: nothing of theirs gets to run any more). What still runs has to recover by itself,
or from the checkpoint. In the end the rows in the destination are held against the source. Linux only.
"""

from __future__ import annotations

from asyncsink_testing.chaos.campaign import Campaign
from asyncsink_testing.chaos.errors import ChaosError
from asyncsink_testing.chaos.outcome import Outcome
from asyncsink_testing.chaos.targets import TARGETS, Target

__all__ = ["TARGETS", "Campaign", "ChaosError", "Outcome", "Target"]
