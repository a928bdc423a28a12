"""What may be sent now: FLIP-242's seam, the strategies that are shipped, and their descriptions."""

from asyncsink.limits.congestion import CongestionControlRateLimitingStrategy
from asyncsink.limits.description import RateLimit
from asyncsink.limits.scaling import AIMDScalingStrategy, ScalingStrategy
from asyncsink.limits.strategy import RateLimitingStrategy, RequestInfo, ResultInfo

__all__ = [
    "AIMDScalingStrategy",
    "CongestionControlRateLimitingStrategy",
    "RateLimit",
    "RateLimitingStrategy",
    "RequestInfo",
    "ResultInfo",
    "ScalingStrategy",
]
