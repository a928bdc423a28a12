"""Options: bad ones are refused at once and by name, and every spelling is understood that users bring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from asyncsink.errors import ConfigurationError
from asyncsink.options import folded
from asyncsink.options.fields import OptionField
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.known_options import (
    is_named,
    names_given,
    own_options,
    refusal,
    speaks_of,
    tuned_options,
)
from asyncsink_testing.conformance.trial import Trial

_NO_SUCH_OPTION = "surelyNoSuchOption"

_WRONG: Mapping[type, str] = {int: "abc", float: "abc", bool: "perhaps"}
"""What is no value of a type, however it is read."""

_CONTRADICTIONS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("maxBufferedRequests", {"maxBatchSize": "2", "maxBufferedRequests": "1"}),
    ("maxBatchSizeInBytes", {"maxBatchSizeInBytes": "2", "maxRecordSizeInBytes": "3"}),
    ("maxBufferedSizeInBytes", {"maxBatchSizeInBytes": "2mb", "maxBufferedSizeInBytes": "1mb"}),
    ("stallTimeout", {"requestTimeout": "2s", "stallTimeout": "1s"}),
    ("retry.maxBackoff", {"retry.initialBackoff": "2s", "retry.maxBackoff": "1s"}),
)
"""Options of the writer that rule each other out, with the one that the error must name."""


@check("unknown-option", since="0.1")
async def unknown_option(trial: Trial) -> None:
    """An option that is misspelt is refused by a ConfigurationError that names it and the one that was meant.

    Each option of the connector is given with its last letter doubled, and one that is like no other. What is not
    refused is lost: the user believes that a limit holds, and it does not. It breaks where ``from_options`` picks what
    it knows and leaves the rest.
    """
    options = [*own_options(trial), *tuned_options(trial)]
    for option in options:
        name = _misspelt(option)
        if any(is_named(each, name) for each in options):
            continue
        error = refusal(trial, {name: "1"}, f"option {name!r}, which does not exist,")
        if name not in str(error):
            trial.fail(f"the error for option {name!r}, which does not exist, must name it; it says: {error}")
        if option.name not in str(error):
            trial.fail(f"the error for option {name!r} must suggest {option.name!r}; it says: {error}")
    error = refusal(trial, {_NO_SUCH_OPTION: "1"}, f"option {_NO_SUCH_OPTION!r}, which does not exist,")
    if _NO_SUCH_OPTION not in str(error):
        trial.fail(f"the error for option {_NO_SUCH_OPTION!r}, which does not exist, must name it; it says: {error}")


def _misspelt(option: OptionField) -> str:
    if option.prefix is None:
        return option.name + option.name[-1]
    stem = option.prefix.removesuffix(".")
    return f"{stem}{stem[-1]}.name"


@check("missing-option", since="0.1")
async def missing_option(trial: Trial) -> None:
    """Where a required option is left out, a ConfigurationError names it before anything is sent.

    Each option without a default is left out in turn. It breaks where ``from_options`` fills in a value of its own,
    such as an address on this machine: rows then go where nobody looks for them.
    """
    required = [each for each in own_options(trial) if each.required]
    if not required:
        raise NotApplicableError("the connector requires no option")
    for option in required:
        left_out = dict.fromkeys(names_given(trial, option))
        if not left_out:
            trial.fail(f"option {option.name!r} is required, and the fixture sink_options does not give it")
        error = refusal(trial, left_out, f"a sink without option {option.name!r}, which is required,")
        if not speaks_of(error, option):
            trial.fail(f"the error for the missing option {option.name!r} must name it; it says: {error}")


@check("bad-value", since="0.1")
async def bad_value(trial: Trial) -> None:
    """A value that cannot be read is refused by a ConfigurationError that names the option.

    Each option that is a number, a duration, a size, true or false, or one of some words is given a word that is
    neither, those of the writer included. It breaks where a value is read by the connector itself and replaced by a
    default, or where a bare ValueError does not say which option it speaks of.
    """
    found = [(each, _wrong(each)) for each in (*own_options(trial), *tuned_options(trial))]
    judged = [(option, value) for option, value in found if value is not None]
    if not judged:
        raise NotApplicableError("every option of the connector is a text")
    for option, value in judged:
        extra = {**dict.fromkeys(names_given(trial, option)), option.name: value}
        error = refusal(trial, extra, f"option {option.name!r} = {value!r}")
        if not speaks_of(error, option):
            trial.fail(f"the error for option {option.name!r} = {value!r} must name it; it says: {error}")


def _wrong(option: OptionField) -> str | None:
    return "surely-no-such-choice" if option.choices else _WRONG.get(option.kind)


@check("options-documented", since="0.1")
async def options_documented(trial: Trial) -> None:
    """Every option of the connector is documented by a sentence.

    The reference of the options and the errors for missing ones are made of the ``doc`` of each option. It must be
    more than a word and end like a sentence.
    """
    for option in own_options(trial):
        doc = option.doc.strip()
        if len(doc.split()) < 2 or not doc.endswith((".", "!", "?")):
            trial.fail(f"option {option.name!r} has the doc {option.doc!r}; say in a sentence what it is for")


@check("options-by-any-spelling", since="0.1")
async def options_by_any_spelling(trial: Trial) -> None:
    """Options are understood in camelCase, in lower case as Spark hands them over, and with dashes or underscores.

    All options are given in each spelling. The sink must come out the same, and deliver. It breaks where
    ``from_options`` looks into the mapping by name in place of leaving that to ``parse_options``.
    """
    options = {**_defaults(trial), **trial.options()}
    prefixes = [each for each in own_options(trial) if each.prefix is not None]
    plain = {name for name in options if not any(is_named(each, name) for each in prefixes)}
    expected = _made(trial, options, "camelCase")
    for spelling, spelt in _SPELLINGS.items():
        given = {spelt(name) if name in plain else name: value for name, value in options.items()}
        sink = _made(trial, given, spelling)
        for what in ("options", "config"):
            if getattr(sink, what, None) != getattr(expected, what, None):
                names = ", ".join(sorted(given))
                trial.fail(f"options in {spelling} make a sink with other {what} than in camelCase; given were {names}")
    lowered = {name.lower() if name in plain else name: value for name, value in options.items()}
    delivery = await trial.deliver(trial.rows(2 * trial.batch), extra={**dict.fromkeys(trial.options()), **lowered})
    delivery.succeeded().nothing_lost()


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


_SPELLINGS: Mapping[str, Any] = {
    "lower case": str.lower,
    "upper case": str.upper,
    "lower case with dashes": _dashed,
    "lower case with underscores": lambda name: _dashed(name).replace("-", "_"),
}


def _defaults(trial: Trial) -> dict[str, str]:
    """The defaults of options that the trial leaves alone, as a user would write them."""
    return {
        option.name: str(option.default).lower() if option.kind is bool else str(option.default)
        for option in own_options(trial)
        if option.default not in (None, MISSING, {}) and not names_given(trial, option)
    }


def _made(trial: Trial, options: Mapping[str, str], spelling: str) -> Any:
    try:
        sink = trial.sink({**dict.fromkeys(trial.options()), **options})
    except ConfigurationError as error:
        trial.fail(f"options in {spelling} are refused, though the same in another spelling are not: {error}")
    return sink


@check("config-checked-early", since="0.1")
async def config_checked_early(trial: Trial) -> None:
    """A configuration that contradicts itself is refused when the sink is made, before any task runs.

    Limits of the writer that rule each other out are given, such as maxBufferedRequests below maxBatchSize. Under Spark
    the sink is made on the driver: what is found only by ``create_writer`` fails on every worker, after retries. It
    breaks where ``from_options`` puts options aside for later.
    """
    known = {folded(each.name) for each in tuned_options(trial)}
    if folded("maxBufferedRequests") not in known:
        raise NotApplicableError("the writer has other options than the kernel's, by the class's `tuning`")
    for name, options in _CONTRADICTIONS:
        extra = {**_cleared(trial, options), **options}
        told = " with ".join(f"{each} = {value}" for each, value in options.items())
        error = refusal(trial, extra, f"a writer's configuration that contradicts itself, {told},")
        if folded(name) not in folded(str(error)):
            trial.fail(f"the error for {told} must name {name}; it says: {error}")
    if trial.destination.requests:
        trial.fail(f"{trial.destination.requests[0]} was sent by a sink whose configuration contradicts itself")


def _cleared(trial: Trial, options: Mapping[str, str]) -> dict[str, None]:
    return {given: None for given in trial.options() for name in options if folded(given) == folded(name)}
