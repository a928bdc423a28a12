"""What several options of a writer say together: how fast it may send, and where dead letters go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Final

from asyncsink.errors import ConfigurationError
from asyncsink.limits.description import RateLimit
from asyncsink.options.names import did_you_mean, folded

if TYPE_CHECKING:
    from asyncsink.config import AsyncSinkWriterConfig

_KINDS: Final[Mapping[str, Callable[[], RateLimit]]] = {
    "aimd": RateLimit.aimd,
    "flink": RateLimit.flink,
    "paced": RateLimit.paced,
    "adaptive": RateLimit.adaptive,
    "none": RateLimit.none,
}
_RATES: Final = {
    "requests_per_second": ("rateLimit.requestsPerSecond", "requests"),
    "requests_per_minute": ("rateLimit.requestsPerMinute", "requests"),
    "records_per_second": ("rateLimit.recordsPerSecond", "records"),
    "bytes_per_second": ("rateLimit.bytesPerSecond", "size_in_bytes"),
}
_ALL_RATES: Final = ", ".join(name for name, _ in _RATES.values())


def checked_kind(text: str) -> str:
    """A value of the option ``rateLimit``: one of the kinds as it is spelled, or an import path.

    :raises ConfigurationError: it is neither
    """
    kinds = {folded(each): each for each in (*_KINDS, "fixed")}
    kind = kinds.get(folded(text.strip()), text.strip())
    if kind not in kinds and ":" not in kind:
        known = " or ".join(repr(each) for each in kinds.values())
        hint = did_you_mean(kind, kinds.values())
        nearest = f"; {hint}" if hint.startswith("did") else ""
        raise ConfigurationError(f"option 'rateLimit' = {text!r} must be {known} or 'package.module:Class'{nearest}")
    return kind


def rate_limit(kind: str | None, given: Mapping[str, Any], default: RateLimit) -> RateLimit:
    """The rate limit that the options describe; what they do not say is as in a sink's `default` of the same kind.

    :param given: what was set of ``rateLimit.*``, by the names behind ``rate_limit_`` of its fields
    :raises ConfigurationError: the options contradict each other or break a rule; names them
    """
    rates = {name: given[name] for name in _RATES if name in given}
    kind = checked_kind(kind) if kind is not None else "fixed" if rates else default.kind
    if kind != "fixed":
        _refuse_beside(kind, given)
        if kind == default.kind or (kind == default.path and default.kind == "custom"):
            return default
        return _KINDS[kind]() if kind in _KINDS else _of_options({}, lambda: RateLimit.custom(kind))
    return _fixed(rates, given, default)


def _refuse_beside(kind: str, given: Mapping[str, Any]) -> None:
    for name in given:
        option = _RATES[name][0] if name in _RATES else f"rateLimit.{name}"
        raise ConfigurationError(
            f"option {option!r} is of a fixed rate, but the rate limit is {kind!r}; leave it out, or give "
            f"rateLimit=fixed and one of {_ALL_RATES}"
        )


def _fixed(rates: Mapping[str, float], given: Mapping[str, Any], default: RateLimit) -> RateLimit:
    shared = {name: given[name] for name in ("burst", "writers") if name in given}
    names = {field: _RATES[name][0] for name in rates for field in [_RATES[name][1]]}
    if not rates:
        if default.kind == "fixed":
            return _of_options(names, lambda: replace(default, **shared))
        raise ConfigurationError(f"option 'rateLimit' = 'fixed' needs a rate; give one of {_ALL_RATES}")
    per_s = 1.0
    if "requests_per_minute" in rates:
        if len(rates) > 1:
            others = " and ".join(_RATES[name][0] for name in rates if name != "requests_per_minute")
            raise ConfigurationError(
                f"options 'rateLimit.requestsPerMinute' and {others} count in windows of different length; give all of "
                f"them per second: rateLimit.requestsPerSecond = {rates['requests_per_minute'] / 60:g}"
            )
        per_s = 60.0
    values: dict[str, Any] = {_RATES[name][1]: value for name, value in rates.items()}
    return _of_options(names, lambda: RateLimit.fixed(**values, per_s=per_s, **shared))


def _of_options(names: Mapping[str, str], make: Callable[[], RateLimit]) -> RateLimit:
    """What `make` makes; where it breaks a rule, said in the names of options."""
    try:
        return make()
    except ConfigurationError as error:
        said = str(error).removeprefix("rate_limit ")
        field, _, rest = said.partition(" ")
        option = names.get(field, f"rateLimit.{field}")
        known = field in names or field in ("burst", "writers")
        raise ConfigurationError(f"option {option!r} {rest}" if known else f"option 'rateLimit' = {said}") from None


def rejecting(given: Mapping[str, Any], defaults: AsyncSinkWriterConfig) -> dict[str, Any]:
    """The fields of the configuration that ``onRejected`` and ``deadLetter.*`` set.

    :param given: what was set of them, by field
    :param defaults: what holds if nothing else is said
    :raises ConfigurationError: the options contradict each other or break a rule; names them
    """
    path, form = given.get("dead_letter_path"), given.get("dead_letter_format")
    chosen = given.get("on_rejected", defaults.on_rejected if path is None else "dead_letter")
    values = {"on_rejected": chosen} if "on_rejected" in given or path is not None else {}
    if path is None:
        if form is not None:
            raise ConfigurationError(f"option 'deadLetter.format' = {form!r} needs the option 'deadLetter.path' too")
        if chosen == "dead_letter" and defaults.dead_letters is None:
            raise ConfigurationError(
                "option 'onRejected' = 'dead_letter' needs to know where dead letters go; give 'deadLetter.path' too"
            )
        return values
    if chosen != "dead_letter":
        raise ConfigurationError(
            f"option 'deadLetter.path' is given, but 'onRejected' = {chosen!r}; leave the former out or make the "
            "latter 'dead_letter'"
        )
    # Only who wants dead letters pays for their import.
    from asyncsink.dead_letters import DeadLetterFiles

    try:
        return {**values, "dead_letters": DeadLetterFiles(path, format=form or "jsonl")}
    except ConfigurationError as error:
        raise ConfigurationError(f"option 'deadLetter.path': {error}") from None


def stall_timeout_s(given_s: float) -> float | None:
    """The configuration's value for what the option ``stallTimeout`` says: infinity is never."""
    return None if given_s == inf else given_s
