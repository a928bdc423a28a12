"""A rate limit as the user describes it; strategies are made from it in the worker."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from asyncsink.errors import ConfigurationError
from asyncsink.limits.adaptive import AdaptiveConcurrencyStrategy
from asyncsink.limits.congestion import CongestionControlRateLimitingStrategy, Unit
from asyncsink.limits.custom import check_path, make_custom
from asyncsink.limits.paced import PacedRateLimitingStrategy
from asyncsink.limits.scaling import AIMDScalingStrategy
from asyncsink.limits.strategy import RateLimitingStrategy
from asyncsink.limits.token_bucket import TokenBucketRateLimitingStrategy
from asyncsink.limits.unlimited import NoRateLimitingStrategy

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig

Kind = Literal["aimd", "flink", "paced", "adaptive", "fixed", "none", "custom"]

_FIELDS_OF = {
    "aimd": {"initial", "ceiling", "increase", "factor", "unit"},
    "flink": {"initial", "ceiling", "increase", "factor"},
    "paced": {"initial", "ceiling"},
    "adaptive": {"initial", "ceiling", "factor"},
    "fixed": {"requests", "records", "size_in_bytes", "per_s", "burst", "writers"},
    "none": set[str](),
    "custom": {"path", "args"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A frozen, picklable description of a :class:`RateLimitingStrategy`.

    Make one by :meth:`aimd`, :meth:`flink`, :meth:`paced`, :meth:`adaptive`, :meth:`fixed`, :meth:`none` or
    :meth:`custom`.

    :raises ConfigurationError: names what breaks which rule
    """

    kind: Kind
    initial: int | None = None
    ceiling: int | None = None
    increase: int | None = None
    factor: float | None = None
    unit: Unit = "records"
    requests: float | None = None
    records: float | None = None
    size_in_bytes: float | None = None
    per_s: float = 1.0
    burst: float | None = None
    writers: int | None = None
    path: str | None = None
    args: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    """Not shown: one of them may be a secret."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            known = " or ".join(repr(each) for each in get_args(Kind))
            raise ConfigurationError(f"rate_limit kind {self.kind!r} is not known; use {known}")
        for each in fields(RateLimit)[1:]:
            if each.name not in _FIELDS_OF[self.kind] and getattr(self, each.name) != each.default:
                told = f"rate_limit {each.name} = {getattr(self, each.name)!r}"
                raise ConfigurationError(f"{told} says nothing to kind {self.kind!r}; leave it out or use another kind")
        self._check_numbers()
        if self.kind == "fixed":
            self._check_fixed()
        if self.kind == "custom":
            check_path(self.path, self.args)

    def _check_numbers(self) -> None:
        if self.unit not in get_args(Unit):
            raise ConfigurationError(f"rate_limit unit = {self.unit!r} must be 'records', 'requests' or 'bytes'")
        unit = "request" if self.kind == "adaptive" else self.unit.removesuffix("s")
        for name in ("initial", "ceiling", "increase", "writers"):
            value: Any = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                counted = "writer" if name == "writers" else unit
                raise ConfigurationError(
                    f"rate_limit {name} = {value!r} must be a whole number of at least 1 {counted}"
                )
        if self.factor is not None and (not isinstance(self.factor, float) or not 0 < self.factor < 1):
            raise ConfigurationError(f"rate_limit factor = {self.factor!r} must be a number between 0 and 1")

    def _check_fixed(self) -> None:
        for name in ("requests", "records", "size_in_bytes", "per_s", "burst"):
            value: Any = getattr(self, name)
            optional = value is None and name != "per_s"
            if not optional and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise ConfigurationError(f"rate_limit {name} = {value!r} must be a number")
        try:
            self._token_bucket(1, 1)
        except ValueError as error:
            raise ConfigurationError(f"rate_limit {error}") from None

    @classmethod
    def aimd(
        cls,
        *,
        initial: int | None = None,
        ceiling: int | None = None,
        increase: int | None = None,
        factor: float = 0.5,
        unit: Unit = "records",
    ) -> RateLimit:
        """Additive increase, multiplicative decrease of what is in flight, concurrent from the first second.

        :param initial: the start, in `unit`; by default the ceiling
        :param ceiling: the most; by default ``max_in_flight_requests`` full batches
        :param increase: added by a success; by default 10 records, 1 request or a 50th of the bytes of a batch
        :param factor: multiplied by a failure
        :param unit: what is scaled
        """
        return cls(kind="aimd", initial=initial, ceiling=ceiling, increase=increase, factor=factor, unit=unit)

    @classmethod
    def flink(cls, *, factor: float = 0.5) -> RateLimit:
        """Flink's start and arithmetic: one batch at first, 10 more a success, `factor` of it after a failure.

        Kinesis' sink upstream has a factor of 0.99.
        """
        return cls(kind="flink", factor=factor)

    @classmethod
    def paced(cls, *, initial: int = 10, ceiling: int | None = None) -> RateLimit:
        """A rate in records a second that is found by itself, and requests sent evenly at it.

        See :class:`PacedRateLimitingStrategy`.

        :param initial: records in flight at the start
        :param ceiling: the most of them until the first throttle; by default ``max_in_flight_requests`` full batches
        """
        return cls(kind="paced", initial=initial, ceiling=ceiling)

    @classmethod
    def adaptive(cls, *, initial: int = 1, ceiling: int | None = None, factor: float = 0.9) -> RateLimit:
        """As many requests in flight as the destination answers without becoming slower.

        See :class:`AdaptiveConcurrencyStrategy`.

        :param initial: requests at the start
        :param ceiling: the most; by default, and at most, ``max_in_flight_requests``
        :param factor: what remains of the limit under pressure
        """
        return cls(kind="adaptive", initial=initial, ceiling=ceiling, factor=factor)

    @classmethod
    def fixed(
        cls,
        *,
        requests: float | None = None,
        records: float | None = None,
        size_in_bytes: float | None = None,
        per_s: float = 1.0,
        burst: float | None = None,
        writers: int | None = None,
    ) -> RateLimit:
        """So many requests, records or bytes in any `per_s` seconds; see :class:`TokenBucketRateLimitingStrategy`.

        :param burst: what may go at once, in the unit of the first limit given, of the others the same share; by
            default one second's worth
        :param writers: the number of writers that share these limits, each with its part; by default a program's has
            all, and Spark's tasks as many parts as there were tasks at work at once
        """
        return cls(
            kind="fixed",
            requests=requests,
            records=records,
            size_in_bytes=size_in_bytes,
            per_s=per_s,
            burst=burst,
            writers=writers,
        )

    @classmethod
    def none(cls) -> RateLimit:
        """Nothing beside ``max_in_flight_requests`` and the backoff."""
        return cls(kind="none")

    @classmethod
    def custom(cls, path: str, /, **args: Any) -> RateLimit:
        """A strategy of your own, made once for each scope in the worker.

        :param path: its class, as ``"package.module:Class"``
        :param args: what its constructor gets; hashable and, for Spark, picklable
        """
        return cls(kind="custom", path=path, args=tuple(sorted(args.items())))

    def make(self, config: AsyncSinkWriterConfig) -> RateLimitingStrategy:
        """The strategy for one scope of a writer with `config`.

        :raises ConfigurationError: the class of :meth:`custom` is not what it should be; names its path and the remedy
        """
        if self.kind == "adaptive":
            ceiling = min(self.ceiling or config.max_in_flight_requests, config.max_in_flight_requests)
            initial, ratio = min(self.initial or 1, ceiling), self.factor or 0.9
            return AdaptiveConcurrencyStrategy(ceiling, initial, ratio=ratio, max_batch_size=config.max_batch_size)
        if self.kind == "paced":
            most = self.ceiling or config.max_batch_size * config.max_in_flight_requests
            initial = min(self.initial or 10, most)
            return PacedRateLimitingStrategy(config.max_in_flight_requests, initial, most, config.max_batch_size)
        if self.kind == "fixed":
            return self._token_bucket(self.writers or 1, config.max_batch_size)
        if self.kind == "none":
            return NoRateLimitingStrategy(config.max_batch_size)
        if self.kind == "custom":
            return make_custom(str(self.path), dict(self.args))
        return self._congestion_control(config)

    @property
    def undivided(self) -> RateLimit:
        """The same for all writers together, in however many parts it goes."""
        return self if self.writers is None else replace(self, writers=None)

    def make_from(self, before: RateLimitingStrategy, config: AsyncSinkWriterConfig) -> RateLimitingStrategy:
        """The strategy for another part of the same total than `before` had; it counts what has gone under that."""
        strategy = self.make(config)
        if isinstance(strategy, TokenBucketRateLimitingStrategy) and isinstance(before, type(strategy)):
            strategy.go_on_from(before)
        return strategy

    def _congestion_control(self, config: AsyncSinkWriterConfig) -> RateLimitingStrategy:
        requests, (batch, increase) = config.max_in_flight_requests, _batch_and_increase(self.unit, config)
        most = self.ceiling or batch * requests
        initial = self.initial or (batch if self.kind == "flink" else most)
        scaling = AIMDScalingStrategy(most, min(self.increase or increase, most), self.factor or 0.5)
        return CongestionControlRateLimitingStrategy(
            requests, min(initial, most), most, scaling, self.unit, config.max_batch_size
        )

    def _token_bucket(self, writers: int, max_batch_size: int) -> RateLimitingStrategy:
        parts = {
            name: value if value is None or writers == 1 else value / writers
            for name in ("requests", "records", "size_in_bytes", "burst")
            for value in [getattr(self, name)]
        }
        return TokenBucketRateLimitingStrategy(**parts, per_s=self.per_s, max_batch_size=max_batch_size)


def _batch_and_increase(unit: Unit, config: AsyncSinkWriterConfig) -> tuple[int, int]:
    """A full batch, and what a success adds, in `unit`."""
    if unit == "requests":
        return 1, 1
    if unit == "bytes":
        return config.max_batch_size_in_bytes, max(1, config.max_batch_size_in_bytes // 50)
    return config.max_batch_size, 10
