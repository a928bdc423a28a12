"""What may be sent now: FLIP-242's seam, the strategies that are shipped, and their descriptions."""

from asyncsink.limits.adaptive import AdaptiveConcurrencyStrategy
from asyncsink.limits.congestion import CongestionControlRateLimitingStrategy
from asyncsink.limits.description import RateLimit
from asyncsink.limits.paced import PacedRateLimitingStrategy
from asyncsink.limits.scaling import AIMDScalingStrategy, NoOpScalingStrategy, ScalingStrategy
from asyncsink.limits.strategy import RateLimitingStrategy, RequestInfo, ResultInfo
from asyncsink.limits.threshold import ThresholdScalingStrategy
from asyncsink.limits.token_bucket import TokenBucketRateLimitingStrategy
from asyncsink.limits.unlimited import NoRateLimitingStrategy

__all__ = [
    "AIMDScalingStrategy",
    "AdaptiveConcurrencyStrategy",
    "CongestionControlRateLimitingStrategy",
    "NoOpScalingStrategy",
    "NoRateLimitingStrategy",
    "PacedRateLimitingStrategy",
    "RateLimit",
    "RateLimitingStrategy",
    "RequestInfo",
    "ResultInfo",
    "ScalingStrategy",
    "ThresholdScalingStrategy",
    "TokenBucketRateLimitingStrategy",
]
