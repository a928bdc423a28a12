"""Secrets stay secret, whatever is printed, raised or logged."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from asyncsink.context import WriterInitContext
from asyncsink.errors import ConfigurationError
from asyncsink.options.fields import OptionField
from asyncsink_testing.conformance.check import NotApplicableError, check
from asyncsink_testing.conformance.known_options import names_given, own_options, speaks_of
from asyncsink_testing.conformance.trial import Trial
from asyncsink_testing.conformance.watching import log_lines, told
from asyncsink_testing.faults import Fault, Step

_FAULTS = (Fault.THROTTLED, Fault.DISCONNECTED, Fault.REFUSED, Fault.ANSWER_LOST, Fault.OK, *[Fault.FATAL] * 3)
"""What requests meet; one writer is made to work and then to fail."""
_REFUSALS = frozenset({Fault.POISONED, Fault.REJECTED})
_TEXT = "parrot-text-5e1c9a"
_TRIES = 4
"""Sinks that are made until every option is there that a secret needs beside it."""


@dataclass(frozen=True, slots=True)
class _Secret:
    """A secret option with a value that is found wherever it stands."""

    trial: Trial
    option: OptionField
    value: str

    @property
    def extra(self) -> dict[str, str | None]:
        name = self.option.name if self.option.prefix is None else f"{self.option.prefix}X-Parrot"
        return {**dict.fromkeys(names_given(self.trial, self.option)), name: self.value}

    def hidden(self, text: str, where: str) -> None:
        """See that the secret stands neither in plain nor in base64 in a text.

        :raises ConformanceError: it does
        """
        plain, encoded = self.value, b64encode(self.value.encode()).decode().rstrip("=")
        if plain not in text and encoded not in text:
            return
        lines = [line for line in text.splitlines() if plain in line or encoded in line]
        shown = lines[0].replace(plain, "<the secret>").replace(encoded, "<the secret>")[:300]
        self.trial.fail(
            f"the value of option {self.option.name!r}, which is secret, stands in {where}: {shown}\nShow options by "
            "the __repr__ of ConnectorOptions, and keep requests and headers out of messages and logs"
        )


@check("secrets-hidden", group="configuration", since="0.1")
async def secrets_hidden(trial: Trial) -> None:
    """The value of a secret option is in no repr, in no error and in no log record.

    Each secret option gets a value that can be recognised. Options, sink and writer are printed; rows are delivered
    while requests fail, until the writer fails for good; another's rows are refused for what they hold, where the
    service does that, and one finds nobody at the address. Logs are read from level
    DEBUG on, those of the client library from INFO on. It breaks where options have a ``__repr__`` of their own, where
    a header is logged, and where an error quotes a request.
    """
    secret = [each for each in own_options(trial) if each.secret and each.kind in (str, dict)]
    if not secret:
        raise NotApplicableError("the connector marks no option as secret")
    for number, option in enumerate(secret):
        async with trial.fresh() as fresh:
            await _judge(_Secret(fresh, option, f"parrot-{number}-8d1f2c"))


async def _judge(secret: _Secret) -> None:
    trial = secret.trial
    with log_lines(trial.capabilities.client_modules) as lines:
        extra = _accepted(secret)
        if extra is not None:
            _print(secret, trial.sink(extra))
            # A service that looks at credentials refuses this one: then its errors are read, which is as well.
            await _deliver(secret, [each for each in _FAULTS if each in trial.destination.supported], extra)
            if trial.capabilities.rejects_entries and _REFUSALS & trial.destination.supported:
                async with trial.fresh() as refusing:
                    refusing.destination.poison(lambda payload: True)
                    await _deliver(_Secret(refusing, secret.option, secret.value), [], extra)
            async with trial.fresh() as down:
                pass
            await _deliver(_Secret(down, secret.option, secret.value), [], {**extra, **_end(down)})
    for line in lines:
        secret.hidden(line, "a log record")


def _accepted(secret: _Secret) -> dict[str, str | None] | None:
    """Options with the secret that the sink accepts, others that it needs added; None if it refuses the value."""
    extra = secret.extra
    for _ in range(_TRIES):
        try:
            secret.trial.sink(extra)
        except ConfigurationError as error:
            secret.hidden(told(error), "the ConfigurationError for it")
            extra |= dict.fromkeys(_asked_for(secret, error, extra), "parrot")
        else:
            return extra
    return None


def _asked_for(secret: _Secret, error: ConfigurationError, extra: dict[str, str | None]) -> Iterator[str]:
    """Options of text that are not given and that an error speaks of, such as the name that belongs to a password."""
    for option in own_options(secret.trial):
        is_text = option.kind is str and not option.choices
        if is_text and option.name not in extra and not names_given(secret.trial, option) and speaks_of(error, option):
            yield option.name


def _print(secret: _Secret, sink: Any) -> None:
    writer = sink.create_writer(WriterInitContext())
    for name, value in (("options", getattr(sink, "options", None)), ("sink", sink), ("writer", writer)):
        secret.hidden(f"{value!r}\n{value}", f"the repr of the {name}")
    for name, value in vars(sink).items() if hasattr(sink, "__dict__") else ():
        secret.hidden(f"{value!r}", f"the repr of the sink's {name}")


async def _deliver(secret: _Secret, faults: list[Fault], extra: dict[str, str | None]) -> None:
    trial = secret.trial
    steps: list[Step | Fault] = [*faults]
    try:
        delivery = await trial.deliver(trial.rows(3 * trial.batch), steps, extra=extra)
    except Exception as error:
        secret.hidden(told(error), f"a {type(error).__name__}, or one of its causes")
        return
    if delivery.error is not None:
        secret.hidden(told(delivery.error), f"a {type(delivery.error).__name__}, or one of its causes")


def _end(down: Trial) -> dict[str, str | None]:
    """Options for a destination that is down: its address, and little time."""
    options: dict[str, str | None] = {**down.options()}
    return {**options, "retry.timeout": "50ms", "requestTimeout": "40ms", "retry.initialBackoff": "20ms"}


# ---- rows ----------------------------------------------------------------------------------------------------


@check("rows-hidden", group="configuration", since="0.1")
async def rows_hidden(trial: Trial) -> None:
    """What rows hold is in no error, and in no log record from level INFO on.

    Rows with a text that can be recognised are delivered while requests fail, until the writer fails for good; then
    they are refused for what they hold, where the service does that. Logs and errors go to places where the data may
    not. It breaks where a request is logged, and where an error quotes the entry that it is about.
    """
    fatal = [each for each in _FAULTS if each in trial.destination.supported]
    refusals = _REFUSALS & trial.destination.supported if trial.capabilities.rejects_entries else ()
    with log_lines(trial.capabilities.client_modules) as lines:
        await _tell_no_row(trial, fatal)
        if refusals:
            async with trial.fresh() as fresh:
                fresh.destination.poison(lambda payload: True)
                await _tell_no_row(fresh, [])
    for line in lines:
        if not line.partition(": ")[0].endswith(" DEBUG"):
            _no_row(trial, line, "a log record")


async def _tell_no_row(trial: Trial, steps: Sequence[Fault]) -> None:
    delivery = await trial.deliver(trial.rows(3 * trial.batch, text=_TEXT), steps)
    if delivery.error is not None:
        _no_row(trial, told(delivery.error), f"a {type(delivery.error).__name__}, or one of its causes")


def _no_row(trial: Trial, text: str, where: str) -> None:
    if found := next((line for line in text.splitlines() if _TEXT in line), None):
        trial.fail(
            f"what a row holds stands in {where}: {found[:300]}\nName a row by its place and its code, and keep what "
            "it holds out of messages and logs"
        )
