"""From the names that Spark, Java and Flink have to ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias, WriterOptions, folded
from asyncsink.options.fields import OptionField, option_fields
from asyncsink.options.values import parse_value
from asyncsink_kafka.options.foreign_settings import BARE
from asyncsink_kafka.options.kafka_options import KafkaOptions
from asyncsink_kafka.options.producer_settings import KNOWN, SETTINGS
from asyncsink_kafka.options.settings import Setting, unknown_setting

PREFIXES = ("kafka.", "properties.")
"""What Spark and Flink write before a setting of Java's clients."""

_JAVAS_MAX_BACKOFF_S = 1.0
_STALL_TIMEOUT_S = 1800.0
_STALL_MARGIN_S = 60.0
_RECORD_SIZE = _BATCH_SIZE = 1 << 20
_BUFFER_SIZE = 32 << 20


class _Claim(NamedTuple):
    """One option as the user wrote it: under which key, what it says in our words, and what that means."""

    key: str
    option: OptionField
    text: str
    value: Any
    setting: Setting | None

    @property
    def of_java(self) -> bool:
        return self.setting is not None


def translated(options: Mapping[str, str]) -> dict[str, str]:
    """The options with every ``kafka.*`` and ``properties.*`` turned into ours, or left out where it has no effect.

    Times become durations, sizes bytes, and one limit of Java raises what must not be smaller here. Names compare
    without case, ``-`` and ``_``.

    :raises ConfigurationError: a setting is not known, not supported or cannot be read, or contradicts another one;
        names the key as it was written and shows no secret
    """
    own: dict[str, str] = {}
    claims: list[_Claim] = []
    for key, text in options.items():
        setting = _setting(key)
        if setting is None:
            own[key] = text
        elif (value := setting.value(key, text)) is not None and setting.option is not None:
            claims.append(_claim(key, setting.option, value, setting))
    claims = _with_effect(claims, own)
    said = _agreed([*_own_claims(own), *claims])
    found = {name: claim.text for name, claim in said.items() if claim.of_java}
    return {**own, **found, **_raised(said)}


def _setting(key: str) -> Setting | None:
    """The row of the table for a key; None where the key is an option's name or none at all."""
    lowered = key.lower()
    prefix = next((key[: len(each)] for each in PREFIXES if lowered.startswith(each)), None)
    if prefix is None:
        return BARE.get(folded(key))
    found = SETTINGS.get(folded(key[len(prefix) :]))
    if found is None:
        raise unknown_setting(key, prefix, KNOWN)
    return found


@cache
def _options() -> Mapping[str, tuple[OptionField, Alias]]:
    """Every option of the connector and of the writer by each of its spellings."""
    return {
        folded(spelling.name): (option, spelling)
        for section in (KafkaOptions, WriterOptions)
        for option in option_fields(section)
        for spelling in option.spellings
    }


def _claim(key: str, name: str, text: str, setting: Setting | None) -> _Claim:
    option, spelling = _options()[folded(name)]
    return _Claim(key, option, text, parse_value(option, key, text, spelling.unit), setting)


def _own_claims(own: Mapping[str, str]) -> list[_Claim]:
    return [_claim(key, key, text, None) for key, text in own.items() if folded(key) in _options()]


def _with_effect(claims: list[_Claim], own: Mapping[str, str]) -> list[_Claim]:
    """Without what Java leaves out, too: levels of other codecs, and the mechanism that carries MSK IAM's tokens."""
    said = {claim.option.name: claim.value for claim in [*_own_claims(own), *claims]}
    iam = any(claim.value == "AWS_MSK_IAM" for claim in claims)
    return [
        claim
        for claim in claims
        if (needed := _needed(claim)) is None or said.get(needed[0]) == needed[1]
        if not (iam and claim.option.name == "saslMechanism" and claim.value == "OAUTHBEARER")
    ]


def _needed(claim: _Claim) -> tuple[str, str] | None:
    return None if claim.setting is None else claim.setting.only_with


def _agreed(claims: Iterable[_Claim]) -> dict[str, _Claim]:
    """The first claim of each option, if the others say the same."""
    said: dict[str, _Claim] = {}
    for claim in claims:
        name, shown = claim.option.name, claim.option.shown
        first = said.setdefault(name, claim)
        if first.value != claim.value:
            raise ConfigurationError(
                f"options {first.key!r} = {shown(first.value)} and {claim.key!r} = {shown(claim.value)} are two names "
                f"of {name!r} with different values; give one of them"
            )
    return said


def _raised(said: Mapping[str, _Claim]) -> dict[str, str]:
    """The writer's limits that Java does not have apart, where a setting would otherwise break a rule of theirs."""
    of_java = {name: claim.value for name, claim in said.items() if claim.of_java}
    raised = {name: str(number) for name, number in _fitting_sizes(said).items()}
    backoff_s = of_java.get("retry.initialBackoff")
    if backoff_s is not None and ("retry.maxBackoff" not in said or "retry.maxBackoff" in of_java):
        # Where the first wait is longer than the longest, Java always waits for the first.
        raised["retry.maxBackoff"] = str(max(backoff_s, of_java.get("retry.maxBackoff", _JAVAS_MAX_BACKOFF_S)))
    longest_s = max(of_java.get("retry.timeout", 0.0), of_java.get("requestTimeout", 0.0))
    if longest_s >= _STALL_TIMEOUT_S and "stallTimeout" not in said:
        raised["stallTimeout"] = str(longest_s + _STALL_MARGIN_S)
    return raised


def _fitting_sizes(said: Mapping[str, _Claim]) -> dict[str, int]:
    """The limits that nobody has given, so that a record fits into a batch, and a batch into the buffer.

    :raises ConfigurationError: those that were given do not fit into each other
    """
    record, batch, buffer = map(said.get, ("maxRecordSizeInBytes", "batchSizeInBytes", "maxBufferedSizeInBytes"))
    limit = said.get("maxBatchSizeInBytes")
    for each in (record, limit or batch):
        if each is not None and buffer is not None and buffer.value < each.value:
            raise ConfigurationError(
                f"option {buffer.key!r} = {buffer.value} must be at least as large as {each.key!r} = {each.value}; "
                "raise the former or lower the latter"
            )
    sizes: dict[str, int] = {}
    if record is None and buffer is not None and buffer.of_java and 0 < buffer.value < _RECORD_SIZE:
        # Java's producer refuses a record that is larger than its buffer.
        sizes["maxRecordSizeInBytes"] = buffer.value
    most = record.value if record is not None else sizes.get("maxRecordSizeInBytes", _RECORD_SIZE)
    of_batch = max(most, 0 if batch is None else batch.value)
    asked = bool(sizes) or (record is not None and record.of_java) or of_batch > max(most, _BATCH_SIZE)
    if limit is None and asked:
        sizes["maxBatchSizeInBytes"] = of_batch
        if buffer is None and of_batch > _BUFFER_SIZE:
            sizes["maxBufferedSizeInBytes"] = of_batch
    return sizes
