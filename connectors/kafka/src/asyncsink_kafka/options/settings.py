"""What a setting from elsewhere means here, and how its value is written in our words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asyncsink.errors import ConfigurationError
from asyncsink.options import did_you_mean, folded, parse_duration, parse_size
from asyncsink_kafka.options.partitioner_names import is_java_class, standard_partitioner

Convert = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One name that users bring: it becomes an option, or is accepted without effect, or is refused.

    :param option: canonical name of the option of ours that it becomes; None if there is none
    :param convert: the value in our words, or None where it says what holds anyway; raises ValueError with what was
        expected
    :param only_with: the value of another of our options without which this one has no effect, as Java has it
    :param reason: why it has no effect and what does its work, or why it is refused and what to use
    :param harmless: the values, without case, that are accepted all the same; None for every value
    """

    name: str
    option: str | None = None
    convert: Convert
    only_with: tuple[str, str] | None = None
    reason: str = ""
    harmless: tuple[str, ...] | None = ()

    def value(self, key: str, text: str) -> str | None:
        """The value of the option that it becomes; None where nothing is left to say.

        :raises ConfigurationError: it is refused, or cannot be read; names the `key` as it was written
        """
        if self.option is None:
            if self.harmless is not None and text.strip().lower() not in self.harmless:
                raise ConfigurationError(f"option {key!r} is not supported: {self.reason}")
            return None
        try:
            return self.convert(text)
        except ValueError as error:
            raise ConfigurationError(f"option {key!r} = {text!r} must be {error}") from None


def word(text: str) -> str:
    """A value that is passed on; what it may be is for the option to say."""
    return text


def becomes(name: str, option: str, convert: Convert = word, only_with: tuple[str, str] | None = None) -> Setting:
    """A setting with the name of the option that it sets."""
    return Setting(name=name, option=option, convert=convert, only_with=only_with)


def without_effect(name: str, reason: str) -> Setting:
    """A setting that is accepted, and changes nothing."""
    return Setting(name=name, convert=word, reason=reason, harmless=None)


def refused(name: str, remedy: str, *unless: str) -> Setting:
    """A setting that something would be lost by, except with one of some values."""
    return Setting(name=name, convert=word, reason=remedy, harmless=("", *(each.lower() for each in unless)))


def milliseconds(text: str) -> str:
    seconds = parse_duration(text, "ms")
    if seconds < 0:
        raise ValueError("0 or more milliseconds")
    return str(seconds)


def lingering(text: str) -> str:
    """Java's 0 sends at once; ours must be larger than 0."""
    return milliseconds(text) if parse_duration(text, "ms") else "1us"


def idle_time(text: str) -> str:
    """Java's -1 is never."""
    return "inf" if text.strip() == "-1" else milliseconds(text)


def size(text: str) -> str:
    number = parse_size(text)
    if number < 0:
        raise ValueError("0 or more bytes")
    return str(number)


def batch_size(text: str) -> str:
    """Java's 0 batches nothing: every record is larger than a batch."""
    return str(max(int(size(text)), 1))


def acknowledgements(text: str) -> str:
    return "all" if text.strip() == "-1" else text


def level(text: str) -> str | None:
    """Java's -1 is the default of gzip."""
    return None if text.strip() == "-1" else text


def guarantee(text: str) -> str:
    """Flink's names as its SQL and as its Java writes them."""
    return {"exactlyonce": "exactly-once", "atleastonce": "at-least-once"}.get(folded(text.strip()), text)


def partitioner(text: str) -> str | None:
    """Java's own partitioners by class, Flink's by name or class, and ours."""
    if not text.strip():
        return None
    if (known := standard_partitioner(text)) is not None:
        return known
    if is_java_class(text):
        raise ValueError(
            "'murmur2', 'sticky', 'round-robin', 'fixed' or a Partitioner in Python as 'package.module:Class'; classes "
            "of Java cannot be loaded"
        )
    return text


def ignored_keys(text: str) -> str | None:
    """Java's partitioner without a look at keys is our sticky one."""
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("true or false")
    return "sticky" if text.strip().lower() == "true" else None


_LOGIN_HANDLERS = {
    "": None,
    "oauthbearerlogincallbackhandler": None,
    "iamclientcallbackhandler": "AWS_MSK_IAM",
    "iamoauthbearerlogincallbackhandler": "AWS_MSK_IAM",
}


def login_handler(text: str) -> str | None:
    """Java's handlers for a token endpoint and for MSK IAM; we do their work by ourselves."""
    name = text.strip().rpartition(".")[2].lower()
    if name not in _LOGIN_HANDLERS:
        raise ValueError(
            "a handler of Java's OAUTHBEARER or of MSK IAM; for tokens from elsewhere give saslTokenProvider, an "
            "import path of your own provider in Python"
        )
    return _LOGIN_HANDLERS[name]


def unknown_setting(key: str, prefix: str, known: tuple[str, ...]) -> ConfigurationError:
    """The error for a name that no producer of Java has."""
    hint = did_you_mean(key.removeprefix(prefix), known)
    if not hint.startswith("did"):
        return ConfigurationError(f"option {key!r} is not known: Java's producer has no such setting; leave it out")
    nearest = hint.split("'")[1]
    return ConfigurationError(f"option {key!r} is not known; did you mean {prefix + nearest!r}?")
