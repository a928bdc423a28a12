"""The options that a connector declares, and under which names a trial gives them."""

from __future__ import annotations

from collections.abc import Mapping

from asyncsink.errors import ConfigurationError, ConnectorLoadError
from asyncsink.options import WriterOptions, folded
from asyncsink.options.fields import OptionField, option_fields
from asyncsink.plugins import load_options
from asyncsink_testing.conformance.check import NotApplicableError
from asyncsink_testing.conformance.trial import Trial


def own_options(trial: Trial) -> tuple[OptionField, ...]:
    """The options of the connector itself.

    :raises NotApplicableError: they do not load, which is for another check to say
    """
    try:
        return option_fields(load_options(trial.subject.connector))
    except ConnectorLoadError as error:
        raise NotApplicableError(f"the connector's options do not load, see check 'entry-point': {error}") from error


def tuned_options(trial: Trial) -> tuple[OptionField, ...]:
    """The options of its writer that this trial gives."""
    return tuple(each for each in option_fields(WriterOptions) if names_given(trial, each))


def names_given(trial: Trial, option: OptionField) -> list[str]:
    """The names under which the trial gives an option; none if it leaves it at its own value."""
    return [name for name in trial.options() if is_named(option, name)]


def is_named(option: OptionField, name: str) -> bool:
    """Whether `name` is one of the spellings of an option, or begins with its prefix."""
    spellings = [folded(each.name) for each in option.spellings]
    if option.prefix is not None:
        return any(folded(name).startswith(each) for each in spellings)
    return folded(name) in spellings


def speaks_of(error: BaseException, option: OptionField) -> bool:
    """Whether the message of an error holds one of the names of an option."""
    message = folded(str(error))
    return any(folded(each.name.rstrip(".")) in message for each in option.spellings)


def secrets_given(trial: Trial) -> list[str]:
    """The values of secret options that the trial gives."""
    options = trial.options()
    secret = [each for each in own_options(trial) if each.secret]
    return [options[name] for each in secret for name in names_given(trial, each) if options[name]]


def refusal(trial: Trial, extra: Mapping[str, str | None], what: str) -> ConfigurationError:
    """The error by which a sink of these options is refused.

    :param what: what is wrong with them, as the beginning of a sentence
    :raises ConformanceError: the sink is made, or something else is raised
    """
    found: Exception | None = None
    try:
        trial.sink(extra)
    except Exception as error:
        found = error
    if found is None:
        trial.fail(f"{what} was accepted: look at from_options, which should leave reading to parse_options")
    if not isinstance(found, ConfigurationError):
        trial.fail(f"{what} raised {type(found).__name__}: {found}; it has to raise ConfigurationError")
    return found
