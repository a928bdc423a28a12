"""The rules of the oracle. Each is small, has a name, and can be asked for alone."""

from __future__ import annotations

from asyncsink_testing.rules.accounting import (
    LimiterBalanced,
    SnapshotExact,
    StatisticsBalanced,
)
from asyncsink_testing.rules.backoff import BackoffBounded
from asyncsink_testing.rules.base import Rule, RuleMaker
from asyncsink_testing.rules.delivery import (
    InOrder,
    NoNeedlessDuplicate,
    NothingLost,
    SealedResend,
    UniqueIds,
)
from asyncsink_testing.rules.limits import BatchBounds, BufferBounds, InFlightBound, ScopeShare
from asyncsink_testing.rules.ordering import KeyOrder
from asyncsink_testing.rules.rejecting import Bisected, GivenUp, LoadOnly, Patience, RejectedShare
from asyncsink_testing.rules.time import (
    FlushMeaning,
    NoEarlyCut,
    NothingIdle,
    RetryAfterHonoured,
)

RULES: tuple[RuleMaker, ...] = (
    NothingLost,
    NoNeedlessDuplicate,
    SealedResend,
    UniqueIds,
    InOrder,
    BatchBounds,
    InFlightBound,
    ScopeShare,
    BufferBounds,
    RetryAfterHonoured,
    BackoffBounded,
    NothingIdle,
    FlushMeaning,
    NoEarlyCut,
    StatisticsBalanced,
    SnapshotExact,
    LimiterBalanced,
    KeyOrder,
    Bisected,
    GivenUp,
    RejectedShare,
    LoadOnly,
    Patience,
)

__all__ = [
    "RULES",
    "BackoffBounded",
    "BatchBounds",
    "Bisected",
    "BufferBounds",
    "FlushMeaning",
    "GivenUp",
    "InFlightBound",
    "InOrder",
    "KeyOrder",
    "LimiterBalanced",
    "LoadOnly",
    "NoEarlyCut",
    "NoNeedlessDuplicate",
    "NothingIdle",
    "NothingLost",
    "Patience",
    "RejectedShare",
    "RetryAfterHonoured",
    "Rule",
    "RuleMaker",
    "ScopeShare",
    "SealedResend",
    "SnapshotExact",
    "StatisticsBalanced",
    "UniqueIds",
]
